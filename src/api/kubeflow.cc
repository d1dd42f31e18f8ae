#include "api/kubeflow.h"

#include <algorithm>

namespace gangway::api {
namespace {

constexpr std::string_view kPyTorchTypes[] = {kMaster, kWorker};
constexpr std::string_view kMpiTypes[] = {kLauncher, kWorker};
constexpr std::string_view kTfTypes[] = {kChief, "Evaluator", kMaster, "PS", kWorker};

}  // namespace

const KubeflowKind& pytorch_job_kind() {
  static constexpr KubeflowKind kKind{.kind = "PyTorchJob",
                                      .plural = "pytorchjobs",
                                      .replica_specs = "pytorchReplicaSpecs",
                                      .types = kPyTorchTypes,
                                      .restart_policy = "OnFailure",
                                      .container = "pytorch",
                                      .port_name = "pytorchjob-port",
                                      .port = 23456,
                                      .operator_name = "pytorchjob-controller"};
  return kKind;
}

const KubeflowKind& tf_job_kind() {
  static constexpr KubeflowKind kKind{.kind = "TFJob",
                                      .plural = "tfjobs",
                                      .replica_specs = "tfReplicaSpecs",
                                      .types = kTfTypes,
                                      .restart_policy = "Never",
                                      .container = "tensorflow",
                                      .port_name = "tfjob-port",
                                      .port = 2222,
                                      .operator_name = "tfjob-controller"};
  return kKind;
}

const KubeflowKind& mpi_job_kind() {
  static constexpr KubeflowKind kKind{.kind = "MPIJob",
                                      .plural = "mpijobs",
                                      .replica_specs = "mpiReplicaSpecs",
                                      .types = kMpiTypes,
                                      .restart_policy = "Never",
                                      .container = "mpi",
                                      .is_first_main = true,
                                      .operator_name = "mpijob-controller",
                                      .usual_workers = 0};
  return kKind;
}

const KubeflowKind& ssh_mpi_job_kind() {
  static constexpr KubeflowKind kKind{.kind = "MPIJob",
                                      .plural = "mpijobs",
                                      .replica_specs = "mpiReplicaSpecs",
                                      .types = kMpiTypes,
                                      .restart_policy = "Never",
                                      .launcher_restart_policy = "OnFailure",
                                      .container = "mpi",
                                      .is_first_main = true,
                                      .operator_name = "mpi-operator",
                                      .role_label = kJobRoleLabel,
                                      .usual_workers = 0};
  return kKind;
}

std::string replica_name(std::string_view job, std::string_view type, std::int64_t index) {
  std::string text = std::string(job) + "-" + lower_case(type);
  if (type != kLauncher) text += "-" + std::to_string(index);
  std::replace(text.begin(), text.end(), '/', '-');
  return text;
}

std::int64_t usual_replicas(const KubeflowKind& kind, std::string_view type) {
  return type == kWorker ? kind.usual_workers : 1;
}

std::string_view usual_restart_policy(const KubeflowKind& kind, std::string_view type) {
  return type == kLauncher ? kind.launcher_restart_policy : kind.restart_policy;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

std::string_view canonical_type(const KubeflowKind& kind, std::string_view key) {
  const std::string wanted = lower_case(key);
  for (const std::string_view type : kind.types)
    if (lower_case(type) == wanted) return type;
  return {};
}

const json::Value* run_policy_field(const json::Value& job, std::string_view key) {
  for (const json::Value* found : {json::find(job, {"spec", "runPolicy", key}), json::find(job, {"spec", key})})
    if (found != nullptr && !found->is_null()) return found;
  return nullptr;
}

}  // namespace gangway::api
