#include "jobs/job_status.h"

#include <utility>

#include "client/resource.h"

namespace gangway::jobs {

using client::Emit;
using client::EventType;

JobStatus::JobStatus(controllers::Owner owner, const json::Value& tree, JobRecord present, WallTime now)
    : record(std::move(present)),
      owner_(std::move(owner)),
      tree_(tree),
      now_(now),
      conditions_(json::array_at(tree, {"status", "conditions"}), owner_.kind, now) {}

void JobStatus::set(std::string_view type, bool status, std::string_view word, std::string_view message) {
  const std::string reason = owner_.kind + std::string(word);
  if (conditions_.set_because(type, status, reason, message)) tell_of(type, reason, message);
}

void JobStatus::set_because(std::string_view type, std::string_view reason, std::string_view message) {
  if (conditions_.set_because(type, true, reason, message)) tell_of(type, reason, message);
}

void JobStatus::tell_of(std::string_view type, std::string_view reason, std::string_view message) {
  // What goes well is not news, but for the end.
  if (type == kJobCreated || type == kJobRunning) return;
  const bool is_bad = type == kJobRestarting || type == kJobFailed;
  tell(is_bad ? EventType::kWarning : EventType::kNormal, reason, std::string(message));
}

void JobStatus::tell(EventType type, std::string_view reason, std::string message) {
  events_.push_back({owner_.subject(), type, std::string(reason), std::move(message)});
}

std::vector<client::Action> JobStatus::write(json::Object next, std::string_view mark) const {
  next["conditions"] = conditions_.list();
  write_job_record(record, next);
  if (json::equal(json::Value(present()), json::Value(next))) return {};
  if (!mark.empty()) next[mark] = to_rfc3339(now_);
  json::Value body = tree_;
  // What is stored does not say its kind; a custom kind's write has to.
  body.as_object()["apiVersion"] = client::api_version(owner_.resource);
  body.as_object()["kind"] = owner_.kind;
  body.as_object()["status"] = std::move(next);
  client::Update update{client::target_of(owner_.resource, owner_.object), std::move(body), "status"};
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
