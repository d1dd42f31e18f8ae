// What the job kinds of kubeflow.org/v1 differ in, as data: replica types, main container, port, labels. Pure.
//
// The server's rules and the controllers read the same tables, so that neither takes what the other does not know.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "json/value.h"

namespace gangway::api {

struct KubeflowKind {
  std::string_view kind;           // "PyTorchJob"
  std::string_view plural;         // "pytorchjobs"
  std::string_view replica_specs;  // the map below spec: "pytorchReplicaSpecs"
  // As they are written in that map, in the order in which they are judged.
  std::span<const std::string_view> types;
  std::string_view restart_policy;  // where a replica type names none
  std::string_view container;       // the one that trains
  std::string_view port_name;
  std::int64_t port = 0;
  std::string_view operator_name;  // of the label by which tools find the pods
};

const KubeflowKind& pytorch_job_kind();
const KubeflowKind& tf_job_kind();

inline constexpr std::string_view kMaster = "Master";
inline constexpr std::string_view kChief = "Chief";
inline constexpr std::string_view kWorker = "Worker";

// The type that a key of the map means, whatever its case; empty when it means none.
std::string_view canonical_type(const KubeflowKind& kind, std::string_view key);
// As it stands in names and labels: "worker".
std::string lower_case(std::string_view text);

// A field of the run policy: below spec.runPolicy, or directly below spec where older tools put it. Null when neither
// has it.
const json::Value* run_policy_field(const json::Value& job, std::string_view key);

// Labels of the pods and Services of a job.
inline constexpr std::string_view kOperatorNameLabel = "training.kubeflow.org/operator-name";
inline constexpr std::string_view kJobNameLabel = "training.kubeflow.org/job-name";
inline constexpr std::string_view kReplicaTypeLabel = "training.kubeflow.org/replica-type";
inline constexpr std::string_view kReplicaIndexLabel = "training.kubeflow.org/replica-index";
// "master" on the one pod of a job that must not be lost before the others.
inline constexpr std::string_view kJobRoleLabel = "training.kubeflow.org/job-role";

}  // namespace gangway::api
