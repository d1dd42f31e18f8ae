#include "scheduler/translate.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "json/access.h"

namespace gangway::scheduler {
namespace {

using planning::AffinityTerm;
using planning::Requirement;
using Operator = api::LabelSelector::Operator;

// Selects nothing: no label can be there and not be there.
const Requirement kNever{"", Requirement::Op::kIn, {}};

Requirement translate_one(const api::LabelSelector::Requirement& requirement) {
  Requirement result{requirement.key, Requirement::Op::kIn, requirement.values};
  switch (requirement.op) {
    case Operator::kEquals:
    case Operator::kDoubleEquals:
    case Operator::kIn:
      break;
    case Operator::kNotEquals:
    case Operator::kNotIn:
      result.op = Requirement::Op::kNotIn;
      break;
    case Operator::kExists:
      result.op = Requirement::Op::kExists;
      break;
    case Operator::kDoesNotExist:
      result.op = Requirement::Op::kDoesNotExist;
      break;
    case Operator::kGreaterThan:
      result.op = Requirement::Op::kGt;
      break;
    case Operator::kLessThan:
      result.op = Requirement::Op::kLt;
      break;
  }
  return result;
}

std::vector<Requirement> translate_all(const std::vector<api::LabelSelector::Requirement>& requirements) {
  std::vector<Requirement> result;
  for (const auto& requirement : requirements) result.push_back(translate_one(requirement));
  return result;
}

planning::NodeTerm translate_term(const api::NodeSelector::Term& term) {
  return {translate_all(term.labels), translate_all(term.fields)};
}

// What cannot be read, or is not there, selects nothing.
planning::Selector read_selector(const json::Value* selector) {
  if (!selector) return {{kNever}};
  const auto read = api::read_label_selector(*selector);
  return read ? translate(*read) : planning::Selector{{kNever}};
}

// The values that the pod itself has for these labels are asked for too. Terms of affinity have theirs in their
// selectors already: the API server writes them there.
void add_own_labels(const json::Value& constraint, const api::Header& pod, planning::Selector& selector) {
  for (const std::string& label : json::strings_at(constraint, {"matchLabelKeys"}))
    if (const std::string* value = planning::find_label(pod.labels, label))
      selector.requirements.push_back({label, Requirement::Op::kIn, {*value}});
}

const json::Value* namespace_selector(const json::Value& term) {
  const json::Value* const selector = json::find(term, {"namespaceSelector"});
  return selector && !selector->is_null() ? selector : nullptr;
}

AffinityTerm read_term(const json::Value& term, const api::Header& pod, std::int64_t weight) {
  AffinityTerm result{.pods = read_selector(json::find(term, {"labelSelector"})),
                      .topology_key = std::string(json::string_at(term, {"topologyKey"})),
                      .weight = weight};
  result.namespaces = json::strings_at(term, {"namespaces"});
  const json::Value* selector = namespace_selector(term);
  result.all_namespaces = selector && read_selector(selector).requirements.empty();
  if (result.namespaces.empty() && !selector) result.namespaces = {pod.name.ns};
  std::sort(result.namespaces.begin(), result.namespaces.end());
  return result;
}

// The terms of one kind, as they are added to a shape.
struct TermReader {
  const json::Value& affinity;
  const api::Header& pod;
  planning::PodShape& shape;
  std::vector<NamespaceChoice>& choices;

