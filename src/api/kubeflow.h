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

// Labels of the pods and Services of a job.
inline constexpr std::string_view kOperatorNameLabel = "training.kubeflow.org/operator-name";
inline constexpr std::string_view kJobNameLabel = "training.kubeflow.org/job-name";
inline constexpr std::string_view kReplicaTypeLabel = "training.kubeflow.org/replica-type";
inline constexpr std::string_view kReplicaIndexLabel = "training.kubeflow.org/replica-index";
// "master" on the one pod of a job that must not be lost before the others.
inline constexpr std::string_view kJobRoleLabel = "training.kubeflow.org/job-role";

struct KubeflowKind {
  std::string_view kind;           // "PyTorchJob"
  std::string_view plural;         // "pytorchjobs"
  std::string_view replica_specs;  // the map below spec: "pytorchReplicaSpecs"
  // As they are written in that map, in the order in which they are judged.
  std::span<const std::string_view> types;
  std::string_view restart_policy;  // where a replica type names none
  std::string_view launcher_restart_policy = restart_policy;
  std::string_view container;    // the one that trains
  bool is_first_main = false;    // the first one trains, whatever its name
  std::string_view port_name{};  // empty: its pods need none
  std::int64_t port = 0;
  std::string_view operator_name;                   // of the label by which tools find the pods
  std::string_view role_label = kReplicaTypeLabel;  // the one that says of which type a pod is
  std::int64_t usual_workers = 1;                   // where the number of Workers is not given
};

const KubeflowKind& pytorch_job_kind();
const KubeflowKind& tf_job_kind();
// MPIJobs of v1, and of v2beta1.
const KubeflowKind& mpi_job_kind();
const KubeflowKind& ssh_mpi_job_kind();

inline constexpr std::string_view kMaster = "Master";
inline constexpr std::string_view kChief = "Chief";
inline constexpr std::string_view kWorker = "Worker";
inline constexpr std::string_view kLauncher = "Launcher";

// "job-worker-0": of a pod, and of the Service that leads to it. There is one Launcher at most, and its name has no
// number.
std::string replica_name(std::string_view job, std::string_view type, std::int64_t index);
// How many pods of the type there are, and whether they restart, where that is not given.
std::int64_t usual_replicas(const KubeflowKind& kind, std::string_view type);
std::string_view usual_restart_policy(const KubeflowKind& kind, std::string_view type);

// The type that a key of the map means, whatever its case; empty when it means none.
std::string_view canonical_type(const KubeflowKind& kind, std::string_view key);
// As it stands in names and labels: "worker".
std::string lower_case(std::string_view text);

// A field of the run policy: below spec.runPolicy, or directly below spec where older tools put it. Null when neither
// has it.
const json::Value* run_policy_field(const json::Value& job, std::string_view key);

}  // namespace gangway::api
