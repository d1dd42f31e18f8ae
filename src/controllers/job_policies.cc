#include "controllers/job_policies.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/backoff.h"

namespace gangway::controllers {
namespace {

constexpr Duration kFirstBackoff = std::chrono::seconds(10);
constexpr Duration kLongestBackoff = std::chrono::minutes(6);

const JobPodFacts::Exit* matching_exit(const json::Value& rule, const JobPodFacts& pod) {
  const std::string_view container = json::string_at(rule, {"containerName"});
  const bool wants_listed = json::string_at(rule, {"operator"}) == "In";
  const json::Array& codes = json::array_at(rule, {"values"});
  for (const JobPodFacts::Exit& exit : pod.failures) {
    if (!container.empty() && exit.container != container) continue;
    const bool is_listed = std::any_of(codes.begin(), codes.end(), [&](const json::Value& code) {
      return code.is_int64() && code.get_int64() == exit.code;
    });
    if (is_listed == wants_listed) return &exit;
  }
  return nullptr;
}

const std::string* matching_condition(const json::Array& patterns, const JobPodFacts& pod) {
  for (const auto& [type, status] : pod.conditions) {
    for (const json::Value& pattern : patterns) {
      const std::string_view wanted = json::string_at(pattern, {"status"});
      if (json::string_at(pattern, {"type"}) == type && (wanted.empty() ? "True" : wanted) == status) return &type;
    }
  }
  return nullptr;
}

FailureVerdict::Action action_of(std::string_view text) {
  using Action = FailureVerdict::Action;
  if (text == "Ignore") return Action::kIgnore;
  if (text == "FailIndex") return Action::kFailIndex;
  if (text == "FailJob") return Action::kFailJob;
  return Action::kCount;
}

}  // namespace

FailureVerdict judge_failure(const json::Value& job, const JobPod& pod) {
  const json::Array& rules = json::array_at(job, {"spec", "podFailurePolicy", "rules"});
  const api::ObjectName& name = pod.header().name;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string_view action = json::string_at(rules[i], {"action"});
    if (const json::Value* on_codes = json::find(rules[i], {"onExitCodes"})) {
      if (const auto* exit = matching_exit(*on_codes, *pod.facts))
        return {action_of(action),
                fmt::format("Container {} for pod {}/{} failed with exit code {} matching {} rule at index {}",
                            exit->container, name.ns, name.name, exit->code, action, i)};
    } else if (const auto* type = matching_condition(json::array_at(rules[i], {"onPodConditions"}), *pod.facts)) {
      return {action_of(action), fmt::format("Pod {}/{} has condition {} matching {} rule at index {}", name.ns,
                                             name.name, *type, action, i)};
    }
  }
  return {};
}

std::optional<std::string> fulfilled_success_rule(const json::Value& job, std::int64_t completions,
                                                  const IndexSet& succeeded) {
  const json::Array& rules = json::array_at(job, {"spec", "successPolicy", "rules"});
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const json::Value* wanted = json::find(rules[i], {"succeededIndexes"});
    const bool is_any = wanted == nullptr || !wanted->is_string();
    const IndexSet indexes = is_any ? IndexSet() : IndexSet::parse(json::string_at(*wanted, {}), completions);
    const std::int64_t there = is_any ? succeeded.size() : indexes.count_in(succeeded);
    const std::int64_t needed = json::integer_at(rules[i], {"succeededCount"}, is_any ? completions : indexes.size());
    if (there >= needed) return fmt::format("Matched rules at index {}", i);
  }
  return std::nullopt;
}

Duration backoff_after(std::int64_t failures) {
  if (failures <= 0) return Duration::zero();
  return client::doubled(kFirstBackoff, kLongestBackoff,
                         static_cast<unsigned>(std::min<std::int64_t>(failures - 1, 30)));
}

}  // namespace gangway::controllers
