#include "cli/arena/instance.h"

#include <fmt/format.h>

#include <charconv>

#include "api/gang.h"

namespace gangway::cli::arena {
namespace {

std::string_view label(const json::Value& pod, std::string_view key) {
  return json::string_at(pod, {"metadata", "labels", key});
}

// "PyTorchJob" for pytorchjob-controller.
std::string_view kind_of_operator(std::string_view name) {
  if (name.starts_with("pytorch")) return "PyTorchJob";
  if (name.starts_with("tf")) return "TFJob";
  if (name.starts_with("mpi")) return "MPIJob";
  return "";
}

std::string role_of_pod(const json::Value& pod) {
  for (const std::string_view key : {"training.kubeflow.org/replica-type", "mpi_role_type", "ray.io/node-type",
                                     "pytorch-replica-type", "tf-replica-type"})
    if (const auto role = label(pod, key); !role.empty()) return lower(role);
  // Of newer MPI jobs; others say "master" here and more above.
  if (const auto role = label(pod, "training.kubeflow.org/job-role"); !role.empty()) return lower(role);
  if (!label(pod, "ray.io/originated-from-cr-name").empty()) return "submitter";
  return "";
}

// Of containers that have not all started, or have stopped: what the first of them says.
std::string trouble_of(const json::Array& statuses) {
  for (const json::Value& status : statuses) {
    for (const std::string_view state : {"waiting", "terminated"}) {
      const std::string_view reason = json::string_at(status, {"state", state, "reason"});
      if (!reason.empty()) return std::string(reason);
      if (json::find(status, {"state", state}) != nullptr && state == "terminated")
        return fmt::format("ExitCode:{}", json::integer_at(status, {"state", state, "exitCode"}));
    }
  }
  return "";
}

std::string init_trouble(const json::Value& pod) {
  const json::Array& statuses = json::array_at(pod, {"status", "initContainerStatuses"});
  const std::size_t count = json::array_at(pod, {"spec", "initContainers"}).size();
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    if (json::find(statuses[i], {"state", "terminated"}) != nullptr &&
        json::integer_at(statuses[i], {"state", "terminated", "exitCode"}) == 0)
      continue;
    if (json::find(statuses[i], {"state", "running"}) != nullptr && json::flag_at(statuses[i], {"started"}) &&
        json::string_at(pod, {"status", "phase"}) == "Running")
      continue;
    const std::string reason = trouble_of(json::Array{statuses[i]});
    return reason.empty() || reason == "PodInitializing" ? fmt::format("Init:{}/{}", i, count) : "Init:" + reason;
  }
  return "";
}

std::string kubectl_status(const json::Value& pod, const std::string& phase, bool is_ending) {
  if (is_ending) return "Terminating";
  std::string reason(json::string_at(pod, {"status", "reason"}));
  if (reason.empty()) reason = phase;
  if (std::string init = init_trouble(pod); !init.empty()) return init;
  if (std::string trouble = trouble_of(json::array_at(pod, {"status", "containerStatuses"})); !trouble.empty())
    return trouble;
  return reason;
}

std::string unscheduled_message(const json::Value& pod) {
  for (const json::Value& condition : json::array_at(pod, {"status", "conditions"}))
    if (json::string_at(condition, {"type"}) == "PodScheduled" && json::string_at(condition, {"status"}) == "False")
      return std::string(json::string_at(condition, {"message"}));
  return "";
}

}  // namespace

WallTime time_at(const json::Value& object, std::initializer_list<std::string_view> path) {
  const auto time = parse_rfc3339(json::string_at(object, path));
  return time ? *time : WallTime();
}

std::string owner_key(const json::Value& pod) {
  const std::string_view ns = json::string_at(pod, {"metadata", "namespace"});
  if (const auto cluster = label(pod, "ray.io/cluster"); !cluster.empty())
    return fmt::format("RayCluster/{}/{}", ns, cluster);
  if (const auto job = label(pod, "ray.io/originated-from-cr-name"); !job.empty())
    return fmt::format("RayJob/{}/{}", ns, job);
  if (const auto job = label(pod, "mpi_job_name"); !job.empty()) return fmt::format("MPIJob/{}/{}", ns, job);
  const auto job = label(pod, "training.kubeflow.org/job-name");
  if (job.empty()) return "";
  std::string_view kind = kind_of_operator(label(pod, "training.kubeflow.org/operator-name"));
  for (const json::Value& owner : json::array_at(pod, {"metadata", "ownerReferences"}))
    if (job_kind(json::string_at(owner, {"kind"})) != nullptr) kind = json::string_at(owner, {"kind"});
  return fmt::format("{}/{}/{}", kind, ns, job);
}

Instance instance_of(const json::Value& pod) {
  Instance instance;
  instance.name = json::string_at(pod, {"metadata", "name"});
  instance.uid = json::string_at(pod, {"metadata", "uid"});
  instance.role = role_of_pod(pod);
  instance.phase = json::string_at(pod, {"status", "phase"});
  if (instance.phase.empty()) instance.phase = "Pending";
  instance.is_ending = json::find(pod, {"metadata", "deletionTimestamp"}) != nullptr;
  instance.status = kubectl_status(pod, instance.phase, instance.is_ending);
  instance.node = json::string_at(pod, {"spec", "nodeName"});
  instance.node_ip = json::string_at(pod, {"status", "hostIP"});
  instance.ip = json::string_at(pod, {"status", "podIP"});
  if (const json::Value* spec = json::find(pod, {"spec"})) instance.gpus = gpus_of(*spec);
  instance.created = time_at(pod, {"metadata", "creationTimestamp"});
  const bool is_over = instance.phase == "Succeeded" || instance.phase == "Failed";
  instance.holds_gpus = !instance.node.empty() && !is_over;
  if (instance.node.empty() && !is_over) instance.waits_because = unscheduled_message(pod);
  const std::string_view attempt = json::string_at(pod, {"metadata", "annotations", api::kAttempt});
  std::from_chars(attempt.data(), attempt.data() + attempt.size(), instance.attempt);
  instance.progress = progress_of(pod);
  instance.checkpoint = checkpoint_of(pod);
  return instance;
}

}  // namespace gangway::cli::arena
