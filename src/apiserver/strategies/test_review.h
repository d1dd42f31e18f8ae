// For tests of strategies: a state with a few objects, and one write that goes through a strategy as a request would.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/metadata.h"
#include "apiserver/registry.h"
#include "apiserver/strategy.h"
#include "store/object_map.h"

namespace gangway::apiserver {

class TestRoot final : public store::Root {
 public:
  api::Revision revision() const override { return 1; }
  const store::ObjectMap& objects(const api::ResourceName& resource) const override {
    auto found = maps_.find(resource);
    return found == maps_.end() ? empty_ : found->second;
  }
  std::vector<api::ResourceName> resources() const override { return {}; }

  void put(const api::ResourceName& resource, std::string_view json_text) {
    auto object = json::parse(json_text).value();
    store::ObjectMap::Editor editor(maps_[resource]);
    editor.put(api::stamp(api::make_draft(object, {}), 1));
    maps_[resource] = editor.map();
  }

 private:
  std::map<api::ResourceName, store::ObjectMap> maps_;
  store::ObjectMap empty_;
};

// One kind, one state; create() and update() do what the server does around the schema.
class TestWrites {
 public:
  TestWrites(std::string group, std::string kind, std::string plural, bool namespaced = true)
      : user_{"ann", "", {}, {}} {
    kind_.group = std::move(group);
    kind_.kind = std::move(kind);
    kind_.plural = std::move(plural);
    kind_.namespaced = namespaced;
    kind_.strategy = &strategy_for(kind_.group, kind_.kind);
  }

  TestRoot& state() { return state_; }
  UserInfo& user() { return user_; }
  void allow(bool everything) { allowed_ = everything; }
  const Strategy& strategy() const { return *kind_.strategy; }

  struct Outcome {
    json::Value object;
    std::vector<std::string> problems;  // "field: message", or the message of a refusal
    std::vector<std::string> warnings;
  };

  Outcome create(std::string_view text) { return run(Operation::kCreate, nullptr, text, ""); }
  Outcome update(std::string_view before, std::string_view text, std::string_view subresource = "") {
    auto old = json::parse(before).value();
    return run(Operation::kUpdate, &old, text, subresource);
  }
  Outcome update(const json::Value& old, std::string_view text, std::string_view subresource = "") {
    return run(Operation::kUpdate, &old, text, subresource);
  }
  Outcome remove(std::string_view text) { return run(Operation::kDelete, nullptr, text, ""); }

 private:
  Outcome run(Operation operation, const json::Value* old, std::string_view text, std::string_view subresource) {
    Outcome outcome;
    outcome.object = json::parse(text).value();
    const auto& strategy = *kind_.strategy;
    if (strategy.add_defaults) strategy.add_defaults(outcome.object);
    Facts facts{state_, registry_, user_, parse_rfc3339("2026-01-02T03:04:05Z").value(),
                [this](auto, auto, auto, auto) { return allowed_; }};
    Review review{operation, kind_, subresource, old, outcome.object, facts, {}, {}};
    if (strategy.admit) {
      if (auto admitted = strategy.admit(review); !admitted) {
        outcome.problems.push_back(admitted.error().message);
        return outcome;
      }
    }
    if (operation == Operation::kDelete) return outcome;
    if (strategy.prepare) strategy.prepare(review);
    if (strategy.validate) strategy.validate(review);
    if (strategy.conclude && review.causes.empty()) strategy.conclude(review);
    for (const auto& cause : review.causes) outcome.problems.push_back(cause.field + ": " + cause.message);
    outcome.warnings = std::move(review.warnings);
    return outcome;
  }

  KindInfo kind_;
  TestRoot state_;
  Registry registry_;
  UserInfo user_;
  bool allowed_ = true;
};

}  // namespace gangway::apiserver
