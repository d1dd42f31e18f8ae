#include "api/kubeflow.h"

#include <algorithm>

namespace gangway::api {
namespace {

constexpr std::string_view kPyTorchTypes[] = {kMaster, kWorker};
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
