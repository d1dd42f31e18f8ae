#include "controllers/job_attempts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "api/gang.h"
#include "api/owner.h"
#include "controllers/job_gang.h"
#include "controllers/pod_names.h"
#include "controllers/pod_ranking.h"

namespace gangway::controllers {
namespace {

// With more failures than this the back-off is the longest anyway.
constexpr std::size_t kMostRemembered = 16;
// Of a name before its last dash and letters: the index must not be cut off.
constexpr std::size_t kLongestBase = 57;

std::vector<const JobPod*> ranked(std::vector<const JobPod*> pods, WallTime now) {
  std::vector<Replica> replicas;
  std::map<std::string, const JobPod*> by_uid;
  for (const JobPod* pod : pods) {
    replicas.push_back({pod->version, std::make_shared<const PodFacts>(read_pod(pod->version))});
    by_uid.emplace(pod->header().uid, pod);
  }
  sort_for_deletion(replicas, now);
  std::vector<const JobPod*> sorted;
  for (const Replica& replica : replicas) sorted.push_back(by_uid.at(replica.pod.header->uid));
  // Of those that the Job has let go of already nothing counts any more.
  std::stable_partition(sorted.begin(), sorted.end(), [](const JobPod* pod) { return !pod->is_tracked(); });
  return sorted;
}

bool has_misplaced(const JobState& job, const JobTally& tally) {
  if (!job.spec.is_indexed) return false;
  std::set<std::int64_t> taken;
  return !std::all_of(tally.active.begin(), tally.active.end(), [&](const JobPod* pod) {
    return job.has_a_part(*pod) && taken.insert(*pod->facts->index).second;
  });
}

// Moves those that have no index of their own from `pods` to the result. Of several the one that would go last stays.
std::vector<const JobPod*> take_misplaced(const JobState& job, std::vector<const JobPod*>& pods) {
  std::vector<const JobPod*> misplaced;
  std::vector<const JobPod*> kept;
  std::set<std::int64_t> taken;
  for (auto at = pods.rbegin(); at != pods.rend(); ++at) {
    const bool is_first = job.has_a_part(**at) && taken.insert(*(*at)->facts->index).second;
    (is_first ? kept : misplaced).push_back(*at);
  }
  std::reverse(kept.begin(), kept.end());
  pods = std::move(kept);
  return misplaced;
}

void add_environment(json::Value& pod) {
  for (const char* list : {"initContainers", "containers"}) {
    json::Value* containers = json::find(pod, {"spec", list});
    if (containers == nullptr || !containers->is_array()) continue;
    for (json::Value& container : containers->get_array()) {
      if (!container.is_object()) continue;
      const json::Array& known = json::array_at(container, {"env"});
      if (std::any_of(known.begin(), known.end(), [](const json::Value& variable) {
            return json::string_at(variable, {"name"}) == "JOB_COMPLETION_INDEX";
          }))
        continue;
      json::Value& env = container.get_object()["env"];
      if (!env.is_array()) env = json::Array();
      json::Object field{{"fieldPath", fmt::format("metadata.labels['{}']", kIndexKey)}};
      env.get_array().push_back(
          json::Object{{"name", "JOB_COMPLETION_INDEX"}, {"valueFrom", json::Object{{"fieldRef", std::move(field)}}}});
    }
  }
}

// What the next attempt is told of those before it.
void add_failures(const JobState& job, const JobPod* before, json::Object& annotations) {
  std::int64_t failures = 0;
  std::int64_t ignored = 0;
  if (before != nullptr) {
    failures = before->facts->index_failures;
    ignored = before->facts->ignored_index_failures;
    ++(job.is_failure(*before) ? failures : ignored);
  }
  annotations[kIndexFailures] = std::to_string(failures);
  if (ignored > 0) annotations[kIgnoredIndexFailures] = std::to_string(ignored);
}

}  // namespace

void FailureHistory::observe(const JobState& job) {
  for (const JobPod& pod : job.pods) {
    if (pod.has_succeeded()) {
      last_success_ = std::max(last_success_.value_or(pod.facts->ended), pod.facts->ended);
    } else if (job.counts_as_failed(pod)) {
      failures_.try_emplace(pod.header().uid, pod.facts->ended);
    }
  }
  if (last_success_) std::erase_if(failures_, [&](const auto& failure) { return failure.second <= *last_success_; });
  while (failures_.size() > kMostRemembered) {
    failures_.erase(std::min_element(failures_.begin(), failures_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; }));
  }
}

