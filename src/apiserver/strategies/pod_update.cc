#include "apiserver/strategies/pod_update.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"

namespace gangway::apiserver {
namespace {

constexpr std::int64_t kHighestInt32 = 2147483647;
constexpr std::string_view kUpdatable =
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)";

// False when the lists cannot be compared any further.
bool check_images(const Field& containers, const Field& before) {
  if (containers.size() != before.size()) {
    containers.forbidden("pod updates may not add or remove containers");
    return false;
  }
  for (const auto& container : containers.items()) {
    auto image = container["image"].text();
    auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
    if (!image.empty() && (is_space(image.front()) || is_space(image.back()))) {
      container["image"].invalid("must not have leading or trailing whitespace");
    }
  }
  return true;
}

bool check_deadline(const Field& deadline, const Field& before) {
  auto now = deadline.integer();
  auto was = before.integer();
  if (now && (*now < 0 || *now > kHighestInt32)) {
    deadline.invalid(names::range_message(0, kHighestInt32));
    return false;
  }
  if (now && was && *was < *now) {
    deadline.invalid("must be less than or equal to previous value");
    return false;
  }
  if (!now && was) deadline.invalid(json::Value(nullptr), "must not update from a positive integer to nil value");
  return true;
}

json::Value without_seconds(const Field& toleration) {
  auto copy = *toleration.value();
  if (copy.is_object()) copy.get_object().erase("tolerationSeconds");
  return copy;
}

void check_tolerations_kept(const Field& tolerations, const Field& before) {
  for (const auto& old : before.items()) {
    auto wanted = without_seconds(old);
    auto items = tolerations.items();
    bool kept = std::any_of(items.begin(), items.end(),
                            [&](const Field& item) { return json::equal(without_seconds(item), wanted); });
    if (!kept) return tolerations.forbidden("existing toleration can not be modified except its tolerationSeconds");
  }
}

void check_gates_removed(const Field& gates, const Field& before) {
  for (const auto& gate : gates.items()) {
    auto old = before.items();
    bool known = std::any_of(old.begin(), old.end(),
                             [&](const Field& item) { return item["name"].text() == gate["name"].text(); });
    if (known) continue;
    gate["name"].forbidden(
        fmt::format("only deletion is allowed, but found new scheduling gate '{}'", gate["name"].text()));
  }
}

// Whether each requirement of `before` is still there.
bool only_added(const Field& now, const Field& before, std::string_view key) {
  auto items = now[key].items();
  auto old = before[key].items();
  return std::all_of(old.begin(), old.end(), [&](const Field& wanted) {
    return std::any_of(items.begin(), items.end(), [&](const Field& item) { return item.same_as(wanted); });
  });
}

void check_tightened_affinity(const Field& affinity, const Field& before) {
  auto old = before["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"].items();
  auto terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  if (old.empty()) return;
  if (old.size() != terms.size()) {
    return terms.invalid("no additions/deletions to non-empty NodeSelectorTerms list are allowed");
  }
  auto items = terms.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    bool was_empty = old[i]["matchExpressions"].empty() && old[i]["matchFields"].empty();
    if (was_empty ? items[i].same_as(old[i])
                  : only_added(items[i], old[i], "matchExpressions") && only_added(items[i], old[i], "matchFields")) {
      continue;
    }
    items[i].invalid("only additions are allowed (no mutations or deletions)");
  }
}

// A pod that waits behind a gate may still be told more about where it belongs.
void check_gated(const Field& spec, const Field& before) {
  for (const auto& [key, value] : before["nodeSelector"].entries()) {
    if (spec["nodeSelector"].key(key).text() == value.text() && spec["nodeSelector"].key(key)) continue;
    spec["nodeSelector"].invalid("only additions to spec.nodeSelector are allowed (no mutations or deletions)");
    break;
  }
  check_tightened_affinity(spec["affinity"]["nodeAffinity"], before["affinity"]["nodeAffinity"]);
}

