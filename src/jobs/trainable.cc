#include "jobs/trainable.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/conditions.h"
#include "api/pod_phase.h"
#include "jobs/job_conditions.h"

namespace gangway::jobs {
namespace {

json::Value patch_at(const std::vector<std::string>& path, json::Value value) {
  for (auto step = path.rbegin(); step != path.rend(); ++step) value = json::Object{{*step, std::move(value)}};
  return value;
}

}  // namespace

std::string_view to_text(Phase phase) {
  switch (phase) {
    case Phase::kSuspended:
      return "Suspended";
    case Phase::kQueued:
      return "Queued";
    case Phase::kStarting:
      return "Starting";
    case Phase::kRunning:
      return "Running";
    case Phase::kRestarting:
      return "Restarting";
    case Phase::kSucceeded:
      return "Succeeded";
    case Phase::kFailed:
      return "Failed";
  }
  return "";
}

const ReplicaSet* Trainable::find(std::string_view role) const {
  const auto found = std::find_if(replicas.begin(), replicas.end(), [&](const auto& set) { return set.role == role; });
  return found == replicas.end() ? nullptr : &*found;
}

std::int64_t Trainable::wish() const {
  std::int64_t sum = 0;
  for (const ReplicaSet& set : replicas) sum += set.wish;
  return sum;
}

std::int64_t Trainable::granted() const {
  std::int64_t sum = 0;
  for (const ReplicaSet& set : replicas) sum += set.granted;
  return sum;
}

Offer Trainable::offer() const {
  Offer offer{.suspend = !suspend_at.empty() && !is_suspended && !is_over(), .when_preempted = on_preempt};
  if (is_over() || is_suspended) return offer;
  for (const ReplicaSet& set : replicas)
    if (set.is_elastic()) offer.shrink_by += std::max<std::int64_t>(0, set.granted - set.minimum);
  return offer;
}

Result<json::Value> Trainable::suspend(bool suspended) const {
  if (suspend_at.empty()) return bad_request(fmt::format("a {} cannot be suspended", kind));
  if (is_over()) return bad_request(fmt::format("{} {}/{} has finished", kind, name.ns, name.name));
  return patch_at(suspend_at, suspended);
}

Result<json::Value> Trainable::resize(std::string_view role, std::int64_t count) const {
  const ReplicaSet* set = find(role);
  if (set == nullptr) return bad_request(fmt::format("{} {}/{} has no {} pods", kind, name.ns, name.name, role));
  if (set->resize_at.empty())
    return bad_request(fmt::format("the number of {} pods of a {} cannot be changed", role, kind));
  if (count < 0) return bad_request(fmt::format("the number of {} pods must be at least 0 (got {})", role, count));
  return patch_at(set->resize_at, count);
}

std::int64_t count_granted(const std::vector<api::Version>& pods, std::string_view label, std::string_view value) {
  return std::count_if(pods.begin(), pods.end(), [&](const api::Version& pod) {
    const api::Header& header = *pod.header;
    return (label.empty() || header.label(label) == value) && !header.field("spec.nodeName").empty() &&
           !header.deleting_since && !api::has_ended(header);
  });
}

Phase phase_by_conditions(const json::Value& job, bool is_suspended, std::int64_t granted) {
  if (api::condition_is_true(job, kJobFailed)) return Phase::kFailed;
  if (api::condition_is_true(job, kJobSucceeded)) return Phase::kSucceeded;
  if (is_suspended) return Phase::kSuspended;
  if (granted == 0) return Phase::kQueued;
  if (api::condition_is_true(job, kJobRunning)) return Phase::kRunning;
  return api::condition_is_true(job, kJobRestarting) ? Phase::kRestarting : Phase::kStarting;
}

std::string last_message(const json::Value& job) {
  const json::Array& conditions = json::array_at(job, {"status", "conditions"});
  return conditions.empty() ? std::string() : std::string(json::string_at(conditions.back(), {"message"}));
}

std::string newest_pod(const std::vector<api::Version>& pods, std::string_view label, std::string_view value,
                       std::string otherwise) {
  const api::Header* last = nullptr;
  for (const api::Version& pod : pods) {
    const api::Header& header = *pod.header;
    if (header.label(label) == value && (last == nullptr || last->created < header.created)) last = &header;
  }
  return last == nullptr ? otherwise : last->name.name;
}

}  // namespace gangway::jobs
