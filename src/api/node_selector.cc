#include "api/node_selector.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace gangway::api {
namespace {

using Requirement = LabelSelector::Requirement;
using Operator = LabelSelector::Operator;

std::optional<Operator> operator_of(std::string_view text) {
  if (text == "In") return Operator::kIn;
  if (text == "NotIn") return Operator::kNotIn;
  if (text == "Exists") return Operator::kExists;
  if (text == "DoesNotExist") return Operator::kDoesNotExist;
  if (text == "Gt") return Operator::kGreaterThan;
  if (text == "Lt") return Operator::kLessThan;
  return std::nullopt;
}

// Empty for what the API would have refused.
std::optional<Requirement> read_requirement(const json::Value& expression) {
  const auto op = operator_of(json::string_at(expression, {"operator"}));
  if (!op) return std::nullopt;
  Requirement requirement{.key = std::string(json::string_at(expression, {"key"})), .op = *op, .values = {}};
  if (const auto* values = json::find(expression, {"values"}); values != nullptr && values->is_array()) {
    for (const auto& value : values->get_array())
      if (value.is_string()) requirement.values.emplace_back(value.get_string());
  }
  std::sort(requirement.values.begin(), requirement.values.end());
  if (*op == Operator::kGreaterThan || *op == Operator::kLessThan) {
    if (requirement.values.size() != 1) return std::nullopt;
    const std::string& text = requirement.values.front();
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), requirement.bound);
    if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  }
  return requirement;
}

// False when one of them cannot be read, and so nothing can match.
bool read_requirements(const json::Value& term, std::string_view key, std::vector<Requirement>& out) {
  const auto* list = json::find(term, {key});
  if (list == nullptr || !list->is_array()) return true;
  for (const auto& expression : list->get_array()) {
    auto requirement = read_requirement(expression);
    if (!requirement) return false;
    out.push_back(std::move(*requirement));
  }
  return true;
}

bool all_match(const std::vector<Requirement>& requirements, const StringPairs& pairs) {
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const Requirement& requirement) { return requirement.matches(pairs); });
}

}  // namespace

NodeSelector NodeSelector::of_terms(const json::Value* selector) {
  NodeSelector result;
  if (selector == nullptr || selector->is_null()) return result;
  result.has_terms_ = true;
  const auto* terms = json::find(*selector, {"nodeSelectorTerms"});
  if (terms == nullptr || !terms->is_array()) return result;
  for (const auto& item : terms->get_array()) {
    Term term;
    const bool readable =
        read_requirements(item, "matchExpressions", term.labels) && read_requirements(item, "matchFields", term.fields);
    // A term without requirements selects nothing.
    if (readable && !(term.labels.empty() && term.fields.empty())) result.terms_.push_back(std::move(term));
  }
  return result;
}

NodeSelector NodeSelector::of_name(const std::string& node) {
  NodeSelector result;
  result.has_terms_ = true;
  result.terms_.push_back({{}, {Requirement{.key = "metadata.name", .op = Operator::kIn, .values = {node}}}});
  return result;
}

NodeSelector NodeSelector::of_pod(const json::Value& pod) {
  NodeSelector result =
      of_terms(json::find(pod, {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"}));
  if (const auto* labels = json::find(pod, {"spec", "nodeSelector"}); labels != nullptr && labels->is_object()) {
    for (const auto& entry : labels->get_object())
      if (entry.value().is_string()) result.labels_.emplace_back(entry.key(), entry.value().get_string());
  }
  return result;
}

bool NodeSelector::matches(const Header& node) const {
  const auto has = [&](const auto& wanted) {
    const auto at = std::lower_bound(node.labels.begin(), node.labels.end(), wanted.first,
                                     [](const auto& pair, const std::string& key) { return pair.first < key; });
    return at != node.labels.end() && *at == wanted;
  };
  if (!std::all_of(labels_.begin(), labels_.end(), has)) return false;
  if (!has_terms_) return true;
  return std::any_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    if (!all_match(term.labels, node.labels)) return false;
    return term.fields.empty() || all_match(term.fields, {{"metadata.name", node.name.name}});
  });
}

}  // namespace gangway::api