// The spec without what an update may change.
json::Value frozen_part(const Field& spec, const Field& before) {
  json::Value frozen = spec ? *spec.value() : json::Value(json::Object());
  auto& fields = frozen.as_object();
  for (auto key : {"containers", "initContainers"}) {
    auto* list = json::find(frozen, {key});
    if (!list || !list->is_array()) continue;
    for (auto& container : list->get_array()) {
      if (container.is_object()) container.get_object().erase("image");
    }
  }
  for (auto key : {"activeDeadlineSeconds", "schedulingGates", "tolerations"}) fields.erase(key);
  auto grace = spec["terminationGracePeriodSeconds"].integer_or(0);
  if (before["terminationGracePeriodSeconds"].integer_or(0) < 0 && (grace == 1 || grace < 0)) {
    fields.erase("terminationGracePeriodSeconds");
  }
  if (!before["schedulingGates"].empty()) {
    fields.erase("nodeSelector");
    auto* affinity = json::find(frozen, {"affinity"});
    if (affinity && affinity->is_object()) {
      affinity->get_object().erase("nodeAffinity");
      if (affinity->get_object().empty()) fields.erase("affinity");
    }
  }
  return frozen;
}

std::string changed_fields(const json::Value& now, const json::Value& before) {
  std::string list;
  auto add = [&](std::string_view key) {
    if (!list.empty()) list += ", ";
    list.append("spec.").append(key);
  };
  for (const auto& [key, value] : now.as_object()) {
    const auto* old = before.as_object().if_contains(key);
    if (!old || !json::equal(value, *old)) add(key);
  }
  for (const auto& [key, value] : before.as_object()) {
    if (!now.as_object().contains(key)) add(key);
  }
  return list;
}

void check_states(const Field& statuses, const Field& before, std::string_view restart_policy) {
  if (restart_policy == "Always") return;
  auto old = before.items();
  for (std::size_t i = 0; i < old.size(); ++i) {
    auto ended = old[i]["state"]["terminated"];
    if (!ended || (ended["exitCode"].integer_or(0) != 0 && restart_policy == "OnFailure")) continue;
    for (const auto& status : statuses.items()) {
      if (status["name"].text() != old[i]["name"].text() || status["state"]["terminated"]) continue;
      statuses.at(i)["state"].forbidden("may not be transitioned to non-terminated state");
    }
  }
}

}  // namespace

void check_pod_update(const Field& pod, const Field& before) {
  auto spec = pod["spec"];
  auto old = before["spec"];
  for (auto key : {"containers", "initContainers"}) {
    if (!check_images(spec[key], old[key])) return;
  }
  if (!check_deadline(spec["activeDeadlineSeconds"], old["activeDeadlineSeconds"])) return;
  check_tolerations_kept(spec["tolerations"], old["tolerations"]);
  check_gates_removed(spec["schedulingGates"], old["schedulingGates"]);
  if (!old["schedulingGates"].empty()) check_gated(spec, old);
  auto frozen = frozen_part(spec, old);
  auto frozen_before = frozen_part(old, old);
  if (json::equal(frozen, frozen_before)) return;
  spec.forbidden(fmt::format("pod updates may not change fields other than {}\nchanged: {}", kUpdatable,
                             changed_fields(frozen, frozen_before)));
}

void check_pod_status_update(const Field& pod, const Field& before) {
  auto status = pod["status"];
  auto old = before["status"];
  auto nominated = status["nominatedNodeName"];
  if (!nominated.empty() && !nominated.same_as(old["nominatedNodeName"])) {
    nominated.invalid_each(names::check_dns1123_subdomain(nominated.text()));
  }
  status["qosClass"].immutable(old["qosClass"]);
  check_states(status["containerStatuses"], old["containerStatuses"], before["spec"]["restartPolicy"].text());
}

}  // namespace gangway::apiserver
