#include "controllers/job_status.h"

#include <algorithm>
#include <utility>

#include "client/resource.h"

namespace gangway::controllers {
namespace {

using client::Emit;
using client::EventType;
using Kind = JobVerdict::Kind;

// More uids than this are not on record at once: a status must not grow without bound.
constexpr std::size_t kMostUncounted = 500;

enum class Ending : std::uint8_t {
  kNone,       // it goes on, or its end is not to be counted yet
  kUnnoticed,  // it ends without counting as anything
  kSucceeded,
  kFailed,
};

// As what a pod with its finalizer on is counted.
Ending ending_of(const JobState& job, const JobTally& tally, const JobVerdict& verdict, const JobPod& pod) {
  const bool was_failed = job.record.uncounted_failed.contains(pod.header().uid);
  if (pod.has_succeeded() && !was_failed) return job.has_a_part(pod) ? Ending::kSucceeded : Ending::kUnnoticed;
  const bool is_over = verdict.kind != Kind::kGoesOn;
  const bool has_failed = job.counts_as_failed(pod);
  if (!has_failed && !is_over) return Ending::kNone;
  if (has_failed && !is_over && job.spec.backoff_limit_per_index && pod.facts->index) {
    const auto kept = tally.to_retry.find(*pod.facts->index);
    if (kept != tally.to_retry.end() && kept->second->header().uid == pod.header().uid) return Ending::kNone;
  }
  // Of a Job that fails every pod fails; of one that succeeds early the rest is not needed.
  if (!has_failed && verdict.kind == Kind::kSucceeds) return Ending::kUnnoticed;
  if (!job.has_a_part(pod)) return Ending::kUnnoticed;
  return job.spec.has_failure_policy && !judge_failure(job.tree, pod).is_counted() ? Ending::kUnnoticed
                                                                                   : Ending::kFailed;
}

bool is_on_record(const JobState& job, const JobTally& tally, const JobPod& pod, Ending ending) {
  const bool ends_index = job.spec.is_indexed && pod.facts->index && tally.failed_indexes.contains(*pod.facts->index);
  if (ends_index && !job.record.failed_indexes.contains(*pod.facts->index)) return false;
  switch (ending) {
    case Ending::kNone:
      return false;
    case Ending::kUnnoticed:
      return true;
    case Ending::kSucceeded:
      return job.spec.is_indexed ? job.record.succeeded_indexes.contains(*pod.facts->index)
                                 : job.record.uncounted_succeeded.contains(pod.header().uid);
    case Ending::kFailed:
      return job.record.uncounted_failed.contains(pod.header().uid);
  }
  return false;
}

struct Counters {
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::vector<std::string> uncounted_succeeded;
  std::vector<std::string> uncounted_failed;

  std::size_t uncounted() const { return uncounted_succeeded.size() + uncounted_failed.size(); }
};

// What is let go of is counted; what is still held stays uncounted; what has ended since is added.
Counters next_counters(const JobState& job, const JobTally& tally, const JobVerdict& verdict) {
  std::set<std::string> tracked;
  for (const JobPod& pod : job.pods)
    if (pod.is_tracked()) tracked.insert(pod.header().uid);
  Counters next{job.record.succeeded, job.record.failed, {}, {}};
  const auto settle = [&](const std::set<std::string>& uids, std::vector<std::string>& rest, std::int64_t& counter) {
    for (const std::string& uid : uids) {
      if (tracked.contains(uid)) {
        rest.push_back(uid);
      } else {
        ++counter;
      }
    }
  };
  settle(job.record.uncounted_succeeded, next.uncounted_succeeded, next.succeeded);
  settle(job.record.uncounted_failed, next.uncounted_failed, next.failed);
  for (const JobPod& pod : job.pods) {
    if (next.uncounted() >= kMostUncounted) break;
    const std::string& uid = pod.header().uid;
    if (!pod.is_tracked() || job.record.uncounted_succeeded.contains(uid) || job.record.uncounted_failed.contains(uid))
      continue;
    const Ending ending = ending_of(job, tally, verdict, pod);
    if (ending == Ending::kFailed) next.uncounted_failed.push_back(uid);
    if (ending == Ending::kSucceeded && !job.spec.is_indexed) next.uncounted_succeeded.push_back(uid);
  }
  if (job.spec.is_indexed) next.succeeded = tally.succeeded_indexes.size();
  return next;
}

json::Value uids(const Counters& counters) {
  json::Object object;
  const auto put = [&](const char* key, const std::vector<std::string>& list) {
    if (!list.empty()) object[key] = json::Array(list.begin(), list.end());
  };
  put("succeeded", counters.uncounted_succeeded);
  put("failed", counters.uncounted_failed);
  return object;
}

class Conditions {
 public:
  Conditions(json::Array list, WallTime now) : list_(std::move(list)), now_(to_rfc3339(now)) {}

