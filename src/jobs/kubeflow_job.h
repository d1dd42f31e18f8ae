// KubeflowJob: a job of kubeflow.org/v1 as one look sees it, and what its kind does its own way. Pure values.
//
// A kind is a KubeflowRules: one file pair that says what its pods are furnished with and when the job has failed or
// succeeded. All else (pods, Services, PodGroup, suspension, limits, preemption, status) is the same for all of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kubeflow.h"
#include "api/object.h"
#include "client/action.h"
#include "client/view.h"
#include "controllers/owned.h"
#include "jobs/job_record.h"
#include "jobs/pod_groups.h"
#include "jobs/replica_spec.h"
#include "jobs/run_policy.h"

namespace gangway::jobs {

struct KubeflowJob;
struct ReplicaPod;

// How many Workers an elastic job runs with.
struct Elasticity {
  std::int64_t minimum = 1;
  std::int64_t maximum = 1;
};

// The pods of one type, counted. A pod that waits counts nowhere; one that runs and is told to end has failed.
struct ReplicaTally {
  std::int64_t active = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::int64_t replacing = 0;        // of those that failed: to be made again, as their restart policy says
  std::int64_t evicted = 0;          // of those that failed and are not replaced: a node had no room for them
  bool has_first_succeeded = false;  // the pod of index 0
  // Of a Launcher that a Job makes: why it has failed, as the Job says it.
  std::string reason = {};
  std::string message = {};
};
using Tallies = std::map<std::string, ReplicaTally, std::less<>>;  // by type; all types of the job

// What a kind concludes from the tallies: conditions that are true, in the order in which they are set. Running and
// Restarting put each other out, so that one of them at most is among them.
struct Finding {
  std::string_view type;
  std::string message;
  std::string reason = {};  // empty: the kind and the type
};

// What is told about a job: {0} is its kind, {1} its namespace, {2} its name.
struct Wording {
  const char* created = "{0} {2} is created.";
  const char* suspended = "{0} {2} is suspended.";
  const char* resumed = "{0} {2} is resumed.";
};

struct KubeflowRules {
  const api::KubeflowKind& kind;
  client::Resource resource;
  std::optional<Elasticity> (*elasticity)(const json::Value& job, const std::vector<ReplicaSpec>& replicas);
  // Adds to the pod what makes it find the others.
  void (*furnish)(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index, json::Value& pod);
  std::vector<Finding> (*judge)(const KubeflowJob& job, const Tallies& tallies);

  bool has_services = true;   // each pod has one of its name
  bool fails_by_loss = true;  // a pod that runs and is told to end has failed; otherwise it is just made again
  // Keeps what the job has beside its pods; false while some of it is not there, and pods have to wait.
  bool (*keep_belongings)(const KubeflowJob& job, const std::vector<ReplicaPod>& pods, const client::View& view,
                          std::vector<client::Action>& actions) = nullptr;
  // Not null: the Launcher's pods are made by this batch/v1 Job, which keeps the job's limits; nothing while it is too
  // early for it.
  std::optional<json::Value> (*launcher)(const KubeflowJob& job, const std::vector<ReplicaPod>& pods) = nullptr;
  Wording wording = {};
};

struct KubeflowJob {
  KubeflowJob(const KubeflowRules& its_rules, api::Version job, json::Value document);

  const KubeflowRules& rules;
  api::Version version;
  json::Value tree;
  RunPolicy policy;
  std::vector<ReplicaSpec> replicas;
  std::optional<Elasticity> elastic;
  JobRecord record;
  bool is_gang = true;
  OnPreempt on_preempt = OnPreempt::kFail;
  // Of MPIJobs.
  bool launches_late = false;       // the Launcher is made when the Workers are ready
  bool launcher_is_worker = false;  // and counted as the first of them

  const std::string& name() const { return version.header->name.name; }
  const std::string& ns() const { return version.header->name.ns; }
  controllers::Owner owner() const { return {rules.resource, std::string(rules.kind.kind), version}; }
  const ReplicaSpec* find(std::string_view type) const;
  const ReplicaSpec* find_role(std::string_view role) const;
  std::int64_t total() const;
  // "<job>-worker-0": of the pod, and of the Service that leads to it.
  std::string pod_name(const ReplicaSpec& spec, std::int64_t index) const;
  std::vector<std::string> pod_names(const ReplicaSpec& spec) const;
  // Its pods are made by a Job.
  bool is_by_job(const ReplicaSpec& spec) const { return rules.launcher != nullptr && spec.type == api::kLauncher; }
  // What is told about it: see Wording.
  std::string told(const char* words) const;
  // The one that the others cannot do without: the Launcher, Chief or Master, else the first Worker.
  bool is_chief(const ReplicaSpec& spec, std::int64_t index) const;
  // What its PodGroup should say when so many pods have done their part already.
  GangWish gang_wish(std::int64_t succeeded = 0) const;
};

// Labels of all pods of a type, and of one of them.
json::Object replica_labels(const KubeflowJob& job, const ReplicaSpec& spec);
json::Object replica_labels(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index);
// The index of a pod of the type with such labels; -1 when they do not say it.
std::int64_t replica_index(const KubeflowJob& job, const ReplicaSpec& spec, const api::Header& pod);
// As text: "a=b,c=d".
std::string selector_text(const json::Object& labels);

}  // namespace gangway::jobs
