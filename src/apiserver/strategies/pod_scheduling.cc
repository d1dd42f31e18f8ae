// Where a pod may run: tolerations, affinity, spreading.
#include <fmt/format.h>

#include <set>

#include "apiserver/strategies/labels.h"
#include "apiserver/strategies/pod_spec.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

std::string joined(const std::vector<std::string>& messages) {
  return fmt::format("{}", fmt::join(messages, ";"));
}

void check_requirement(const Field& requirement, bool check_values) {
  auto op = requirement["operator"].text();
  auto values = requirement["values"];
  if (op == "In" || op == "NotIn") {
    if (values.empty()) values.required("must be specified when `operator` is 'In' or 'NotIn'");
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else if (op == "Gt" || op == "Lt") {
    if (values.size() != 1) values.required("must be specified single value when `operator` is 'Lt' or 'Gt'");
  } else {
    requirement["operator"].invalid("not a valid selector operator");
  }
  requirement["key"].invalid_each(names::check_qualified_name(requirement["key"].text()));
  if (!check_values) return;
  for (const auto& value : values.items()) value.invalid_each(names::check_label_value(value.text()));
}

void check_field_requirement(const Field& requirement) {
  auto op = requirement["operator"].text();
  auto values = requirement["values"];
  if (op == "In" || op == "NotIn") {
    if (values.size() != 1) {
      values.required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
    }
  } else {
    requirement["operator"].invalid("not a valid selector operator");
  }
  if (requirement["key"].text() != "metadata.name") requirement["key"].invalid("not a valid field selector key");
  if (requirement["key"].text() != "metadata.name") return;
  for (const auto& value : values.items()) value.invalid_each(names::check_dns1123_subdomain(value.text()));
}

void check_node_term(const Field& term, bool check_values) {
  for (const auto& item : term["matchExpressions"].items()) check_requirement(item, check_values);
  for (const auto& item : term["matchFields"].items()) check_field_requirement(item);
}

void check_weight(const Field& weight) {
  auto number = weight.integer_or(0);
  if (number < 1 || number > 100) weight.invalid(json::Value(number), "must be in the range 1-100");
}

void check_pod_term(const Field& term) {
  check_selector(term["labelSelector"]);
  check_selector(term["namespaceSelector"]);
  for (const auto& ns : term["namespaces"].items()) {
    Field(ns.value(), term["namespace"].path(), term.causes()).invalid_each(names::check_dns1123_label(ns.text()));
  }
  auto key = term["topologyKey"];
  if (key.empty()) key.required("can not be empty");
  key.invalid_each(names::check_qualified_name(key.text()));
}

void check_pod_affinity(const Field& affinity) {
  for (const auto& term : affinity["requiredDuringSchedulingIgnoredDuringExecution"].items()) check_pod_term(term);
  for (const auto& term : affinity["preferredDuringSchedulingIgnoredDuringExecution"].items()) {
    check_weight(term["weight"]);
    check_pod_term(term["podAffinityTerm"]);
  }
}

void check_toleration(const Field& toleration) {
  auto key = toleration["key"];
  auto op = toleration["operator"];
  auto value = toleration["value"];
  auto effect = toleration["effect"];
  if (!key.empty()) {
    key.invalid_each(names::check_qualified_name(key.text()));
  } else if (op.text() != "Exists") {
    op.invalid("operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
  }
  if (toleration["tolerationSeconds"] && effect.text() != "NoExecute") {
    effect.invalid("effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  if (op.empty() || op.text() == "Equal") {
    auto messages = names::check_label_value(value.text());
    if (!messages.empty()) op.invalid(json::Value(value.text()), joined(messages));
  } else if (op.text() == "Exists") {
    if (!value.empty()) op.invalid(*value.value(), "value must be empty when `operator` is 'Exists'");
  } else {
    op.not_supported({"Equal", "Exists"});
  }
}

void check_constraint(const Field& constraint) {
  auto skew = constraint["maxSkew"].integer_or(0);
  if (skew <= 0) constraint["maxSkew"].invalid(json::Value(skew), "must be greater than zero");
  if (constraint["topologyKey"].empty()) constraint["topologyKey"].required("can not be empty");
  auto action = constraint["whenUnsatisfiable"].text();
  if (action.empty()) constraint["whenUnsatisfiable"].not_supported({"DoNotSchedule", "ScheduleAnyway"});
  auto domains = constraint["minDomains"];
  if (auto number = domains.integer()) {
    if (*number <= 0) domains.invalid("must be greater than zero");
    if (action != "DoNotSchedule") {
      domains.invalid(fmt::format("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}", action));
    }
  }
  constraint["nodeAffinityPolicy"].one_of({"Honor", "Ignore"});
  constraint["nodeTaintsPolicy"].one_of({"Honor", "Ignore"});
  check_selector(constraint["labelSelector"]);
}

}  // namespace

void check_taints(const Field& taints) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const auto& taint : taints.items()) {
    taint["key"].invalid_each(names::check_qualified_name(taint["key"].text()));
    taint["value"].invalid_each(names::check_label_value(taint["value"].text()));
    auto effect = taint["effect"];
    if (effect.empty()) {
      effect.required();
    } else {
      effect.one_of({"NoSchedule", "PreferNoSchedule", "NoExecute"});
    }
    if (!seen.insert({taint["key"].text(), effect.text()}).second) {
      taint.refuse(
          "FieldValueDuplicate",
          fmt::format("Duplicate value: {}: taints must be unique by key and effect pair", shown(*taint.value())));
    }
  }
}

void check_tolerations(const Field& tolerations) {
  for (const auto& toleration : tolerations.items()) check_toleration(toleration);
}

void check_node_selector(const Field& selector) {
  auto terms = selector["nodeSelectorTerms"];
  if (terms.empty()) return terms.required("must have at least one node selector term");
  for (const auto& term : terms.items()) check_node_term(term, true);
}

void check_affinity(const Field& affinity) {
  auto node = affinity["nodeAffinity"];
  auto required = node["requiredDuringSchedulingIgnoredDuringExecution"];
  if (required) check_node_selector(required);
  for (const auto& term : node["preferredDuringSchedulingIgnoredDuringExecution"].items()) {
    check_weight(term["weight"]);
    check_node_term(term["preference"], false);
  }
  check_pod_affinity(affinity["podAffinity"]);
  check_pod_affinity(affinity["podAntiAffinity"]);
}

void check_spread(const Field& constraints) {
  auto items = constraints.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    check_constraint(items[i]);
    auto kind = [](const Field& c) { return std::pair(c["topologyKey"].text(), c["whenUnsatisfiable"].text()); };
    for (std::size_t j = i + 1; j < items.size(); ++j) {
      if (kind(items[i]) != kind(items[j])) continue;
      auto [key, action] = kind(items[i]);
      items[i]["{topologyKey, whenUnsatisfiable}"].duplicate(json::Value(fmt::format("{{{}, {}}}", key, action)));
      break;
    }
  }
}

}  // namespace gangway::apiserver
