#include "client/event_writer.h"

#include <utility>

#include "client/resource.h"

namespace gangway::client {
namespace {

// Events must not crowd out what they tell about.
constexpr std::size_t kMostUnderWay = 16;
constexpr std::size_t kMostWaiting = 1024;

}  // namespace

EventWriter::EventWriter(ApiClient& client, sys::EventLoop& loop, std::string component)
    : client_(client), loop_(loop), component_(component), ledger_(std::move(component)) {}

void EventWriter::write(const Emit& emit, std::optional<WallTime> happened) {
  auto entry = ledger_.enter(emit, happened.value_or(loop_.clock().wall()));
  if (!entry) return;
  const api::ObjectName name = entry->name;
  if (!waiting_.contains(name)) {
    if (waiting_.size() >= kMostWaiting) return;
    order_.push_back(name);
  }
  waiting_.insert_or_assign(name, std::move(*entry));
  pump();
}

void EventWriter::pump() {
  // One that is under way is passed over: its answer comes first, or the older count would win.
  for (std::size_t left = order_.size(); left > 0 && under_way_.size() < kMostUnderWay; --left) {
    api::ObjectName name = std::move(order_.front());
    order_.pop_front();
    if (under_way_.contains(name)) {
      order_.push_back(std::move(name));
      continue;
    }
    const auto entry = waiting_.extract(name);
    under_way_.insert(std::move(name));
    send(entry.mapped(), entry.mapped().count > 1);
  }
}

void EventWriter::send(const EventEntry& entry, bool exists) {
  ApiRequest request;
  request.resource = resources::kEvents;
  request.object = entry.name;
  request.field_manager = component_;
  if (exists) {
    request.method = Method::kPatch;
    request.body = json::serialize(
        json::Object{{"count", entry.count}, {"message", entry.message}, {"lastTimestamp", to_rfc3339(entry.last)}});
  } else {
    request.method = Method::kCreate;
    request.object.name.clear();
    request.body = json::serialize(to_json(entry, component_));
  }
  client_.call(std::move(request),
               [this, entry, exists, life = std::weak_ptr(life_)](const Result<api::Version>& answer) {
                 if (!life.expired()) answered(entry, exists, answer);
               });
}

void EventWriter::answered(const EventEntry& entry, bool exists, const Result<api::Version>& answer) {
  // It has expired, or it was never written.
  if (exists && !answer && answer.error().reason == Reason::kNotFound) return send(entry, false);
  under_way_.erase(entry.name);
  pump();
}

}  // namespace gangway::client
