#include "sim/seen_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/reading.h"

namespace gangway::sim {
namespace {

bool is_true(const json::Value& object, std::string_view type) {
  const auto* condition = condition_of(object, type);
  return condition != nullptr && json::string_at(*condition, {"status"}) == "True";
}

std::int64_t number_in(std::string_view text, std::int64_t otherwise) {
  std::int64_t number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Policies are below runPolicy, or where older kinds have them.
const json::Value* policy_of(const json::Value& job, std::string_view field) {
  const auto* found = json::find(job, {"spec", "runPolicy", field});
  return found != nullptr ? found : json::find(job, {"spec", field});
}

std::int64_t sum_of_replicas(const json::Object& specs, bool but_launcher) {
  std::int64_t sum = 0;
  for (const auto& [type, spec] : specs)
    if (!but_launcher || std::string_view(type) != "Launcher") sum += json::integer_at(spec, {"replicas"}, 1);
  return sum;
}

void read_kubeflow(const json::Value& tree, SeenJob& job) {
  job.has_succeeded = is_true(tree, "Succeeded");
  job.has_failed = is_true(tree, "Failed");
  job.is_suspended = is_true(tree, "Suspended");
  job.says_running = is_true(tree, "Running");
  job.attempt = json::integer_at(tree, {"status", "gangway", "attempt"}, 1);
  if (const auto* suspend = policy_of(tree, "suspend")) job.wants_rest = suspend->is_bool() && suspend->get_bool();
  if (const auto* clean = policy_of(tree, "cleanPodPolicy")) job.clean_policy = json::string_at(*clean, {});
  job.has_deadline = policy_of(tree, "activeDeadlineSeconds") != nullptr;
  if (json::find(tree, {"spec", "template"}) != nullptr) {
    job.wanted_pods = json::integer_at(tree, {"spec", "replicas"}, 1);
    return;
  }
  // Of v2beta1, a Job makes the launcher.
  const bool is_by_job = json::find(tree, {"spec", "mpiImplementation"}) != nullptr;
  for (const char* specs : {"pytorchReplicaSpecs", "tfReplicaSpecs", "mpiReplicaSpecs"})
    job.wanted_pods += sum_of_replicas(json::map_at(tree, {"spec", specs}), is_by_job);
}

void read_batch(const json::Value& tree, SeenJob& job) {
  job.has_succeeded = is_true(tree, "Complete");
  job.has_failed = is_true(tree, "Failed");
  job.is_suspended = is_true(tree, "Suspended");
  job.says_running = json::integer_at(tree, {"status", "active"}) > 0;
  job.wants_rest = json::flag_at(tree, {"spec", "suspend"});
  job.clean_policy = "Running";
  job.has_deadline = json::find(tree, {"spec", "activeDeadlineSeconds"}) != nullptr;
  // Those that have succeeded need not be there any more.
  const auto parallel = json::integer_at(tree, {"spec", "parallelism"}, 1);
  const auto left =
      json::integer_at(tree, {"spec", "completions"}, parallel) - json::integer_at(tree, {"status", "succeeded"});
  job.wanted_pods = std::min(parallel, left);
}

std::int64_t pods_of_cluster(const json::Value& spec) {
  std::int64_t sum = 1;
  for (const auto& group : json::array_at(spec, {"workerGroupSpecs"})) sum += json::integer_at(group, {"replicas"});
  return sum;
}

void read_ray_cluster(const json::Value& tree, SeenJob& job) {
  job.is_suspended = is_true(tree, "RayClusterSuspended");
  job.says_running = json::string_at(tree, {"status", "state"}) == "ready";
  job.attempt = json::integer_at(tree, {"status", "gangway", "attempt"}, 1);
  job.wants_rest = json::flag_at(tree, {"spec", "suspend"});
  if (const auto* spec = json::find(tree, {"spec"})) job.wanted_pods = pods_of_cluster(*spec);
}

void read_ray_job(const json::Value& tree, SeenJob& job) {
  const auto deployment = json::string_at(tree, {"status", "jobDeploymentStatus"});
  job.has_succeeded = deployment == "Complete";
  job.has_failed = deployment == "Failed";
  job.is_suspended = deployment == "Suspended";
  job.waits_for_user = deployment == "Waiting";
  job.says_running = deployment == "Running" || job.waits_for_user;
  job.attempt = json::integer_at(tree, {"status", "gangway", "attempt"}, 1);
  job.wants_rest = json::flag_at(tree, {"spec", "suspend"});
  job.clean_policy = json::flag_at(tree, {"spec", "shutdownAfterJobFinishes"}) ? "Running" : "None";
  job.has_deadline = json::find(tree, {"spec", "activeDeadlineSeconds"}) != nullptr;
  if (const auto* spec = json::find(tree, {"spec", "rayClusterSpec"})) job.wanted_pods = pods_of_cluster(*spec);
  if (const auto* head = json::find(tree, {"spec", "rayClusterSpec", "headGroupSpec", "template"}))
    job.told_end = told_end_of(*head);
}

}  // namespace

std::string SeenJob::text() const {
  return fmt::format("{} {}/{}", resource, name.ns, name.name);
}

const std::vector<api::ResourceName>& job_resources() {
  static const std::vector<api::ResourceName> all = {"pytorchjobs.kubeflow.org", "tfjobs.kubeflow.org",
                                                     "mpijobs.kubeflow.org",     "rayclusters.ray.io",
                                                     "rayjobs.ray.io",           "jobs.batch"};
  return all;
}

std::optional<SeenJob> read_job(const api::ResourceName& resource, const api::Version& version) {
  const auto& all = job_resources();
  if (std::find(all.begin(), all.end(), resource) == all.end() || !version.header->owners.empty()) return std::nullopt;
  const auto tree = tree_of(version);
  SeenJob job{.resource = resource, .name = version.header->name, .uid = version.header->uid};
  if (resource == "jobs.batch") {
    read_batch(tree, job);
  } else if (resource == "rayclusters.ray.io") {
    read_ray_cluster(tree, job);
  } else if (resource == "rayjobs.ray.io") {
    read_ray_job(tree, job);
  } else {
    read_kubeflow(tree, job);
  }
  job.is_gang = json::string_at(tree, {"metadata", "annotations", "gangway.dev/gang"}) != "false";
  job.comes_back =
      job.is_gang && json::string_at(tree, {"metadata", "annotations", "gangway.dev/on-preempt"}) == "Requeue";
  return job;
}

void Families::see(const api::Header& header) {
  for (const auto& owner : header.owners)
    if (owner.controller) controllers_[header.uid] = owner.uid;
}

std::string Families::top_of(const std::string& uid) const {
  const auto at = controllers_.find(uid);
  return at == controllers_.end() ? uid : top_of(at->second);
}

std::int64_t attempt_of(const json::Value& pod) {
  return number_in(json::string_at(pod, {"metadata", "annotations", "gangway.dev/attempt"}), 1);
}

std::optional<std::int64_t> told_end_of(const json::Value& pod) {
  if (json::string_at(pod, {"metadata", "annotations", "gangway.dev/simulated-duration"}).empty()) return std::nullopt;
  return number_in(json::string_at(pod, {"metadata", "annotations", "gangway.dev/simulated-exit-code"}), 0);
}

}  // namespace gangway::sim
