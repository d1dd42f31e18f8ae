#include "client/object_holds.h"

#include <algorithm>

#include "base/check.h"
#include "client/backoff.h"
#include "json/access.h"

namespace gangway::client {
namespace {

// Whether `now`, which may be nothing, is what the write led to, or what came of that.
bool shows(const api::Version& now, const ActionAnswer& answer) {
  if (!now || (!answer.uid.empty() && now.header->uid != answer.uid)) return answer.is_delete || answer.leaves != 0;
  if (answer.leaves != 0) return now.header->revision > answer.leaves;
  if (answer.revision != 0) return now.header->revision >= answer.revision;
  // Some servers answer a deletion without saying at which revision it happened.
  return !answer.is_delete || now.header->deleting_since.has_value();
}

}  // namespace

ObjectHolds::~ObjectHolds() {
  for (const auto& [object, hold] : holds_) loop_.cancel(hold.timer);
}

bool ObjectHolds::begin(const Object& object, const api::ObjectKey& key, std::string_view verb) {
  return holds_.emplace(object, Hold{.key = key, .verb = verb}).second;
}

void ObjectHolds::landed(const Object& object, ActionAnswer answer, const Informer* informer) {
  const auto at = holds_.find(object);
  GW_CHECK(at != holds_.end());
  failures_.erase(object);
  Hold& hold = at->second;
  hold.answer = std::move(answer);
  hold.is_landed = true;
  const bool is_shown = informer == nullptr || shows(informer->objects().get(object.second), hold.answer) ||
                        (hold.answer.revision != 0 && informer->revision() >= hold.answer.revision);
  if (is_shown) return free(at, End::kOver);
  if (hold.answer.revision != 0) behind_[object.first].emplace(hold.answer.revision, object.second);
  free_after(at, options_.longest_hold, End::kNeverShown);
}

void ObjectHolds::failed(const Object& object, Duration at_least) {
  const auto at = holds_.find(object);
  GW_CHECK(at != holds_.end());
  const Duration rest = doubled(options_.first_rest, options_.longest_rest, failures_[object]++);
  free_after(at, std::max(rest, at_least), End::kOver);
}

void ObjectHolds::changed(const Resource& resource, const ObjectChange& change) {
  const bool is_gone = change.type == ObjectChange::Type::kDeleted;
  const api::ObjectName& name = change.now ? change.now.header->name : change.before.header->name;
  if (is_gone && !failures_.empty()) failures_.erase({resource, name});
  if (holds_.empty()) return;
  const auto at = holds_.find({resource, name});
  if (at == holds_.end() || !at->second.is_landed) return;
  if (shows(is_gone ? api::Version() : change.now, at->second.answer)) free(at, End::kOver);
}

void ObjectHolds::progressed(const Resource& resource, api::Revision revision) {
  const auto waiting = behind_.find(resource);
  if (waiting == behind_.end()) return;
  while (!waiting->second.empty() && waiting->second.begin()->first <= revision) {
    const auto at = holds_.find({resource, waiting->second.begin()->second});
    GW_CHECK(at != holds_.end());
    free(at, End::kOver);
  }
}

void ObjectHolds::free_after(Holds::iterator at, Duration delay, End end) {
  at->second.timer = loop_.run_after(delay, [this, object = at->first, end] { free(holds_.find(object), end); });
}

void ObjectHolds::free(Holds::iterator at, End end) {
  const auto freed = holds_.extract(at);
  const Hold& hold = freed.mapped();
  loop_.cancel(hold.timer);
  if (hold.is_landed && hold.answer.revision != 0)
    if (const auto waiting = behind_.find(freed.key().first); waiting != behind_.end())
      waiting->second.erase({hold.answer.revision, freed.key().second});
  on_free_(freed.key(), hold, end);
}

ObjectHolds::Object object_of(const Action& action) {
  if (const auto* create = std::get_if<Create>(&action)) {
    const std::string name(json::string_at(create->body, {"metadata", "name"}));
    return {create->resource, {create->ns, name}};
  }
  return std::visit(
      [](const auto& effect) -> ObjectHolds::Object {
        if constexpr (requires { effect.target; }) return {effect.target.resource, effect.target.object};
        GW_CHECK(false && "it writes to no object");
        return {};
      },
      action);
}

}  // namespace gangway::client
