#include "controllers/job_state.h"

#include <algorithm>
#include <utility>

#include "api/conditions.h"

namespace gangway::controllers {
namespace {

std::optional<std::int64_t> number_at(const json::Value& tree, std::initializer_list<std::string_view> path) {
  const json::Value* value = json::find(tree, path);
  if (value == nullptr || value->is_null()) return std::nullopt;
  return json::integer_at(*value, {});
}

JobSpec read_spec(const json::Value& job) {
  JobSpec spec;
  spec.completions = number_at(job, {"spec", "completions"});
  spec.parallelism = json::integer_at(job, {"spec", "parallelism"}, 1);
  spec.backoff_limit = json::integer_at(job, {"spec", "backoffLimit"}, 6);
  spec.backoff_limit_per_index = number_at(job, {"spec", "backoffLimitPerIndex"});
  spec.max_failed_indexes = number_at(job, {"spec", "maxFailedIndexes"});
  spec.active_deadline_seconds = number_at(job, {"spec", "activeDeadlineSeconds"});
  spec.is_indexed = json::string_at(job, {"spec", "completionMode"}) == "Indexed" && spec.completions;
  spec.is_suspended = json::flag_at(job, {"spec", "suspend"});
  spec.has_failure_policy = json::find(job, {"spec", "podFailurePolicy"}) != nullptr;
  spec.replaces_only_failed =
      spec.has_failure_policy || json::string_at(job, {"spec", "podReplacementPolicy"}) == "Failed";
  spec.restarts_containers = json::string_at(job, {"spec", "template", "spec", "restartPolicy"}) == "OnFailure";
  return spec;
}

std::set<std::string> uids_at(const json::Value& job, std::string_view key) {
  std::set<std::string> uids;
  for (const json::Value& uid : json::array_at(job, {"status", "uncountedTerminatedPods", key}))
    if (uid.is_string()) uids.emplace(uid.get_string());
  return uids;
}

JobRecord read_record(const json::Value& job, const JobSpec& spec) {
  JobRecord record;
  if (const auto start = parse_rfc3339(json::string_at(job, {"status", "startTime"}))) record.start = *start;
  record.succeeded = json::integer_at(job, {"status", "succeeded"});
  record.failed = json::integer_at(job, {"status", "failed"});
  record.uncounted_succeeded = uids_at(job, "succeeded");
  record.uncounted_failed = uids_at(job, "failed");
  if (!spec.is_indexed) return record;
  record.succeeded_indexes = IndexSet::parse(json::string_at(job, {"status", "completedIndexes"}), *spec.completions);
  record.failed_indexes = IndexSet::parse(json::string_at(job, {"status", "failedIndexes"}), *spec.completions);
  return record;
}

// The last failure that its index may have.
bool ends_its_index(const JobState& job, const JobPod& pod) {
  if (!job.counts_as_failed(pod)) return false;
  if (job.spec.has_failure_policy) {
    const FailureVerdict verdict = judge_failure(job.tree, pod);
    if (verdict.action == FailureVerdict::Action::kFailIndex) return true;
    if (!verdict.is_counted()) return false;
  }
  return pod.facts->index_failures >= *job.spec.backoff_limit_per_index;
}

std::int64_t failures_before(const JobPod& pod) {
  return pod.facts->index_failures + pod.facts->ignored_index_failures;
}

std::map<std::int64_t, const JobPod*> indexes_to_retry(const JobState& job, const JobTally& tally) {
  std::set<std::int64_t> busy;
  for (const JobPod* pod : tally.active)
    if (pod->facts->index) busy.insert(*pod->facts->index);
  std::map<std::int64_t, const JobPod*> to_retry;
  for (const JobPod& pod : job.pods) {
    if (!pod.is_tracked() || !job.has_a_part(pod) || !job.counts_as_failed(pod)) continue;
    const std::int64_t index = *pod.facts->index;
    if (tally.succeeded_indexes.contains(index) || tally.failed_indexes.contains(index) || busy.contains(index))
      continue;
    const JobPod*& last = to_retry[index];
    if (last == nullptr || failures_before(*last) < failures_before(pod)) last = &pod;
  }
  return to_retry;
}

}  // namespace

JobState::JobState(api::Version job, json::Value document, std::vector<JobPod> its_pods)
    : version(std::move(job)),
      tree(std::move(document)),
      spec(read_spec(tree)),
      record(read_record(tree, spec)),
      pods(std::move(its_pods)),
      was_suspended(api::condition_is_true(tree, "Suspended")),
      is_ending(api::condition_is_true(tree, "FailureTarget") || api::condition_is_true(tree, "SuccessCriteriaMet")) {}

bool JobState::counts_as_failed(const JobPod& pod) const {
  if (pod.facts->phase == PodPhase::kFailed) return true;
  return !spec.replaces_only_failed && pod.is_terminating();
}

bool JobState::has_a_part(const JobPod& pod) const {
  return !spec.is_indexed || (pod.facts->index && *pod.facts->index < *spec.completions);
}

bool JobState::is_failure(const JobPod& pod) const {
  return counts_as_failed(pod) && (!spec.has_failure_policy || judge_failure(tree, pod).is_counted());
}

JobTally::JobTally(const JobState& job) {
  succeeded = job.record.succeeded + static_cast<std::int64_t>(job.record.uncounted_succeeded.size());
  failed = job.record.failed + static_cast<std::int64_t>(job.record.uncounted_failed.size());
  succeeded_indexes = job.record.succeeded_indexes;
  failed_indexes = job.record.failed_indexes;
  for (const JobPod& pod : job.pods) {
    if (pod.is_active()) {
      active.push_back(&pod);
      ready += pod.facts->ready ? 1 : 0;
    }
    terminating += pod.is_terminating() ? 1 : 0;
    if (!pod.is_tracked() || !job.has_a_part(pod)) continue;
    const std::string& uid = pod.header().uid;
    if (pod.has_succeeded()) {
      succeeded += job.record.uncounted_succeeded.contains(uid) ? 0 : 1;
      if (job.spec.is_indexed) succeeded_indexes.insert(*pod.facts->index);
    } else if (job.is_failure(pod) && !job.record.uncounted_failed.contains(uid)) {
      ++failed;
    }
    // Once it is ending, pods are deleted that have not failed by themselves.
    if (job.spec.backoff_limit_per_index && !job.is_ending && ends_its_index(job, pod))
      failed_indexes.insert(*pod.facts->index);
  }
  if (job.spec.is_indexed) succeeded = succeeded_indexes.size();
  if (job.spec.backoff_limit_per_index) to_retry = indexes_to_retry(job, *this);
}

}  // namespace gangway::controllers
