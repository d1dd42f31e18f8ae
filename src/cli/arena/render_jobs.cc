#include "cli/arena/render_jobs.h"

#include <chrono>

#include "cli/arena/render.h"
#include "cli/arena/render_pod.h"
#include "client/resource.h"

namespace gangway::cli::arena {
namespace {

constexpr std::string_view kSharedMemory = "2Gi";
// A worker that leaves costs an elastic torch job one restart; giving up belongs to backoffLimit.
constexpr std::int64_t kElasticRestarts = 100;
constexpr std::int64_t kLauncherRetries = 6;

std::int64_t seconds(Duration duration) {
  return std::chrono::ceil<std::chrono::seconds>(duration).count();
}

PodRole role_of(const Submission& submission) {
  const SubmitFlags& flags = submission.flags;
  PodRole role;
  role.container = info_of(flags.type).container;
  role.image = flags.image;
  role.gpus = flags.gpus;
  role.cpu = flags.cpu;
  role.memory = flags.memory;
  role.share_memory = flags.share_memory.empty() ? std::string(kSharedMemory) : flags.share_memory;
  role.gang_minimum = submission.min_workers();
  return role;
}

json::Value object_of(const Submission& submission, json::Object spec) {
  const JobTypeInfo& info = info_of(submission.flags.type);
  return json::Object{{"apiVersion", client::api_version(info.resource)},
                      {"kind", info.kind},
                      {"metadata", job_metadata(submission)},
                      {"spec", std::move(spec)}};
}

json::Object run_policy(const Submission& submission, std::string_view usual_clean_policy) {
  const std::string& clean = submission.flags.clean_task_policy;
  json::Object policy{{"cleanPodPolicy", clean.empty() ? usual_clean_policy : std::string_view(clean)}};
  if (submission.running_timeout && *submission.running_timeout > Duration::zero())
    policy["activeDeadlineSeconds"] = seconds(*submission.running_timeout);
  if (submission.ttl_after_finished && *submission.ttl_after_finished > Duration::zero())
    policy["ttlSecondsAfterFinished"] = seconds(*submission.ttl_after_finished);
  return policy;
}

json::Object replicas(std::int64_t count, std::string_view restart_policy, json::Value pod_template) {
  // The role's policy is the one that counts; a second one in its pods would only be talked over.
  if (json::Value* spec = json::find(pod_template, {"spec"})) spec->get_object().erase("restartPolicy");
  return json::Object{{"replicas", count}, {"restartPolicy", restart_policy}, {"template", std::move(pod_template)}};
}

json::Value affinity_of(const Submission& submission, const TfRoleFlags& flags, std::string_view role) {
  const json::Object term{
      {"labelSelector",
       json::Object{{"matchLabels", json::Object{{"release", submission.flags.name}, {"arena-role", role}}}}},
      {"topologyKey", "kubernetes.io/hostname"}};
  json::Object terms;
  if (flags.affinity_constraint == "required") {
    terms["requiredDuringSchedulingIgnoredDuringExecution"] = json::Array{term};
  } else {
    terms["preferredDuringSchedulingIgnoredDuringExecution"] =
        json::Array{json::Object{{"weight", 100}, {"podAffinityTerm", term}}};
  }
  return json::Object{{flags.affinity_policy == "spread" ? "podAntiAffinity" : "podAffinity", std::move(terms)}};
}

json::Value tf_template(const Submission& submission, const TfRoleFlags& flags, std::string_view role,
                        std::int64_t gpus, const std::vector<KeyValue>& selector, std::int64_t gang) {
  PodRole pod = role_of(submission);
  if (!flags.image.empty()) pod.image = flags.image;
  pod.gpus = gpus;
  pod.cpu = flags.cpu;
  pod.cpu_limit = flags.cpu_limit;
  pod.memory = flags.memory;
  pod.memory_limit = flags.memory_limit;
  pod.selector = &selector;
  pod.gang_minimum = gang;
  json::Value made = pod_template(submission, pod);
  if (flags.affinity_policy != "none") {
    json::object_at(made, {"metadata", "labels"})["arena-role"] = role;
    json::object_at(made, {"spec"})["affinity"] = affinity_of(submission, flags, role);
  }
  if (flags.port > 0)
    json::find(made, {"spec"})->at("containers").at(0).as_object()["ports"] =
        json::Array{json::Object{{"name", "tfjob-port"}, {"containerPort", flags.port}}};
  return made;
}

}  // namespace

json::Value mpi_job(const Submission& submission) {
  const SubmitFlags& flags = submission.flags;
  json::Object spec{
      {"replicas", flags.workers},
      {"backoffLimit", flags.retry},
      {"cleanPodPolicy", flags.clean_task_policy.empty() ? "All" : std::string_view(flags.clean_task_policy)},
      {"mountsOnLauncher", flags.mounts_on_launcher},
      {"template", pod_template(submission, role_of(submission))}};
  return object_of(submission, std::move(spec));
}

json::Value elastic_mpi_job(const Submission& submission) {
  const SubmitFlags& flags = submission.flags;
  json::Object policy = run_policy(submission, "Running");
  policy["backoffLimit"] = flags.et.job_backoff_limit.value_or(flags.retry > 0 ? flags.retry : kLauncherRetries);
  PodRole worker = role_of(submission);
  // Workers wait for the launcher; what they run is the image's own or the operator's.
  worker.runs_command = false;
  PodRole launcher = worker;
  launcher.runs_command = true;
  launcher.gpus = 0;
  launcher.has_devices = false;
  launcher.cpu.clear();
  launcher.memory.clear();
  launcher.gang_minimum = 0;
  launcher.selector = &submission.launcher_selector;
  json::Value launcher_pod = pod_template(submission, launcher);
  json::Value worker_pod = pod_template(submission, worker);
  for (const auto& [key, value] : submission.launcher_annotations)
    json::object_at(launcher_pod, {"metadata", "annotations"})[key] = value;
  for (const auto& [key, value] : submission.worker_annotations)
    json::object_at(worker_pod, {"metadata", "annotations"})[key] = value;
  const auto policy_or_never = [](const std::string& given) { return given.empty() ? std::string("Never") : given; };
  json::Object roles{
      {"Launcher", replicas(1, policy_or_never(flags.et.job_restart_policy), std::move(launcher_pod))},
      {"Worker", replicas(flags.workers, policy_or_never(flags.et.worker_restart_policy), std::move(worker_pod))}};
  json::Object spec{{"slotsPerWorker", std::max<std::int64_t>(1, flags.gpus)},
                    {"runPolicy", std::move(policy)},
                    {"mpiReplicaSpecs", std::move(roles)}};
  json::Value job = object_of(submission, std::move(spec));
  json::Object& annotations = json::object_at(job, {"metadata", "annotations"});
  if (flags.et.spot_instance) annotations["job-supervisor.kube-ai.io/spot-instance"] = "true";
  if (flags.et.max_wait_seconds > 0)
    annotations["job-supervisor.kube-ai.io/max-wait-time"] = std::to_string(flags.et.max_wait_seconds);
  if (!flags.et.ssh_secret.empty()) annotations["arena.kubeflow.org/ssh-secret"] = flags.et.ssh_secret;
  return job;
}

json::Value pytorch_job(const Submission& submission) {
  const SubmitFlags& flags = submission.flags;
  json::Object policy = run_policy(submission, "Running");
  policy["backoffLimit"] = flags.retry;
  const json::Value pod = pod_template(submission, role_of(submission));
  // A worker that is lost takes the training with it: without retries the job says so instead of starting it alone.
  const std::string_view worker_policy = flags.retry > 0 || submission.is_elastic() ? "OnFailure" : "Never";
  json::Object roles;
  json::Object spec{{"runPolicy", std::move(policy)}};
  if (submission.is_elastic()) {
    roles["Worker"] = replicas(flags.workers, worker_policy, pod);
    spec["elasticPolicy"] = json::Object{{"minReplicas", *flags.min_workers},
                                         {"maxReplicas", flags.max_workers.value_or(flags.workers)},
                                         {"rdzvBackend", "c10d"},
                                         {"maxRestarts", kElasticRestarts}};
  } else {
    json::Value master = pod;
    json::object_at(master, {"metadata", "labels"})["master-pod-name"] = flags.name + "-master-0";
    roles["Master"] = replicas(1, "Never", std::move(master));
    if (flags.workers > 1) roles["Worker"] = replicas(flags.workers - 1, worker_policy, pod);
  }
  if (!flags.nproc_per_node.empty()) spec["nprocPerNode"] = flags.nproc_per_node;
  spec["pytorchReplicaSpecs"] = std::move(roles);
  return object_of(submission, std::move(spec));
}

json::Value tf_job(const Submission& submission) {
  const SubmitFlags& flags = submission.flags;
  const TfFlags& tf = flags.tf;
  // One worker and nobody to talk to: a chief alone, which needs no TF_CONFIG.
  const bool is_alone = flags.workers == 1 && tf.ps == 0 && !tf.chief && !tf.evaluator;
  const std::int64_t members = flags.workers + tf.ps + (tf.chief ? 1 : 0) + (tf.evaluator ? 1 : 0);
  json::Object roles;
  const auto add = [&](std::string_view type, std::int64_t count, std::string_view restart, const TfRoleFlags& role,
                       std::int64_t gpus, const std::vector<KeyValue>& selector) {
    if (count < 1) return;
    roles[type] = replicas(count, restart, tf_template(submission, role, lower(type), gpus, selector, members));
  };
  add("Chief", tf.chief ? 1 : 0, "Never", tf.chief_role, flags.gpus, submission.chief_selector);
  add("PS", tf.ps, "Never", tf.ps_role, tf.ps_gpus, submission.ps_selector);
  add(is_alone ? "Chief" : "Worker", flags.workers, tf.chief || flags.retry > 0 ? "OnFailure" : "Never", tf.worker,
      flags.gpus, submission.worker_selector);
  add("Evaluator", tf.evaluator ? 1 : 0, "Never", tf.evaluator_role, flags.gpus, submission.evaluator_selector);
  json::Object policy = run_policy(submission, "Running");
  if (flags.retry > 0) policy["backoffLimit"] = flags.retry;
  json::Object spec{{"runPolicy", std::move(policy)}, {"tfReplicaSpecs", std::move(roles)}};
  if (tf.success_policy == "AllWorkers") spec["successPolicy"] = "AllWorkers";
  if (submission.is_elastic()) spec["enableDynamicWorker"] = true;
  json::Value job = object_of(submission, std::move(spec));
  json::Object& annotations = json::object_at(job, {"metadata", "annotations"});
  if (is_alone) annotations["arena.kubeflow.org/disable-tf-config"] = "true";
  if (!tf.role_sequence.empty()) annotations["job-role-sequence"] = tf.role_sequence;
  if (submission.starting_timeout && *submission.starting_timeout > Duration::zero())
    json::object_at(job, {"spec", "runPolicy", "schedulingPolicy"})["scheduleTimeoutSeconds"] =
        seconds(*submission.starting_timeout);
  return job;
}

}  // namespace gangway::cli::arena
