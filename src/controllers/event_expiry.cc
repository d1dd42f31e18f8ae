#include "controllers/event_expiry.h"

#include <algorithm>

#include "client/resource.h"

namespace gangway::controllers {
namespace {

using client::Delete;
using client::Outcome;
using client::View;
using client::WorkQueue;
using client::resources::kEvents;

// Clients may write entries of their own making: a time that is still to come says nothing.
WallTime last_written(const api::Version& event, WallTime now) {
  WallTime last = event.header->created;
  const auto tree = json::parse(*event.json);
  const json::Value* entries = tree ? json::find(*tree, {"metadata", "managedFields"}) : nullptr;
  if (entries == nullptr || !entries->is_array()) return last;
  for (const json::Value& entry : entries->get_array()) {
    const auto time = parse_rfc3339(json::string_at(entry, {"time"}));
    if (time && *time <= now) last = std::max(last, *time);
  }
  return last;
}

// Events change often and go seldom: the look that follows from an event's creation is enough.
client::KeyMapper new_events() {
  return [](const client::ObjectChange& change, const View&, const client::KeySink& sink) {
    if (change.type == client::ObjectChange::Type::kAdded)
      sink(client::key_of(kEvents, change.now.header->name), WorkQueue::Priority::kNormal);
  };
}

}  // namespace

std::vector<client::WatchRule> EventExpiry::watches() const {
  return {{.resource = kEvents, .keys = new_events()}};
}

Outcome EventExpiry::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version event = view.get(kEvents, key.object);
  if (!event || event.header->deleting_since) return outcome;
  WallTime due = event.header->created + kKept;
  if (due <= view.now()) due = last_written(event, view.now()) + kKept;
  if (due <= view.now()) {
    outcome.allowed_now.push_back(Delete{client::target_of(kEvents, event)});
  } else {
    outcome.look_again(due);
  }
  return outcome;
}

}  // namespace gangway::controllers
