#include "sim/training_manifests.h"

#include <fmt/format.h>

#include <utility>

#include "client/resource.h"
#include "sim/placement_wishes.h"

namespace gangway::sim {
namespace {

// What of a job is the same for all of its pods.
struct Common {
  json::Object life;      // annotations that say how its program goes
  bool ends = false;      // some day
  bool well = true;       // and then so
  json::Object stopping;  // how long a pod takes to end when it is told to
  std::string priority = {};
  std::int64_t grace = 0;
};

Common some_common(testing::Random& random) {
  Common common;
  common.ends = random.below(4) != 0;
  common.well = random.below(4) != 0;
  if (common.ends) {
    common.life["gangway.dev/simulated-duration"] = fmt::format("{}s", random.between(5, 240));
    common.life["gangway.dev/simulated-exit-code"] = common.well ? "0" : "3";
  }
  if (random.below(3) == 0)
    common.stopping["gangway.dev/simulated-termination"] = fmt::format("{}s", random.between(1, 40));
  common.priority = some_class(random);
  common.grace = random.between(0, 30);
  return common;
}

json::Object with(json::Object into, const json::Object& more) {
  for (const auto& [key, value] : more) into[key] = value;
  return into;
}

// A pod of the job; `runs_program`: it goes by what is said of the program, and otherwise runs until it is stopped.
json::Object pod_of(const Common& common, json::Object container, bool runs_program) {
  json::Object spec{{"terminationGracePeriodSeconds", common.grace}, {"containers", json::Array{std::move(container)}}};
  if (!common.priority.empty()) spec["priorityClassName"] = common.priority;
  json::Object annotations = runs_program ? with(common.life, common.stopping) : common.stopping;
  return {{"metadata", json::Object{{"annotations", std::move(annotations)}}}, {"spec", std::move(spec)}};
}

json::Object container_called(const char* name, json::Object container) {
  container["name"] = name;
  return container;
}

// Enough for a launcher that only starts processes.
json::Object small_container(const char* name) {
  return {
      {"name", name}, {"image", "busybox"}, {"resources", json::Object{{"requests", json::Object{{"cpu", "500m"}}}}}};
}

json::Object replica(json::Object pod, std::int64_t count, const std::string& restart) {
  json::Object spec{{"replicas", count}, {"template", std::move(pod)}};
  if (!restart.empty()) spec["restartPolicy"] = restart;
  return spec;
}

// Whoever fails and is started again for ever is never at rest; nor is who is left to do so when its job is over.
std::string some_restart(testing::Random& random, const Common& common, json::Object& policy) {
  const auto restart = random.pick(std::vector<std::string>{"Never", "Never", "OnFailure", "ExitCode"});
  if (restart != "Never" && !common.well) {
    policy["backoffLimit"] = random.between(1, 3);
    if (policy["cleanPodPolicy"] == "None") policy["cleanPodPolicy"] = "Running";
  }
  return restart;
}

void add_some_limits(testing::Random& random, json::Object& policy, TrainingJob& job) {
  policy["cleanPodPolicy"] = random.pick(std::vector<std::string>{"None", "Running", "All"});
  if (random.below(6) == 0) policy["activeDeadlineSeconds"] = random.between(30, 600);
  if (random.below(8) == 0) {
    policy["ttlSecondsAfterFinished"] = random.between(1, 120);
    job.goes_by_itself = true;
  }
}

TrainingJob job_of(const char* group, const char* version, const char* plural, const char* kind) {
  TrainingJob job;
  job.resource = {group, version, plural};
  job.object = {{"apiVersion", fmt::format("{}/{}", group, version)}, {"kind", kind}};
  return job;
}

// What a job says of itself, beside its spec.
void add_annotations(testing::Random& random, bool is_elastic, TrainingJob& job) {
  json::Object annotations;
  add_some_wishes(random, is_elastic, annotations);
  if (random.below(8) == 0 && !annotations.contains("gangway.dev/on-preempt"))
    annotations["gangway.dev/gang"] = "false";
  job.object["metadata"] = json::Object{{"annotations", std::move(annotations)}};
}

TrainingJob a_pytorch_job(testing::Random& random) {
  auto job = job_of("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob");
  const auto common = some_common(random);
  const auto container = container_called("pytorch", some_container(random));
  json::Object policy;
  add_some_limits(random, policy, job);
  const bool is_elastic = random.below(3) == 0;
  const auto workers = random.between(1, 3);
  json::Object specs{
      {"Worker", replica(pod_of(common, container, true), workers, some_restart(random, common, policy))}};
  json::Object spec;
  if (is_elastic) {
    spec["elasticPolicy"] = json::Object{{"minReplicas", 1}, {"maxReplicas", kMostWorkers}};
  } else if (random.below(3) != 0) {
    specs["Master"] = replica(pod_of(common, container, true), 1, "Never");
  }
  spec["pytorchReplicaSpecs"] = std::move(specs);
  spec["runPolicy"] = std::move(policy);
  job.object["spec"] = std::move(spec);
  add_annotations(random, is_elastic && workers > 1, job);
  job.suspend_at = {"spec", "runPolicy", "suspend"};
  job.resize_at = {"spec", "pytorchReplicaSpecs", "Worker", "replicas"};
  return job;
}

TrainingJob a_tf_job(testing::Random& random) {
  auto job = job_of("kubeflow.org", "v1", "tfjobs", "TFJob");
  const auto common = some_common(random);
  const auto container = container_called("tensorflow", some_container(random));
  json::Object policy;
  add_some_limits(random, policy, job);
  json::Object specs{
      {"Worker", replica(pod_of(common, container, true), random.between(1, 3), some_restart(random, common, policy))}};
  if (random.below(2) == 0) specs["Chief"] = replica(pod_of(common, container, true), 1, "Never");
  if (random.below(3) == 0)
    specs["PS"] = replica(pod_of(common, small_container("tensorflow"), false), random.between(1, 2), "Never");
  json::Object spec{{"tfReplicaSpecs", std::move(specs)}, {"runPolicy", std::move(policy)}};
  if (random.below(3) == 0) spec["successPolicy"] = "AllWorkers";
  job.object["spec"] = std::move(spec);
  add_annotations(random, false, job);
  job.suspend_at = {"spec", "runPolicy", "suspend"};
  return job;
}

TrainingJob an_early_mpi_job(testing::Random& random) {
  auto job = job_of("kubeflow.org", "v1alpha1", "mpijobs", "MPIJob");
  const auto common = some_common(random);
  json::Object spec{{"replicas", random.between(1, 3)},
                    {"template", pod_of(common, container_called("mpi", some_container(random)), true)},
                    {"backoffLimit", random.between(0, 2)}};
  if (random.below(2) == 0)
    spec["launcherResources"] =
        json::Object{{"requests", json::Object{{"cpu", fmt::format("{}", random.between(1, 3))}}}};
  add_some_limits(random, spec, job);
  if (spec["cleanPodPolicy"] == "All") spec["cleanPodPolicy"] = "Running";
  job.object["spec"] = std::move(spec);
  add_annotations(random, false, job);
  job.suspend_at = {"spec", "runPolicy", "suspend"};
  job.resize_at = {"spec", "replicas"};
  return job;
}

// v1 or v2beta1: they differ in how processes are started, and in who makes the launcher.
TrainingJob a_later_mpi_job(testing::Random& random, bool by_ssh) {
  auto job = job_of("kubeflow.org", by_ssh ? "v2beta1" : "v1", "mpijobs", "MPIJob");
  const auto common = some_common(random);
  json::Object policy;
  add_some_limits(random, policy, job);
  const auto workers = random.between(1, 3);
  const auto restart = random.pick(std::vector<std::string>{"Never", "OnFailure"});
  if (by_ssh || restart != "Never") policy["backoffLimit"] = random.between(by_ssh ? 0 : 1, 2);
  auto launcher = random.below(2) == 0 ? small_container("mpi") : container_called("mpi", some_container(random));
  json::Object spec{
      {"mpiReplicaSpecs",
       json::Object{{"Launcher", replica(pod_of(common, std::move(launcher), true), 1, restart)},
                    {"Worker", replica(pod_of(common, container_called("mpi", some_container(random)), false), workers,
                                       restart)}}},
      {"runPolicy", std::move(policy)}};
  if (by_ssh) spec["launcherCreationPolicy"] = random.below(2) == 0 ? "AtStartup" : "WaitForWorkersReady";
  job.object["spec"] = std::move(spec);
  const bool is_elastic = workers > 1 && random.below(3) == 0;
  add_annotations(random, is_elastic, job);
  if (is_elastic) json::object_at(job.object["metadata"], {"annotations"})["gangway.dev/min-workers"] = "1";
  job.suspend_at = {"spec", "runPolicy", "suspend"};
  job.resize_at = {"spec", "mpiReplicaSpecs", "Worker", "replicas"};
  return job;
}

// Checks of its own: those that Ray's pods get otherwise run programs, and there are none here.
json::Object with_checks(json::Object container) {
  for (const char* check : {"readinessProbe", "livenessProbe"})
    container[check] = json::Object{{"tcpSocket", json::Object{{"port", 6379}}}};
  return container;
}

// `runs_program`: its head says how that of a job goes.
json::Object some_ray_cluster(testing::Random& random, bool runs_program) {
  const auto common = some_common(random);
  const auto workers = random.between(0, 2);
  json::Object group{
      {"groupName", "workers"},
      {"replicas", workers},
      {"minReplicas", random.between(0, workers)},
      {"maxReplicas", workers + 1},
      {"template", pod_of(common, with_checks(container_called("ray-worker", some_container(random))), false)}};
  return {{"headGroupSpec",
           json::Object{{"template", pod_of(common, with_checks(small_container("ray-head")), runs_program)}}},
          {"workerGroupSpecs", json::Array{std::move(group)}}};
}

bool can_shrink(const json::Object& cluster) {
  const json::Value& group = cluster.at("workerGroupSpecs").get_array().front();
  return json::integer_at(group, {"minReplicas"}) < json::integer_at(group, {"replicas"});
}

TrainingJob a_ray_cluster(testing::Random& random) {
  auto job = job_of("ray.io", "v1", "rayclusters", "RayCluster");
  auto cluster = some_ray_cluster(random, false);
  add_annotations(random, can_shrink(cluster), job);
  job.object["spec"] = std::move(cluster);
  job.suspend_at = {"spec", "suspend"};
  return job;
}

TrainingJob a_ray_job(testing::Random& random) {
  auto job = job_of("ray.io", "v1", "rayjobs", "RayJob");
  auto cluster = some_ray_cluster(random, true);
  add_annotations(random, can_shrink(cluster), job);
  const auto mode =
      random.pick(std::vector<std::string>{"K8sJobMode", "K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"});
  const bool is_interactive = mode == "InteractiveMode";
  json::Object spec{{"submissionMode", mode},
                    {"rayClusterSpec", std::move(cluster)},
                    {"backoffLimit", is_interactive ? 0 : random.between(0, 1)}};
  if (!is_interactive) spec["entrypoint"] = "python train.py";
  if (is_interactive && random.below(2) == 0) spec["jobId"] = "mine";
  // Only such a job can be suspended.
  if (!is_interactive && random.below(3) != 0) {
    spec["shutdownAfterJobFinishes"] = true;
    if (random.below(2) == 0) spec["ttlSecondsAfterFinished"] = random.between(1, 60);
    job.suspend_at = {"spec", "suspend"};
  }
  if (random.below(6) == 0) spec["activeDeadlineSeconds"] = random.between(30, 600);
  job.object["spec"] = std::move(spec);
  return job;
}

TrainingJob a_batch_job(testing::Random& random) {
  auto job = job_of("batch", "v1", "jobs", "Job");
  const auto common = some_common(random);
  const auto pods = random.between(1, 3);
  auto pod = pod_of(common, container_called("main", some_container(random)), true);
  pod["spec"].as_object()["restartPolicy"] = "Never";
  job.object["spec"] = json::Object{{"completions", pods},
                                    {"parallelism", pods},
                                    {"completionMode", "Indexed"},
                                    {"backoffLimit", common.well ? 100 : random.between(0, 2)},
                                    {"template", std::move(pod)}};
  add_annotations(random, false, job);
  job.suspend_at = {"spec", "suspend"};
  return job;
}

}  // namespace

TrainingJob some_training_job(testing::Random& random) {
  switch (random.below(8)) {
    case 0:
      return a_pytorch_job(random);
    case 1:
      return a_tf_job(random);
    case 2:
      return an_early_mpi_job(random);
    case 3:
      return a_later_mpi_job(random, false);
    case 4:
      return a_later_mpi_job(random, true);
    case 5:
      return a_ray_cluster(random);
    case 6:
      return a_ray_job(random);
    default:
      return a_batch_job(random);
  }
}

}  // namespace gangway::sim