  // True when that is news. A condition that is not there is as good as False.
  bool set(const char* type, bool status, std::string_view reason, std::string_view message) {
    const char* text = status ? "True" : "False";
    json::Value* present = nullptr;
    for (json::Value& item : list_)
      if (json::string_at(item, {"type"}) == type) present = &item;
    if (present == nullptr && !status) return false;
    if (present != nullptr && json::string_at(*present, {"status"}) == text) return false;
    if (present == nullptr) present = &list_.emplace_back(json::Object{{"type", type}});
    json::Object& condition = present->as_object();
    condition["status"] = text;
    condition["lastProbeTime"] = now_;
    condition["lastTransitionTime"] = now_;
    condition["reason"] = reason;
    condition["message"] = message;
    return true;
  }
  const json::Array& list() const { return list_; }

 private:
  json::Array list_;
  std::string now_;
};

Emit event(const JobState& job, EventType type, std::string reason, std::string message) {
  return {client::subject_of(client::resources::kJobs, "Job", job.version), type, std::move(reason),
          std::move(message)};
}

void put_or_erase(json::Object& object, const char* key, std::int64_t number) {
  if (number == 0) {
    object.erase(key);
  } else {
    object[key] = number;
  }
}

void write_counters(const JobState& job, const JobTally& tally, const Counters& counters, json::Object& status) {
  put_or_erase(status, "active", static_cast<std::int64_t>(tally.active.size()));
  put_or_erase(status, "succeeded", counters.succeeded);
  put_or_erase(status, "failed", counters.failed);
  status["ready"] = tally.ready;
  status["terminating"] = tally.terminating;
  status["uncountedTerminatedPods"] = uids(counters);
  if (!job.spec.is_indexed) return;
  if (tally.succeeded_indexes.empty()) {
    status.erase("completedIndexes");
  } else {
    status["completedIndexes"] = tally.succeeded_indexes.to_string();
  }
  if (job.spec.backoff_limit_per_index) status["failedIndexes"] = tally.failed_indexes.to_string();
}

// Everything that belonged to it has ended and is counted.
bool is_settled(const JobState& job, const JobTally& tally, const JobVerdict& verdict, const Counters& counters) {
  if (verdict.kind == Kind::kGoesOn || !tally.active.empty() || tally.terminating > 0 || counters.uncounted() > 0)
    return false;
  return std::none_of(job.pods.begin(), job.pods.end(), [](const JobPod& pod) { return pod.is_tracked(); });
}

std::optional<Emit> write_suspension(const JobState& job, Conditions& conditions, json::Object& status, WallTime now) {
  if (job.spec.is_suspended) {
    if (!conditions.set("Suspended", true, "JobSuspended", "Job suspended")) return std::nullopt;
    return event(job, EventType::kNormal, "Suspended", "Job suspended");
  }
  if (!conditions.set("Suspended", false, "JobResumed", "Job resumed")) return std::nullopt;
  // How long it may be active counts from now.
  status["startTime"] = to_rfc3339(now);
  return event(job, EventType::kNormal, "Resumed", "Job resumed");
}

}  // namespace

std::vector<const JobPod*> pods_to_let_go(const JobState& job, const JobTally& tally, const JobVerdict& verdict) {
  std::vector<const JobPod*> free;
  // Why the Job ends must be on record before the pods that say so may go.
  if (verdict.kind != Kind::kGoesOn && !verdict.is_recorded) return free;
  for (const JobPod& pod : job.pods) {
    if (pod.is_tracked() && is_on_record(job, tally, pod, ending_of(job, tally, verdict, pod))) free.push_back(&pod);
  }
  return free;
}

NextStatus next_status(const JobState& job, const JobTally& tally, const JobVerdict& verdict, WallTime now) {
  NextStatus next{json::map_at(job.tree, {"status"}), std::nullopt};
  json::Object& status = next.status.as_object();
  if (!job.record.start && !job.spec.is_suspended) status["startTime"] = to_rfc3339(now);
  const Counters counters = next_counters(job, tally, verdict);
  write_counters(job, tally, counters, status);
  Conditions conditions(json::array_at(job.tree, {"status", "conditions"}), now);
  if (verdict.kind == Kind::kGoesOn) {
    next.event = write_suspension(job, conditions, status, now);
  } else {
    conditions.set(verdict.interim(), true, verdict.reason, verdict.message);
    if (verdict.is_recorded && is_settled(job, tally, verdict, counters)) {
      conditions.set(verdict.final(), true, verdict.reason, verdict.message);
      if (verdict.kind == Kind::kSucceeds) status["completionTime"] = to_rfc3339(now);
      next.event = verdict.kind == Kind::kSucceeds ? event(job, EventType::kNormal, "Completed", "Job completed")
                                                   : event(job, EventType::kWarning, verdict.reason, verdict.message);
    }
  }
  if (!conditions.list().empty()) status["conditions"] = conditions.list();
  return next;
}

}  // namespace gangway::controllers
