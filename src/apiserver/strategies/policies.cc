// PriorityClass, PodDisruptionBudget, StorageClass and Lease: the small kinds that others refer to.
#include <fmt/format.h>

#include <algorithm>

#include "apiserver/strategies/labels.h"
#include "apiserver/strategies/priority.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

constexpr std::int64_t kHighestUserPriority = 1'000'000'000;
constexpr std::size_t kMaxParameters = 512;
constexpr std::size_t kMaxParameterBytes = 256 * 1024;

struct SystemClass {
  std::string_view name;
  std::int64_t value;
};
constexpr SystemClass kSystemClasses[] = {{"system-node-critical", 2'000'001'000},
                                          {"system-cluster-critical", 2'000'000'000}};

bool is_system_class(std::string_view name) {
  return std::any_of(std::begin(kSystemClasses), std::end(kSystemClasses),
                     [&](const auto& known) { return known.name == name; });
}

Result<void> admit_priority_class(Review& review) {
  if (review.operation == Operation::kDelete) {
    if (!is_system_class(json::string_at(review.object, {"metadata", "name"}))) return {};
    return forbidden(review, "this is a system priority class and cannot be deleted");
  }
  if (!new_object(review)["globalDefault"].flag()) return {};
  auto existing = default_priority_class(review.facts);
  auto name = json::string_at(existing, {"metadata", "name"});
  if (existing.is_null()) return {};
  if (review.operation == Operation::kUpdate && name == json::string_at(review.object, {"metadata", "name"})) return {};
  return forbidden(review,
                   fmt::format("PriorityClass {} is already marked as default. Only one default can exist", name));
}

// Why a class with a reserved name is not one of the system's own; empty when it is.
std::string reserved_name_problem(std::string_view name, std::int64_t value, bool global_default) {
  for (const auto& known : kSystemClasses) {
    if (known.name != name) continue;
    if (known.value != value) return fmt::format("value of {} PriorityClass must be {}", name, known.value);
    if (global_default) return fmt::format("globalDefault of {} PriorityClass must be false", name);
    return {};
  }
  return fmt::format("{} is not a known system priority class", name);
}

void validate_priority_class(Review& review) {
  auto object = new_object(review);
  if (review.old) {
    auto before = old_object(review);
    if (object["value"].integer_or(0) != before["value"].integer_or(0)) {
      object["value"].forbidden("may not be changed in an update.");
    }
    object["preemptionPolicy"].immutable(before["preemptionPolicy"]);
    return;
  }
  auto name = object["metadata"]["name"];
  auto value = object["value"].integer_or(0);
  if (name.text().starts_with("system-")) {
    auto problem = reserved_name_problem(name.text(), value, object["globalDefault"].flag());
    if (!problem.empty()) {
      name.forbidden(fmt::format(
          "priority class names with 'system-' prefix are reserved for system use only. error: {}", problem));
    }
  } else if (value > kHighestUserPriority) {
    object["value"].forbidden(
        fmt::format("maximum allowed value of a user defined priority is {}", kHighestUserPriority));
  }
  object["preemptionPolicy"].one_of({"PreemptLowerPriority", "Never"});
}

void prepare_budget(Review& review) {
  if (review.operation != Operation::kCreate) return;
  json::Object status;
  for (auto field : {"currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"}) status[field] = 0;
  review.object.as_object()["status"] = std::move(status);
}

void validate_budget(Review& review) {
  auto object = new_object(review);
  if (review.subresource == "status") {
    for (auto key : {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"}) {
      object["status"][key].not_negative();
    }
    return;
  }
  auto spec = object["spec"];
  if (spec["minAvailable"] && spec["maxUnavailable"]) {
    spec.invalid("minAvailable and maxUnavailable cannot be both set");
  }
  for (auto key : {"minAvailable", "maxUnavailable"}) {
    check_count_or_percent(spec[key]);
    check_at_most_100_percent(spec[key]);
  }
  check_selector(spec["selector"]);
  spec["unhealthyPodEvictionPolicy"].one_of({"AlwaysAllow", "IfHealthyBudget"});
}

void validate_storage_class(Review& review) {
  auto object = new_object(review);
  if (review.old) {
    auto before = old_object(review);
    for (auto key : {"parameters", "provisioner", "reclaimPolicy"}) {
      if (!object[key].same_as(before[key])) object[key].forbidden(fmt::format("updates to {} are forbidden.", key));
    }
    object["volumeBindingMode"].immutable(before["volumeBindingMode"]);
    return;
  }
  auto provisioner = object["provisioner"];
  if (!provisioner.empty()) {
    std::string lower(provisioner.text());
    for (char& c : lower) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    for (const auto& message : names::check_qualified_name(lower)) provisioner.invalid(json::Value(lower), message);
  }
  auto parameters = object["parameters"];
  std::size_t total = 0;
  for (const auto& [key, value] : parameters.entries()) {
    if (key.empty()) parameters.invalid(json::Value(""), "field can not be empty.");
    total += key.size() + value.size();
  }
  if (parameters.size() > kMaxParameters) parameters.too_long(kMaxParameters);
  if (total > kMaxParameterBytes) parameters.too_long(kMaxParameterBytes);
}

void validate_lease(Review& review) {
  auto spec = new_object(review)["spec"];
  spec["leaseDurationSeconds"].positive();
  spec["leaseTransitions"].not_negative();
  if (!spec["preferredHolder"].empty() && spec["strategy"].empty()) {
    spec["preferredHolder"].forbidden("may only be specified if `strategy` is defined");
  }
}

}  // namespace

json::Value default_priority_class(const Facts& facts) {
  json::Value found;
  for (const auto& version : facts.state.objects("priorityclasses.scheduling.k8s.io")) {
    // Every new pod comes by here: only a class that may be the default is worth parsing.
    if (version.json->find(R"("globalDefault":true)") == std::string::npos) continue;
    auto parsed = json::parse(*version.json);
    if (!parsed) continue;
    const auto* flag = json::find(*parsed, {"globalDefault"});
    if (!flag || !flag->is_bool() || !flag->get_bool()) continue;
    // Two can exist when they were written at the same time; the lower one counts then.
    auto value = [](const json::Value& c) {
      const auto* number = json::find(c, {"value"});
      return number && number->is_int64() ? number->get_int64() : 0;
    };
    if (found.is_null() || value(*parsed) < value(found)) found = std::move(*parsed);
  }
  return found;
}

const Strategy& priority_class_strategy() {
  static const Strategy strategy{
      .admit = admit_priority_class, .validate = validate_priority_class, .generation = GenerationRule::kFixed};
  return strategy;
}

const Strategy& disruption_budget_strategy() {
  static const Strategy strategy{.prepare = prepare_budget,
                                 .validate = validate_budget,
                                 .generation = GenerationRule::kSpec,
                                 .unconditional_update = false};
  return strategy;
}

const Strategy& storage_class_strategy() {
  static const Strategy strategy{.validate = validate_storage_class, .returns_deleted = true};
  return strategy;
}

const Strategy& lease_strategy() {
  static const Strategy strategy{.validate = validate_lease, .create_on_update = true, .unconditional_update = false};
  return strategy;
}

}  // namespace gangway::apiserver
