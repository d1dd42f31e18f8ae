#include "jobs/ray_job_objects.h"

#include <fmt/format.h>

#include <utility>

#include "api/gang.h"
#include "api/owner.h"
#include "api/ray.h"
#include "client/resource.h"
#include "jobs/pod_environment.h"
#include "jobs/ray_pods.h"
#include "jobs/ray_start.h"
#include "json/yaml.h"

namespace gangway::jobs {
namespace {

constexpr std::int64_t kSubmitterRetries = 2;
constexpr std::string_view kOwnDashboard = "127.0.0.1";
constexpr std::string_view kSimulated = "gangway.dev/simulated-";

json::Object origin_labels(const RayJob& job) {
  return {{api::kRayOriginName, job.name()}, {api::kRayOriginKind, kRayJobKind}};
}

void add_all(json::Object& into, const json::Object& from) {
  for (const auto& [key, value] : from) into[key] = value;
}

json::Object metadata_of(const RayJob& job, std::string name) {
  return {{"name", std::move(name)},
          {"namespace", job.ns()},
          {"labels", origin_labels(job)},
          {"annotations", json::Object{{api::kAttempt, std::to_string(job.record.attempt)}}},
          {"ownerReferences", json::Array{api::to_json(job.owner().reference())}}};
}

// What kubectl keeps in an object about itself is not for others.
bool is_inherited(std::string_view annotation) {
  return annotation != "kubectl.kubernetes.io/last-applied-configuration" && annotation != api::kCreatedBy;
}

void forget_programs(json::Value& cluster_spec) {
  if (json::Value* head = json::find(cluster_spec, {"headGroupSpec", "template"})) forget_simulated_program(*head);
  json::Value* groups = json::find(cluster_spec, {"workerGroupSpecs"});
  if (groups == nullptr || !groups->is_array()) return;
  for (json::Value& group : groups->get_array())
    if (json::Value* pod = json::find(group, {"template"})) forget_simulated_program(*pod);
}

// The runtime environment as JSON; null when there is none that can be read.
json::Value runtime_environment(const RayJob& job) {
  const std::string_view text = json::string_at(job.tree, {"spec", "runtimeEnvYAML"});
  if (text.empty()) return nullptr;
  auto documents = json::parse_yaml(text);
  if (!documents || documents->empty()) return nullptr;
  return std::move(documents->front());
}

json::Value entrypoint_resources(const RayJob& job) {
  const std::string_view text = json::string_at(job.tree, {"spec", "entrypointResources"});
  auto parsed = text.empty() ? Result<json::Value>(json::Value(nullptr)) : json::parse(text);
  return parsed ? std::move(*parsed) : json::Value(nullptr);
}

const json::Value* positive_at(const RayJob& job, std::string_view key) {
  const json::Value* given = json::find(job.tree, {"spec", key});
  return given != nullptr && given->is_number() && given->to_number<double>() > 0 ? given : nullptr;
}

json::Value submitter_container(const RayJob& job) {
  const json::Array& heads = json::array_at(job.cluster_spec(), {"headGroupSpec", "template", "spec", "containers"});
  return json::Object{{"name", kRaySubmitterContainer},
                      {"image", heads.empty() ? std::string_view() : json::string_at(heads.front(), {"image"})},
                      {"resources", json::Object{{"limits", json::Object{{"cpu", "1"}, {"memory", "1Gi"}}},
                                                 {"requests", json::Object{{"cpu", "500m"}, {"memory", "200Mi"}}}}}};
}

json::Value default_submitter(const RayJob& job) {
  const json::Value& cluster = job.cluster_spec();
  json::Object spec{{"restartPolicy", "Never"}, {"containers", json::Array{submitter_container(job)}}};
  // It is as important as what it waits for.
  for (const char* key : {"priorityClassName", "schedulerName", "imagePullSecrets"})
    if (const json::Value* same = json::find(cluster, {"headGroupSpec", "template", "spec", key})) spec[key] = *same;
  return json::Object{{"metadata", json::Object()}, {"spec", std::move(spec)}};
}

// How the program goes on simulated nodes is said where the head is described, unless its own pod says so.
void add_simulated_program(const RayJob& job, json::Value& pod) {
  for (const auto& [key, value] :
       json::map_at(job.cluster_spec(), {"headGroupSpec", "template", "metadata", "annotations"})) {
    if (!std::string_view(key).starts_with(kSimulated)) continue;
    json::Object& own = json::object_at(pod, {"metadata", "annotations"});
    if (!own.contains(key)) own[key] = value;
  }
}

void add_program(const RayJob& job, const std::string& dashboard, json::Value& container) {
  if (json::array_at(container, {"command"}).empty()) {
    container.get_object()["command"] = json::Array{"/bin/bash", "-ce", "--"};
    container.get_object()["args"] = json::Array{ray_submit_script(job)};
  }
  add_variables(
      container,
      {{"PYTHONUNBUFFERED", "1"}, {"RAY_DASHBOARD_ADDRESS", dashboard}, {"RAY_JOB_SUBMISSION_ID", job.record.job_id}});
}

// It finds the same programs and files as the container that it stands beside, whose end is the end of both.
void add_sidecar(const RayJob& job, json::Value& cluster_spec) {
  json::Value* containers = json::find(cluster_spec, {"headGroupSpec", "template", "spec", "containers"});
  if (containers == nullptr || !containers->is_array() || containers->get_array().empty()) return;
  json::Value container = submitter_container(job);
  for (const char* key : {"imagePullPolicy", "env", "envFrom", "volumeMounts", "securityContext"})
    if (const json::Value* same = json::find(containers->get_array().front(), {key}))
      container.get_object()[key] = *same;
  const std::int64_t port = ray_head_port(cluster_spec, "dashboard", api::kRayDashboardPort);
  add_program(job, fmt::format("{}:{}", kOwnDashboard, port), container);
  containers->get_array().push_back(std::move(container));
  json::object_at(cluster_spec, {"headGroupSpec", "template", "spec"})["restartPolicy"] = "Never";
}

}  // namespace

json::Value ray_submitter_template(const RayJob& job) {
  const json::Value* given = json::find(job.tree, {"spec", "submitterPodTemplate"});
  json::Value pod = given != nullptr && given->is_object() ? *given : default_submitter(job);
  json::Object& labels = json::object_at(pod, {"metadata", "labels"});
  add_all(labels, origin_labels(job));
  if (job.is_gang) {
    labels[api::kPodGroupLabel] = job.name();
    labels[api::kLateMemberLabel] = kRaySubmitterMember;
  }
  if (job.record.attempt > 1)
    json::object_at(pod, {"metadata", "annotations"})[api::kAttempt] = std::to_string(job.record.attempt);
  add_simulated_program(job, pod);
  json::Object& spec = json::object_at(pod, {"spec"});
  if (json::string_at(pod, {"spec", "restartPolicy"}).empty()) spec["restartPolicy"] = "Never";
  json::Value* containers = json::find(pod, {"spec", "containers"});
  if (containers == nullptr || !containers->is_array() || containers->get_array().empty()) return pod;
  json::Value& container = containers->get_array().front();
  if (!container.is_object()) return pod;
  add_program(job, job.record.dashboard, container);
  add_missing_variables_to_all(pod, job_variables(job.tree, job.record.attempt));
  return pod;
}

json::Value ray_job_cluster(const RayJob& job) {
  json::Object metadata = metadata_of(job, job.record.cluster);
  json::Object labels = json::map_at(job.tree, {"metadata", "labels"});
  add_all(labels, origin_labels(job));
  const std::string_view mode = json::string_at(job.tree, {"spec", "submissionMode"});
  labels[api::kRaySubmissionMode] = mode.empty() ? std::string_view("K8sJobMode") : mode;
  // Queues hold the job, not what it makes.
  labels.erase("kueue.x-k8s.io/queue-name");
  metadata["labels"] = std::move(labels);
  for (const auto& [key, value] : json::map_at(job.tree, {"metadata", "annotations"}))
    if (is_inherited(key) && key != api::kAttempt) metadata["annotations"].as_object()[key] = value;
  json::Value spec = job.cluster_spec();
  forget_programs(spec);
  if (job.submission == RaySubmission::kSidecar) {
    add_sidecar(job, spec);
    // Another head would hand the program over again.
    metadata["annotations"].as_object()[api::kRayKeepHeadDown] = "true";
  }
  return json::Object{{"apiVersion", client::api_version(ray_clusters())},
                      {"kind", kRayClusterKind},
                      {"metadata", std::move(metadata)},
                      {"spec", std::move(spec)}};
}

std::string ray_submit_script(const RayJob& job) {
  const std::string address = "--address http://$RAY_DASHBOARD_ADDRESS";
  std::string options = "--no-wait --submission-id $RAY_JOB_SUBMISSION_ID";
  if (const json::Value environment = runtime_environment(job); !environment.is_null())
    options += " --runtime-env-json " + shell_quoted(json::serialize(environment));
  if (const json::Object& metadata = json::map_at(job.tree, {"spec", "metadata"}); !metadata.empty())
    options += " --metadata-json " + shell_quoted(json::serialize(metadata));
  if (const json::Value* cpus = positive_at(job, "entrypointNumCpus"))
    options += " --entrypoint-num-cpus " + json::serialize(*cpus);
  if (const json::Value* gpus = positive_at(job, "entrypointNumGpus"))
    options += " --entrypoint-num-gpus " + json::serialize(*gpus);
  if (const json::Value others = entrypoint_resources(job); !others.is_null())
    options += " --entrypoint-resources " + shell_quoted(json::serialize(others));
  return fmt::format(
      "until ray job list {0} >/dev/null 2>&1; do echo \"$SECONDS seconds: the dashboard does not answer yet\"; sleep "
      "2; "
      "done\n"
      "if ! ray job status {0} $RAY_JOB_SUBMISSION_ID >/dev/null 2>&1; then\n"
      "  ray job submit {0} {1} -- {2}\n"
      "fi\n"
      "ray job logs {0} --follow $RAY_JOB_SUBMISSION_ID\n",
      address, options, job.entrypoint());
}

json::Value ray_submitter_job(const RayJob& job) {
  return json::Object{
      {"apiVersion", "batch/v1"},
      {"kind", "Job"},
      {"metadata", metadata_of(job, job.name())},
      {"spec", json::Object{{"backoffLimit", json::integer_at(job.tree, {"spec", "submitterConfig", "backoffLimit"},
                                                              kSubmitterRetries)},
                            {"template", ray_submitter_template(job)}}}};
}

json::Value ray_submission_body(const RayJob& job) {
  json::Object body{{"entrypoint", job.entrypoint()}, {"submission_id", job.record.job_id}};
  if (json::Value environment = runtime_environment(job); !environment.is_null())
    body["runtime_env"] = std::move(environment);
  if (const json::Object& metadata = json::map_at(job.tree, {"spec", "metadata"}); !metadata.empty())
    body["metadata"] = metadata;
  if (const json::Value* cpus = positive_at(job, "entrypointNumCpus")) body["entrypoint_num_cpus"] = *cpus;
  if (const json::Value* gpus = positive_at(job, "entrypointNumGpus")) body["entrypoint_num_gpus"] = *gpus;
  if (json::Value others = entrypoint_resources(job); !others.is_null())
    body["entrypoint_resources"] = std::move(others);
  return body;
}

json::Object ray_job_service_selector(const RayJob& job) {
  return {{api::kRayClusterLabel, job.record.cluster}, {api::kRayNodeTypeLabel, api::kRayHead}};
}

json::Value ray_job_service(const RayJob& job) {
  json::Object metadata = metadata_of(job, job.service());
  metadata.erase("annotations");
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Service"},
                      {"metadata", std::move(metadata)},
                      {"spec", json::Object{{"clusterIP", "None"},
                                            {"publishNotReadyAddresses", true},
                                            {"selector", ray_job_service_selector(job)},
                                            {"ports", ray_head_ports(job.cluster_spec())}}}};
}

std::string ray_dashboard_url(const RayJob& job, const json::Value& cluster_spec) {
  return fmt::format("{}:{}", ray_head_host(ray_head_service(cluster_spec, job.record.cluster), job.ns()),
                     ray_head_port(cluster_spec, "dashboard", api::kRayDashboardPort));
}

}  // namespace gangway::jobs
