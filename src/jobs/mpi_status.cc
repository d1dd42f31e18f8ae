#include "jobs/mpi_status.h"

#include <utility>

#include "client/resource.h"

namespace gangway::jobs {
namespace {

using client::Emit;
using client::EventType;

}  // namespace

MpiStatus::MpiStatus(const MpiJob& job, WallTime now)
    : record(job.record),
      launcher(json::string_at(job.tree, {"status", "launcherStatus"})),
      workers(json::integer_at(job.tree, {"status", "workerReplicas"})),
      job_(job),
      now_(now),
      conditions_(json::array_at(job.tree, {"status", "conditions"}), kMpiKind, now) {}

void MpiStatus::set(std::string_view type, bool status, std::string_view word, std::string_view message) {
  if (!conditions_.set(type, status, word, message)) return;
  const bool is_bad = type == kJobRestarting || type == kJobFailed;
  events_.push_back({job_.owner().subject(), is_bad ? EventType::kWarning : EventType::kNormal,
                     std::string(kMpiKind) + std::string(word), std::string(message)});
}

json::Object MpiStatus::next() const {
  json::Object next = json::map_at(job_.tree, {"status"});
  const auto put = [&](std::string_view key, const std::optional<WallTime>& time) {
    if (time) {
      next[key] = to_rfc3339(*time);
    } else {
      next.erase(key);
    }
  };
  next["conditions"] = conditions_.list();
  if (launcher.empty()) {
    next.erase("launcherStatus");
  } else {
    next["launcherStatus"] = launcher;
  }
  if (workers == 0) {
    next.erase("workerReplicas");
  } else {
    next["workerReplicas"] = workers;
  }
  put("startTime", record.started);
  put("completionTime", record.completed);
  json::Object own{{"attempt", record.attempt}};
  // A preemption of the same second may be a later one.
  if (record.queued_again) own["queuedAgainAt"] = to_rfc3339_micro(*record.queued_again);
  next["gangway"] = std::move(own);
  return next;
}

std::vector<client::Action> MpiStatus::write() const {
  json::Object status = next();
  if (json::equal(json::Value(json::map_at(job_.tree, {"status"})), json::Value(status))) return {};
  json::Value body = job_.tree;
  // What a server lists need not say what it is.
  body.as_object()["apiVersion"] = client::api_version(mpi_jobs());
  body.as_object()["kind"] = kMpiKind;
  body.as_object()["status"] = std::move(status);
  client::Update update{client::target_of(mpi_jobs(), job_.version), std::move(body), "status"};
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
