// Event of the core group, and of events.k8s.io, which is the same object with other names for its fields.
#include <fmt/format.h>

#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

struct Renamed {
  std::string_view core;
  std::string_view events;
};
constexpr Renamed kRenamed[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

void rename_key(json::Object& object, std::string_view from, std::string_view to) {
  auto* value = object.if_contains(from);
  if (!value) return;
  auto moved = std::move(*value);
  object.erase(from);
  object[to] = std::move(moved);
}

void to_core(json::Value& event) {
  auto& object = event.as_object();
  for (const auto& name : kRenamed) rename_key(object, name.events, name.core);
  for (auto key : {"reportingComponent", "reportingInstance"}) {
    if (!object.contains(key)) object[key] = "";
  }
}

void from_core(json::Value& event) {
  auto& object = event.as_object();
  for (const auto& name : kRenamed) rename_key(object, name.core, name.events);
  for (auto key : {"reportingController", "reportingInstance"}) {
    if (const auto* value = object.if_contains(key); value && value->is_string() && value->get_string().empty()) {
      object.erase(key);
    }
  }
}

void at_most(const Field& field, std::size_t most) {
  if (field.size() > most) field.invalid("", fmt::format("can have at most {} characters", most));
}

// What holds for both forms. Events with an eventTime are of the newer form and have to say more.
void check_event(const Field& event, std::string_view reporter_name) {
  auto ns = event["metadata"]["namespace"].text();
  auto about = event["involvedObject"]["namespace"];
  bool mismatch = false;
  if (!event["eventTime"]) {
    mismatch = about.empty() ? ns != "" && ns != "default" : ns != about.text();
  } else {
    mismatch = about.empty() && ns != "default" && ns != "kube-system";
  }
  if (mismatch) about.invalid("does not match event.namespace");
  if (!event["eventTime"]) return;
  Field reporter(event["reportingComponent"].value(), std::string(reporter_name), event.causes());
  if (reporter.empty()) reporter.required();
  reporter.invalid_each(names::check_qualified_name(reporter.text()));
  for (auto key : {"reportingInstance", "action", "reason"}) {
    if (event[key].empty()) event[key].required();
    at_most(event[key], 128);
  }
  at_most(event["message"], 1024);
}

void validate_core(Review& review) {
  check_event(new_object(review), "reportingComponent");
}

void check_series(const Field& series) {
  if (!series) return;
  if (series["count"].integer_or(0) < 2) series["count"].invalid("", "should be at least 2");
  if (!series["lastObservedTime"]) series["lastObservedTime"].required();
}

void check_strict_create(const Field& event) {
  check_series(event["series"]);
  if (!event["eventTime"]) event["eventTime"].required();
  auto type = event["type"];
  if (type.text() != "Normal" && type.text() != "Warning")
    type.invalid("", fmt::format("has invalid value: {}", type.text()));
  auto unset = [&](std::string_view key, bool is_set) {
    if (is_set) event[key].invalid("", "needs to be unset");
  };
  unset("firstTimestamp", event["firstTimestamp"].exists());
  unset("lastTimestamp", event["lastTimestamp"].exists());
  unset("count", event["count"].integer_or(0) != 0);
  unset("source", !event["source"]["component"].empty() || !event["source"]["host"].empty());
}

void validate_events(Review& review) {
  auto now = review.object;
  to_core(now);
  Field event(&now, "", review.causes);
  check_event(event, "reportingController");
  if (!review.old) return check_strict_create(event);
  auto old = *review.old;
  to_core(old);
  Field before(&old, "", review.causes);
  if (!event["series"].same_as(before["series"])) check_series(event["series"]);
  check_immutable(event, before,
                  {"involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type",
                   "eventTime", "action", "related", "reportingInstance"});
  Field reporter(event["reportingComponent"].value(), "reportingController", review.causes);
  reporter.immutable(before["reportingComponent"]);
}

}  // namespace

const Strategy& core_event_strategy() {
  static const Strategy strategy{.validate = validate_core, .create_on_update = true};
  return strategy;
}

const Strategy& events_event_strategy() {
  static const Strategy strategy{
      .validate = validate_events, .create_on_update = true, .to_storage = to_core, .from_storage = from_core};
  return strategy;
}

}  // namespace gangway::apiserver