  void add(const json::Value& term, std::int64_t weight, NamespaceChoice::Terms kind,
           std::vector<AffinityTerm>& terms) {
    terms.push_back(read_term(term, pod, weight));
    const json::Value* const selector = namespace_selector(term);
    if (selector && !terms.back().all_namespaces) choices.push_back({kind, terms.size() - 1, read_selector(selector)});
  }
  void read(const char* key, std::int64_t sign, NamespaceChoice::Terms kind, std::vector<AffinityTerm>& required) {
    for (const auto& term : json::array_at(affinity, {key, "requiredDuringSchedulingIgnoredDuringExecution"}))
      add(term, 0, kind, required);
    for (const auto& item : json::array_at(affinity, {key, "preferredDuringSchedulingIgnoredDuringExecution"}))
      if (const json::Value* term = json::find(item, {"podAffinityTerm"}))
        add(*term, sign * json::integer_at(item, {"weight"}, 1), NamespaceChoice::Terms::kPreferredAffinity,
            shape.preferred_affinity);
  }
};

planning::SpreadConstraint read_spread(const json::Value& item, const api::Header& pod) {
  planning::SpreadConstraint constraint;
  constraint.pods = read_selector(json::find(item, {"labelSelector"}));
  add_own_labels(item, pod, constraint.pods);
  constraint.topology_key = json::string_at(item, {"topologyKey"});
  constraint.max_skew = std::max<std::int64_t>(1, json::integer_at(item, {"maxSkew"}, 1));
  constraint.min_domains = std::max<std::int64_t>(1, json::integer_at(item, {"minDomains"}, 1));
  constraint.is_required = json::string_at(item, {"whenUnsatisfiable"}) != "ScheduleAnyway";
  constraint.honors_node_affinity = json::string_at(item, {"nodeAffinityPolicy"}) != "Ignore";
  constraint.honors_taints = json::string_at(item, {"nodeTaintsPolicy"}) == "Honor";
  return constraint;
}

std::vector<planning::PreferredNodes> read_preferred(const json::Value& pod) {
  std::vector<planning::PreferredNodes> preferred;
  for (const auto& item :
       json::array_at(pod, {"spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"})) {
    const json::Value* preference = json::find(item, {"preference"});
    if (!preference) continue;
    const json::Value selector = json::Object{{"nodeSelectorTerms", json::Array{*preference}}};
    const api::NodeSelector read = api::NodeSelector::of_terms(&selector);
    if (!read.terms().empty())
      preferred.push_back({translate_term(read.terms().front()), json::integer_at(item, {"weight"}, 1)});
  }
  return preferred;
}

planning::Toleration translate_one(const api::Toleration& toleration) {
  planning::Toleration result{.key = toleration.key, .exists = toleration.op == "Exists", .value = toleration.value};
  if (toleration.effect == "NoSchedule") result.effect = planning::Taint::Effect::kNoSchedule;
  if (toleration.effect == "PreferNoSchedule") result.effect = planning::Taint::Effect::kPreferNoSchedule;
  if (toleration.effect == "NoExecute") result.effect = planning::Taint::Effect::kNoExecute;
  return result;
}

}  // namespace

planning::Taint translate(const api::Taint& taint) {
  using Effect = planning::Taint::Effect;
  const Effect effect = taint.effect == "NoExecute"          ? Effect::kNoExecute
                        : taint.effect == "PreferNoSchedule" ? Effect::kPreferNoSchedule
                                                             : Effect::kNoSchedule;
  return {taint.key, taint.value, effect};
}

planning::Selector translate(const api::LabelSelector& selector) {
  if (selector.requirements().empty() && !selector.selects_everything()) return {{kNever}};
  return {translate_all(selector.requirements())};
}

std::vector<planning::NodeSelector> translate(const api::NodeSelector& selector) {
  std::vector<planning::NodeSelector> result;
  if (!selector.labels().empty()) {
    planning::NodeTerm term;
    for (const auto& [key, value] : selector.labels()) term.labels.push_back({key, Requirement::Op::kIn, {value}});
    result.push_back({{std::move(term)}});
  }
  if (selector.has_terms()) {
    planning::NodeSelector terms;
    for (const auto& term : selector.terms()) terms.terms.push_back(translate_term(term));
    result.push_back(std::move(terms));
  }
  return result;
}

std::optional<planning::PlaceLimit> translate(const volumes::PlaceLimit& limit) {
  planning::PlaceLimit result{{}, limit.reason};
  for (const api::NodeSelector& nodes : limit.nodes) {
    if (!nodes.has_terms()) return std::nullopt;
    for (const auto& term : nodes.terms()) result.nodes.terms.push_back(translate_term(term));
  }
  return result;
}

planning::PodShape read_shape(const json::Value& pod, const api::Header& header,
                              std::vector<NamespaceChoice>& choices) {
  planning::PodShape shape;
  shape.ns = header.name.ns;
  for (const api::Toleration& toleration : api::read_tolerations(pod))
    shape.tolerations.push_back(translate_one(toleration));
  shape.required = translate(api::NodeSelector::of_pod(pod));
  shape.preferred = read_preferred(pod);
  if (const json::Value* affinity = json::find(pod, {"spec", "affinity"})) {
    TermReader reader{*affinity, header, shape, choices};
    reader.read("podAffinity", 1, NamespaceChoice::Terms::kAffinity, shape.affinity);
    reader.read("podAntiAffinity", -1, NamespaceChoice::Terms::kAntiAffinity, shape.anti_affinity);
  }
  for (const auto& item : json::array_at(pod, {"spec", "topologySpreadConstraints"}))
    shape.spread.push_back(read_spread(item, header));
  return shape;
}

}  // namespace gangway::scheduler
