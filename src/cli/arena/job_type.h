// The types of training jobs as Arena names them, and the kinds that stand behind them. Pure.
//
// Several types may be one kind: an etjob is an elastic MPIJob, a horovodjob an MPIJob.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/api_client.h"

namespace gangway::cli::arena {

enum class JobType : std::uint8_t { kMpi, kPytorch, kTf, kRay, kEt, kHorovod };

struct JobTypeInfo {
  JobType type;
  std::string_view name;                // "mpijob": in -T, in records and labels
  std::vector<std::string_view> words;  // the others that mean it
  std::string_view kind;                // "MPIJob"
  client::Resource resource;            // what is created
  std::string_view container;           // of the pods' main container
  std::string_view about;               // for help
};

const std::vector<JobTypeInfo>& job_types();
const JobTypeInfo& info_of(JobType type);
// By name or any other word, in any case; an error lists those that there are.
Result<JobType> job_type_of(std::string_view word);

// A kind of training job, and the versions under which a server may serve it, the preferred one first.
struct JobKind {
  std::string_view kind;
  std::vector<client::Resource> resources;
  JobType type;  // of one that does not say more
};
const std::vector<JobKind>& job_kinds();
const JobKind* job_kind(std::string_view kind);

// "mpijob.kubeflow.org": how a line about an object begins.
std::string printed_resource(std::string_view kind, std::string_view api_version);
// "MPIJOB"
std::string trainer_of(JobType type);

std::string lower(std::string_view text);
std::string upper(std::string_view text);

}  // namespace gangway::cli::arena
