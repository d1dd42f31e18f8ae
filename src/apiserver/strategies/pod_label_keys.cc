#include "apiserver/strategies/pod_label_keys.h"

#include <string>

#include "json/access.h"

namespace gangway::apiserver {
namespace {

void add_expressions(json::Value& term, const char* keys, const char* op, const json::Value& pod) {
  for (const std::string& key : json::strings_at(term, {keys})) {
    const auto* value = json::find(pod, {"metadata", "labels", key});
    if (!value || !value->is_string()) continue;
    json::Value& expressions = json::object_at(term, {"labelSelector"})["matchExpressions"];
    if (!expressions.is_array()) expressions = json::Array();
    expressions.get_array().push_back(json::Object{{"key", key}, {"operator", op}, {"values", json::Array{*value}}});
  }
}

void apply_to_term(json::Value& term, const json::Value& pod) {
  // No selector selects nobody, whatever is added to it.
  const auto* selector = json::find(term, {"labelSelector"});
  if (!selector || !selector->is_object()) return;
  add_expressions(term, "matchLabelKeys", "In", pod);
  add_expressions(term, "mismatchLabelKeys", "NotIn", pod);
}

template <class Visit>
void for_each_in(json::Value* list, Visit visit) {
  if (!list || !list->is_array()) return;
  for (auto& item : list->get_array())
    if (item.is_object()) visit(item);
}

}  // namespace

void apply_label_keys(json::Value& pod) {
  for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
    auto* affinity = json::find(pod, {"spec", "affinity", kind});
    if (!affinity || !affinity->is_object()) continue;
    for_each_in(json::find(*affinity, {"requiredDuringSchedulingIgnoredDuringExecution"}),
                [&](json::Value& term) { apply_to_term(term, pod); });
    for_each_in(json::find(*affinity, {"preferredDuringSchedulingIgnoredDuringExecution"}), [&](json::Value& item) {
      if (auto* term = json::find(item, {"podAffinityTerm"}); term && term->is_object()) apply_to_term(*term, pod);
    });
  }
}

}  // namespace gangway::apiserver