std::optional<WallTime> FailureHistory::next_attempt() const {
  if (failures_.empty()) return std::nullopt;
  const auto last = std::max_element(failures_.begin(), failures_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return last->second + backoff_after(static_cast<std::int64_t>(failures_.size()));
}

std::int64_t wanted_active(const JobState& job, const JobTally& tally) {
  if (job.spec.is_suspended) return 0;
  if (!job.spec.completions)
    return tally.succeeded > 0 ? static_cast<std::int64_t>(tally.active.size()) : job.spec.parallelism;
  return std::clamp<std::int64_t>(*job.spec.completions - tally.succeeded, 0,
                                  std::max<std::int64_t>(0, job.spec.parallelism));
}

std::vector<const JobPod*> surplus_pods(const JobState& job, const JobTally& tally, std::int64_t wanted, WallTime now) {
  const std::int64_t too_many = static_cast<std::int64_t>(tally.active.size()) - wanted;
  if (too_many <= 0 && !has_misplaced(job, tally)) return {};
  std::vector<const JobPod*> rest = ranked(tally.active, now);
  std::vector<const JobPod*> surplus;
  if (job.spec.is_indexed) surplus = take_misplaced(job, rest);
  for (const JobPod* pod : rest) {
    if (static_cast<std::int64_t>(surplus.size()) >= too_many) break;
    surplus.push_back(pod);
  }
  return surplus;
}

IndexPlan next_indexes(const JobState& job, const JobTally& tally, std::int64_t count, WallTime now) {
  IndexSet taken = tally.succeeded_indexes;
  taken.insert(tally.failed_indexes);
  for (const JobPod& pod : job.pods) {
    const bool holds = pod.is_active() || (job.spec.replaces_only_failed && pod.is_terminating());
    if (holds && pod.facts->index) taken.insert(*pod.facts->index);
  }
  IndexPlan plan;
  const std::int64_t enough = count + static_cast<std::int64_t>(tally.to_retry.size());
  for (const std::int64_t index : taken.missing(enough, *job.spec.completions)) {
    if (static_cast<std::int64_t>(plan.now.size()) >= count) break;
    const auto failed = tally.to_retry.find(index);
    const JobPod* before = failed == tally.to_retry.end() ? nullptr : failed->second;
    if (before != nullptr) {
      const std::int64_t failures = before->facts->index_failures + before->facts->ignored_index_failures + 1;
      const WallTime due = before->facts->ended + backoff_after(failures);
      if (due > now) {
        plan.later = std::min(plan.later.value_or(due), due);
        continue;
      }
    }
    plan.now.push_back({index, before});
  }
  return plan;
}

json::Value job_pod(const JobState& job, const std::string& name) {
  const json::Value* pod_template = json::find(job.tree, {"spec", "template"});
  const api::Header& header = *job.version.header;
  json::Value pod = pod_from_template(pod_template == nullptr ? json::Value(json::Object()) : *pod_template,
                                      {header.name.ns, name}, api::controller_reference("batch/v1", "Job", header));
  json::Value& finalizers = json::object_at(pod, {"metadata"})["finalizers"];
  if (!finalizers.is_array()) finalizers = json::Array();
  json::Array& list = finalizers.get_array();
  if (std::find(list.begin(), list.end(), json::Value(kTrackingFinalizer)) == list.end())
    list.push_back(json::Value(kTrackingFinalizer));
  if (is_gang(job.tree)) json::object_at(pod, {"metadata", "labels"})[api::kPodGroupLabel] = header.name.name;
  return pod;
}

json::Value indexed_job_pod(const JobState& job, const std::string& name, const IndexAttempt& attempt) {
  json::Value pod = job_pod(job, name);
  const std::string& job_name = job.version.header->name.name;
  const std::string index = std::to_string(attempt.index);
  json::object_at(pod, {"metadata"})["generateName"] = fmt::format("{}-{}-", job_name, index);
  json::object_at(pod, {"metadata", "labels"})[kIndexKey] = index;
  json::object_at(pod, {"metadata", "annotations"})[kIndexKey] = index;
  if (job.spec.backoff_limit_per_index)
    add_failures(job, attempt.after, json::object_at(pod, {"metadata", "annotations"}));
  json::object_at(pod, {"spec"})["hostname"] = fmt::format("{}-{}", job_name, index);
  add_environment(pod);
  return pod;
}

std::string indexed_pod_name(const JobState& job, std::int64_t index) {
  const std::string suffix = fmt::format("-{}", index);
  const std::string base = job.version.header->name.name.substr(0, kLongestBase - suffix.size()) + suffix;
  // The uid alone would give the pods of all indexes the same last letters.
  const PodNames names(base, fmt::format("{}/{}", job.version.header->uid, index));
  std::uint64_t next = 0;
  for (const JobPod& pod : job.pods) {
    if (pod.facts->index != index) continue;
    if (const auto number = names.number(pod.header().name.name)) next = std::max(next, *number + 1);
  }
  return names.name(next);
}

}  // namespace gangway::controllers
