#include "cli/arena/job_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "client/resource.h"

namespace gangway::cli::arena {
namespace {

const client::Resource kMpiOld{"kubeflow.org", "v1alpha1", "mpijobs"};
const client::Resource kMpiV1{"kubeflow.org", "v1", "mpijobs"};
const client::Resource kMpiNew{"kubeflow.org", "v2beta1", "mpijobs"};
const client::Resource kPytorchJobs{"kubeflow.org", "v1", "pytorchjobs"};
const client::Resource kTfJobs{"kubeflow.org", "v1", "tfjobs"};
const client::Resource kRayJobs{"ray.io", "v1", "rayjobs"};

}  // namespace

const std::vector<JobTypeInfo>& job_types() {
  static const std::vector<JobTypeInfo> types = {
      {JobType::kMpi, "mpijob", {"mpi", "mj"}, "MPIJob", kMpiOld, "mpi", "an MPI job"},
      {JobType::kPytorch, "pytorchjob", {"pytorch", "py"}, "PyTorchJob", kPytorchJobs, "pytorch", "a PyTorch job"},
      {JobType::kTf, "tfjob", {"tf", "tensorflow"}, "TFJob", kTfJobs, "tensorflow", "a TensorFlow job"},
      {JobType::kRay, "rayjob", {"rj", "ray"}, "RayJob", kRayJobs, "ray", "a Ray job"},
      // Roles of their own, discover_hosts.sh and a suspend field: what elastic training needs, v1alpha1 has not.
      {JobType::kEt, "etjob", {"et", "elastictraining"}, "MPIJob", kMpiNew, "mpi", "an elastic MPI job"},
      {JobType::kHorovod, "horovodjob", {"horovod", "hj"}, "MPIJob", kMpiOld, "mpi", "a Horovod job (an MPI job)"},
  };
  return types;
}

const JobTypeInfo& info_of(JobType type) {
  return job_types()[static_cast<std::size_t>(type)];
}

Result<JobType> job_type_of(std::string_view word) {
  const std::string asked = lower(word);
  std::string known;
  for (const JobTypeInfo& info : job_types()) {
    if (info.name == asked || std::find(info.words.begin(), info.words.end(), asked) != info.words.end())
      return info.type;
    known += fmt::format("{}{}({})", known.empty() ? "" : ",", info.words.front(), info.name);
  }
  return bad_request(fmt::format("--type: unsupported job type {}; supported are [{}]", word, known));
}

const std::vector<JobKind>& job_kinds() {
  static const std::vector<JobKind> kinds = {
      {"MPIJob", {kMpiOld, kMpiNew, kMpiV1}, JobType::kMpi},
      {"PyTorchJob", {kPytorchJobs}, JobType::kPytorch},
      {"TFJob", {kTfJobs}, JobType::kTf},
      {"RayJob", {kRayJobs}, JobType::kRay},
  };
  return kinds;
}

const JobKind* job_kind(std::string_view kind) {
  for (const JobKind& each : job_kinds())
    if (each.kind == kind) return &each;
  return nullptr;
}

std::string printed_resource(std::string_view kind, std::string_view api_version) {
  const std::string group = client::group_of(api_version);
  return group.empty() ? lower(kind) : lower(kind) + "." + group;
}

std::string trainer_of(JobType type) {
  return upper(info_of(type).name);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace gangway::cli::arena
