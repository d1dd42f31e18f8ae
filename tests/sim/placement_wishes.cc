#include "sim/placement_wishes.h"

#include <fmt/format.h>

#include <vector>

namespace gangway::sim {
namespace {

struct Class {
  const char* name;
  int value;
  const char* policy;
};
// The top one first: until it is there, another would be taken for it.
constexpr Class kClasses[] = {{"high", 1000, "PreemptLowerPriority"},
                              {"middle", 100, "PreemptLowerPriority"},
                              {"polite", 50, "Never"},
                              {"low", -10, "PreemptLowerPriority"}};

void create_classes_from(User& user, std::size_t index, sys::Task then) {
  if (index == std::size(kClasses)) return then();
  const Class& each = kClasses[index];
  user.create(
      kPriorityClasses,
      json::Object{
          {"metadata", json::Object{{"name", each.name}}}, {"value", each.value}, {"preemptionPolicy", each.policy}},
      [&user, index, then = std::move(then)] { create_classes_from(user, index + 1, then); });
}

}  // namespace

void create_priority_classes(User& user, sys::Task then) {
  create_classes_from(user, 0, std::move(then));
}

std::string some_class(testing::Random& random) {
  return random.pick(std::vector<std::string>{"", "high", "middle", "middle", "polite", "low", "low"});
}

json::Object some_container(testing::Random& random) {
  json::Object requests{{"cpu", fmt::format("{}", random.between(1, 4))}};
  json::Object limits;
  if (random.below(2) == 0) {
    const auto gpus = fmt::format("{}", random.between(1, 2));
    requests["cpu"] = "1";
    requests["nvidia.com/gpu"] = gpus;
    limits["nvidia.com/gpu"] = gpus;
  }
  return {{"name", "main"},
          {"image", "busybox"},
          {"resources", json::Object{{"requests", std::move(requests)}, {"limits", std::move(limits)}}}};
}

json::Object some_life(testing::Random& random) {
  json::Object annotations;
  if (random.below(2) == 0) annotations["gangway.dev/simulated-duration"] = fmt::format("{}s", random.between(5, 240));
  if (random.below(2) == 0)
    annotations["gangway.dev/simulated-termination"] = fmt::format("{}s", random.between(1, 40));
  return annotations;
}

void add_some_wishes(testing::Random& random, bool is_elastic, json::Object& annotations) {
  // Not longer than a cluster is watched before it counts as at rest, wrong clocks included.
  if (random.below(3) == 0)
    annotations["gangway.dev/min-runtime"] = random.pick(std::vector<std::string>{"0s", "30s", "2m"});
  if (random.below(3) == 0) annotations["gangway.dev/max-preemptions"] = fmt::format("{}", random.between(0, 3));
  if (random.below(3) == 0) {
    annotations["gangway.dev/on-preempt"] =
        random.pick(is_elastic ? std::vector<std::string>{"Fail", "Requeue", "Shrink"}
                               : std::vector<std::string>{"Fail", "Requeue"});
  }
}

}  // namespace gangway::sim
