#include "controllers/job_verdict.h"

#include <algorithm>

#include "api/conditions.h"

namespace gangway::controllers {
namespace {

using Kind = JobVerdict::Kind;

std::optional<JobVerdict> recorded(const JobState& job, Kind kind) {
  JobVerdict verdict{kind, "", "", true};
  const json::Object* found = api::find_condition(job.tree, verdict.interim());
  if (found == nullptr) return std::nullopt;
  const json::Value condition(*found);
  if (json::string_at(condition, {"status"}) != "True") return std::nullopt;
  verdict.reason = json::string_at(condition, {"reason"});
  verdict.message = json::string_at(condition, {"message"});
  return verdict;
}

std::optional<std::string> policy_failure(const JobState& job) {
  if (!job.spec.has_failure_policy) return std::nullopt;
  for (const JobPod& pod : job.pods) {
    if (!job.counts_as_failed(pod)) continue;
    FailureVerdict verdict = judge_failure(job.tree, pod);
    if (verdict.action == FailureVerdict::Action::kFailJob) return std::move(verdict.message);
  }
  return std::nullopt;
}

// Pods that restart their containers fail by restarting too often.
bool restarts_too_often(const JobState& job) {
  if (!job.spec.restarts_containers) return false;
  std::int64_t restarts = 0;
  for (const JobPod& pod : job.pods)
    if (pod.facts->phase == PodPhase::kRunning || pod.facts->phase == PodPhase::kPending)
      restarts += pod.facts->restarts;
  return restarts >= std::max<std::int64_t>(job.spec.backoff_limit, 1);
}

std::optional<JobVerdict> index_failure(const JobState& job, const JobTally& tally) {
  if (!job.spec.backoff_limit_per_index) return std::nullopt;
  const std::int64_t failed = tally.failed_indexes.size();
  if (job.spec.max_failed_indexes && failed > *job.spec.max_failed_indexes)
    return JobVerdict{Kind::kFails, "MaxFailedIndexesExceeded",
                      "Job has exceeded the specified maximal number of failed indexes"};
  if (failed > 0 && failed + tally.succeeded_indexes.size() >= *job.spec.completions)
    return JobVerdict{Kind::kFails, "FailedIndexes", "Job has failed indexes"};
  return std::nullopt;
}

bool is_complete(const JobState& job, const JobTally& tally) {
  if (!tally.active.empty()) return false;
  // Without completions, the first pod that succeeds says that the work is done.
  return job.spec.completions ? tally.succeeded >= *job.spec.completions : tally.succeeded > 0;
}

}  // namespace

std::optional<WallTime> deadline_of(const JobState& job) {
  // What is resumed begins anew.
  if (!job.spec.active_deadline_seconds || !job.record.start || job.spec.is_suspended || job.was_suspended)
    return std::nullopt;
  constexpr std::int64_t kCentury = 100LL * 365 * 24 * 3600;
  return *job.record.start + std::chrono::seconds(std::min(*job.spec.active_deadline_seconds, kCentury));
}

JobVerdict judge(const JobState& job, const JobTally& tally, WallTime now) {
  for (const Kind kind : {Kind::kSucceeds, Kind::kFails})
    if (const auto known = recorded(job, kind)) return *known;
  if (const auto message = policy_failure(job)) return {Kind::kFails, "PodFailurePolicy", *message};
  if (tally.failed > job.spec.backoff_limit || restarts_too_often(job))
    return {Kind::kFails, "BackoffLimitExceeded", "Job has reached the specified backoff limit"};
  if (const auto deadline = deadline_of(job); deadline && *deadline <= now)
    return {Kind::kFails, "DeadlineExceeded", "Job was active longer than specified deadline"};
  if (job.spec.is_indexed) {
    if (const auto failure = index_failure(job, tally)) return *failure;
    if (const auto rule = fulfilled_success_rule(job.tree, *job.spec.completions, tally.succeeded_indexes))
      return {Kind::kSucceeds, "SuccessPolicy", *rule};
  }
  if (is_complete(job, tally))
    return {Kind::kSucceeds, "CompletionsReached", "Reached expected number of succeeded pods"};
  return {};
}

}  // namespace gangway::controllers
