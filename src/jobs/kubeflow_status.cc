#include "jobs/kubeflow_status.h"

#include <utility>

#include "client/resource.h"

namespace gangway::jobs {
namespace {

using client::Emit;
using client::EventType;

void put_or_erase(json::Object& object, std::string_view key, std::int64_t number) {
  if (number == 0) {
    object.erase(key);
  } else {
    object[key] = number;
  }
}

void put_time(json::Object& object, std::string_view key, const std::optional<WallTime>& time) {
  if (time) object[key] = to_rfc3339(*time);
}

}  // namespace

KubeflowStatus::KubeflowStatus(const KubeflowJob& job, WallTime now)
    : record(job.record),
      job_(job),
      now_(now),
      conditions_(json::array_at(job.tree, {"status", "conditions"}), job.rules.kind.kind, now),
      counts_(json::map_at(job.tree, {"status", "replicaStatuses"})) {}

void KubeflowStatus::set(std::string_view type, bool status, std::string_view word, std::string_view message) {
  if (!conditions_.set(type, status, word, message)) return;
  // What goes well is not news, but for the end.
  if (type == kJobCreated || type == kJobRunning) return;
  const bool is_bad = type == kJobRestarting || type == kJobFailed;
  tell(is_bad ? EventType::kWarning : EventType::kNormal, std::string(job_.rules.kind.kind) + std::string(word),
       std::string(message));
}

void KubeflowStatus::tell(EventType type, std::string_view reason, std::string message) {
  events_.push_back({job_.owner().subject(), type, std::string(reason), std::move(message)});
}

void KubeflowStatus::end() {
  record.completed = now_;
}

void KubeflowStatus::count(const Tallies& tallies) {
  json::Object counts;
  for (const ReplicaSpec& spec : job_.replicas) {
    json::Object entry{{"selector", selector_text(replica_labels(job_, spec))}};
    if (const auto at = tallies.find(spec.type); at != tallies.end()) {
      put_or_erase(entry, "active", at->second.active);
      put_or_erase(entry, "succeeded", at->second.succeeded);
      put_or_erase(entry, "failed", at->second.failed);
    }
    counts[spec.type] = std::move(entry);
  }
  counts_ = std::move(counts);
}

void KubeflowStatus::settle_success() {
  for (auto& [type, entry] : counts_) {
    const std::int64_t active = json::integer_at(entry, {"active"});
    if (active == 0 || !entry.is_object()) continue;
    entry.get_object()["succeeded"] = json::integer_at(entry, {"succeeded"}) + active;
    entry.get_object().erase("active");
  }
}

json::Object KubeflowStatus::gangway() const {
  json::Object own{{"attempt", record.attempt}};
  put_or_erase(own, "restarts", record.restarts);
  if (!record.replaced.empty()) own["replaced"] = json::Array(record.replaced.begin(), record.replaced.end());
  put_time(own, "queuedAgainAt", record.queued_again);
  if (!record.ended_by.empty()) own["endedBy"] = record.ended_by;
  return own;
}

std::vector<client::Action> KubeflowStatus::write() const {
  const json::Object& present = json::map_at(job_.tree, {"status"});
  json::Object next = present;
  next["conditions"] = conditions_.list();
  next["replicaStatuses"] = counts_;
  next["gangway"] = gangway();
  put_time(next, "startTime", record.started);
  put_time(next, "completionTime", record.completed);
  if (json::equal(json::Value(present), json::Value(next))) return {};
  next["lastReconcileTime"] = to_rfc3339(now_);
  json::Value body = job_.tree;
  // What is stored does not say its kind; a custom kind's write has to.
  body.as_object()["apiVersion"] = client::api_version(job_.rules.resource);
  body.as_object()["kind"] = job_.rules.kind.kind;
  body.as_object()["status"] = std::move(next);
  client::Update update{client::target_of(job_.rules.resource, job_.version), std::move(body), "status"};
  std::vector<client::Action> actions;
  for (const Emit& event : events_) {
    if (!update.announce.done) {
      update.announce.done = event;
    } else {
      actions.emplace_back(event);
    }
  }
  actions.emplace_back(std::move(update));
  return actions;
}

}  // namespace gangway::jobs
