// JobState: a Job and its pods as one look sees them, and what follows from them by counting. Pure values.
//
// A pod is counted in three steps, each of which is durable before the next, so that none is lost or counted twice
// whatever happens to it in between:
//
//   ended, finalizer on ──► its uid is in status.uncountedTerminatedPods
//                       ──► finalizer off
//                       ──► uid out of there, counter up: one write
//
// An Indexed Job needs no uids for what succeeded: the index in completedIndexes says it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/index_set.h"
#include "controllers/job_pod.h"
#include "controllers/job_policies.h"
#include "json/value.h"

namespace gangway::controllers {

struct JobSpec {
  std::int64_t parallelism = 1;
  std::optional<std::int64_t> completions;
  std::int64_t backoff_limit = 6;
  std::optional<std::int64_t> backoff_limit_per_index;
  std::optional<std::int64_t> max_failed_indexes;
  std::optional<std::int64_t> active_deadline_seconds;
  bool is_indexed = false;
  bool is_suspended = false;
  bool has_failure_policy = false;
  // Pods that are being deleted are replaced only once they have failed, and count as failed only then.
  bool replaces_only_failed = false;
  bool restarts_containers = false;  // restartPolicy OnFailure
};

// What status says has been counted.
struct JobRecord {
  std::optional<WallTime> start;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::set<std::string> uncounted_succeeded;  // uids
  std::set<std::string> uncounted_failed;
  IndexSet succeeded_indexes;
  IndexSet failed_indexes;
};

struct JobState {
  JobState(api::Version job, json::Value document, std::vector<JobPod> its_pods);

  api::Version version;
  json::Value tree;
  JobSpec spec;
  JobRecord record;
  std::vector<JobPod> pods;  // in the order of names

  // On record: that it was suspended (and not yet that it goes on again), that it is to end.
  bool was_suspended = false;
  bool is_ending = false;

  bool counts_as_failed(const JobPod& pod) const;
  // Of an Indexed Job: its index is one of the completions. Of others: always.
  bool has_a_part(const JobPod& pod) const;
  // A failed pod that the failure policy does not ignore.
  bool is_failure(const JobPod& pod) const;
};

// Counted and uncounted, recorded and new.
struct JobTally {
  explicit JobTally(const JobState& job);

  std::vector<const JobPod*> active;
  std::int64_t ready = 0;
  std::int64_t terminating = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  IndexSet succeeded_indexes;
  IndexSet failed_indexes;
  // With a back-off limit per index: the failed pod of an index that is to be tried again. It knows how often the index
  // has failed, so it keeps its finalizer until its successor, which is told, is there.
  std::map<std::int64_t, const JobPod*> to_retry;
};

}  // namespace gangway::controllers
