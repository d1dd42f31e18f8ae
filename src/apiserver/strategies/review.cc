#include "apiserver/strategies/review.h"

#include <fmt/format.h>

#include "apiserver/registry.h"

namespace gangway::apiserver {

Field new_object(Review& review) {
  return {&review.object, "", review.causes};
}

Field old_object(Review& review) {
  return {review.old, "", review.causes};
}

void keep_old(Review& review, std::initializer_list<std::string_view> path) {
  const auto* before = review.old ? json::find(*review.old, path) : nullptr;
  auto parent = std::span(path.begin(), path.size() - 1);
  if (before) {
    json::Value* place = &review.object;
    for (auto step : parent) {
      // operator[] may move the other values even where the key exists, and callers look at them.
      auto* child = place->as_object().if_contains(step);
      if (!child) child = &place->as_object()[step];
      if (!child->is_object()) child->emplace_object();
      place = child;
    }
    place->as_object()[*(path.end() - 1)] = *before;
    return;
  }
  json::Value* place = &review.object;
  for (auto step : parent) {
    place = place->is_object() ? place->get_object().if_contains(step) : nullptr;
    if (!place) return;
  }
  if (place->is_object()) place->get_object().erase(*(path.end() - 1));
}

void reset_status(Review& review) {
  review.object.as_object()["status"] = json::Object();
}

Error forbidden(const Review& review, std::string_view why) {
  auto name = json::string_at(review.object, {"metadata", "name"});
  Error error;
  error.reason = Reason::kForbidden;
  error.message = fmt::format("{} \"{}\" is forbidden: {}", review.kind.qualified_resource(), name, why);
  error.subject = Subject{review.kind.group, review.kind.plural, std::string(name), {}};
  return error;
}

void check_immutable(const Field& after, const Field& before, std::initializer_list<std::string_view> keys) {
  for (auto key : keys) after[key].immutable(before[key]);
}

json::Value read_stored(const Facts& facts, const api::ResourceName& resource, std::string_view ns,
                        std::string_view name) {
  auto version = facts.state.get({resource, {std::string(ns), std::string(name)}});
  if (!version) return nullptr;
  auto parsed = json::parse(*version.json);
  return parsed ? std::move(*parsed) : json::Value(nullptr);
}

}  // namespace gangway::apiserver
