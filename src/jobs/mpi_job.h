// MpiJob: an MPIJob of kubeflow.org/v1alpha1 as one look sees it. A pure value.
//
// Such a job has one template for both of its roles. Its workers sleep, as a StatefulSet; its launcher, a batch/v1 Job,
// is made when all of them are ready, and starts processes in them through the API. It does not say what these objects
// look like (mpi_objects.h), nor what is done about them (mpi_look.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"
#include "client/api_client.h"
#include "controllers/owned.h"
#include "jobs/job_record.h"
#include "jobs/mpi_access.h"
#include "jobs/pod_groups.h"
#include "jobs/run_policy.h"
#include "json/value.h"

namespace gangway::jobs {

inline constexpr std::string_view kMpiKind = "MPIJob";
// All of them, whatever their generation: it is one resource.
const client::Resource& mpi_jobs();

// The workers: how many, and what one of them has of the resource that they are counted by.
struct MpiWorkers {
  std::int64_t count = 1;
  std::int64_t units = 0;
  std::string resource = "nvidia.com/gpu";
  bool is_by_units = false;  // the job says a sum of units, and the template need not ask for them
  std::int64_t slots = 1;    // processes that each is good for
};
MpiWorkers read_mpi_workers(const json::Value& job);

struct MpiJob {
  MpiJob(api::Version job, json::Value document);

  api::Version version;
  json::Value tree;
  MpiWorkers workers;
  RunPolicy policy;
  bool keeps_workers = false;  // when it has finished
  JobRecord record;
  bool is_gang = true;
  OnPreempt on_preempt = OnPreempt::kFail;

  const std::string& name() const { return version.header->name.name; }
  const std::string& ns() const { return version.header->name.ns; }
  controllers::Owner owner() const { return {mpi_jobs(), std::string(kMpiKind), version}; }
  const json::Value& pod_template() const;

  // Of the Job, and of what its pod is allowed by.
  std::string launcher_name() const { return mpi_launcher_name(name()); }
  std::string worker_set_name() const { return name() + "-worker"; }
  std::vector<std::string> worker_names() const;
};

}  // namespace gangway::jobs
