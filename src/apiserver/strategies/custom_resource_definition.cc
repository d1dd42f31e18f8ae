#include "apiserver/strategies/custom_resource_definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/conditions.h"
#include "apiserver/registry.h"
#include "apiserver/strategies/custom_resource_rules.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"

namespace gangway::apiserver {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

void add_defaults(json::Value& definition) {
  if (!json::find(definition, {"spec", "names"})) return;
  auto& names = json::object_at(definition, {"spec", "names"});
  std::string kind(json::string_at(definition, {"spec", "names", "kind"}));
  if (json::string_at(definition, {"spec", "names", "singular"}).empty() && !kind.empty()) {
    names["singular"] = lower_case(kind);
  }
  if (json::string_at(definition, {"spec", "names", "listKind"}).empty() && !kind.empty()) {
    names["listKind"] = kind + "List";
  }
}

// What the other kinds of the group are called.
struct Taken {
  std::set<std::string, std::less<>> resources;
  std::set<std::string, std::less<>> kinds;
};

Taken names_of_others(const Registry& registry, std::string_view group, std::string_view own_plural) {
  Taken taken;
  for (const auto& kind : registry.kinds()) {
    if (kind->group != group || (!kind->built_in && kind->plural == own_plural)) continue;
    taken.resources.insert(kind->plural);
    taken.resources.insert(kind->singular);
    taken.resources.insert(kind->short_names.begin(), kind->short_names.end());
    taken.kinds.insert(kind->kind);
    taken.kinds.insert(kind->list_kind);
  }
  return taken;
}

// Takes over the requested names that are free; the last conflict is what the condition tells.
api::Condition accept_names(const Field& requested, const Taken& taken, json::Object& accepted) {
  api::Condition condition{"NamesAccepted", "True", "NoConflicts", "no conflicts found"};
  auto refuse = [&](std::string_view reason, std::string_view name) {
    condition.status = "False";
    condition.reason = reason;
    condition.message = fmt::format("\"{}\" is already in use", name);
  };
  auto take = [&](std::string_view key, const std::set<std::string, std::less<>>& used, std::string_view reason) {
    auto name = requested[key].text();
    if (used.contains(name)) return refuse(reason, name);
    accepted[key] = name;
  };
  take("plural", taken.resources, "PluralConflict");
  take("singular", taken.resources, "SingularConflict");
  bool short_names_free = true;
  for (const auto& name : requested["shortNames"].items()) {
    if (!taken.resources.contains(name.text())) continue;
    refuse("ShortNamesConflict", name.text());
    short_names_free = false;
  }
  auto copy_list = [&](std::string_view key) {
    accepted.erase(key);
    if (!requested[key].empty()) accepted[key] = *requested[key].value();
  };
  if (short_names_free) copy_list("shortNames");
  take("kind", taken.kinds, "KindConflict");
  take("listKind", taken.kinds, "ListKindConflict");
  copy_list("categories");
  return condition;
}

void remember_stored_version(json::Value& definition) {
  std::string storage;
  const auto* versions = json::find(definition, {"spec", "versions"});
  if (!versions || !versions->is_array()) return;
  for (const auto& version : versions->get_array()) {
    const auto* flag = json::find(version, {"storage"});
    if (storage.empty() && flag && flag->is_bool() && flag->get_bool()) storage = json::string_at(version, {"name"});
  }
  if (storage.empty()) return;
  auto& list = json::object_at(definition, {"status"})["storedVersions"];
  if (!list.is_array()) list = json::Array();
  auto& stored = list.get_array();
  if (std::find(stored.begin(), stored.end(), json::Value(storage)) != stored.end()) return;
  stored.emplace_back(storage);
}

void judge_names(Review& review) {
  auto requested = new_object(review)["spec"]["names"];
  auto group = new_object(review)["spec"]["group"].text();
  auto taken = names_of_others(review.facts.registry, group, requested["plural"].text());
  auto& accepted = json::object_at(review.object, {"status", "acceptedNames"});
  auto condition = accept_names(requested, taken, accepted);
  api::set_condition(review.object, condition, review.facts.now);
  if (is_established(review.object)) return;
  if (condition.status == "True") {
    api::set_condition(review.object,
                       {"Established", "True", "InitialNamesAccepted", "the initial names have been accepted"},
                       review.facts.now);
  } else {
    api::set_condition(review.object, {"Established", "False", "NotAccepted", "not all names are accepted"},
                       review.facts.now);
  }
}

void begin_status(json::Value& definition) {
  json::Object nothing_accepted{{"plural", ""}, {"kind", ""}};
  definition.as_object()["status"] =
      json::Object{{"conditions", nullptr}, {"acceptedNames", std::move(nothing_accepted)}};
}

void prepare(Review& review) {
  if (review.subresource == "status") return;
  if (review.operation == Operation::kCreate) begin_status(review.object);
  remember_stored_version(review.object);
}

void conclude(Review& review) {
  if (review.subresource != "status") judge_names(review);
}

bool mentions(const json::Value& value, std::string_view key) {
  if (value.is_array()) {
    return std::any_of(value.get_array().begin(), value.get_array().end(),
                       [&](const auto& v) { return mentions(v, key); });
  }
  if (!value.is_object()) return false;
  return std::any_of(value.get_object().begin(), value.get_object().end(),
                     [&](const auto& entry) { return entry.key() == key || mentions(entry.value(), key); });
}

// Installers of what has become part of the server bring its definitions along: nothing is wrong with that.
void warn_of_built_in(Review& review, const Field& definition) {
  auto spec = definition["spec"];
  if (!review.facts.registry.is_built_in(spec["group"].text(), spec["names"]["plural"].text())) return;
  review.warnings.push_back(fmt::format("{} are built into this server: the definition is kept, but not used",
                                        definition["metadata"]["name"].text()));
}

void validate(Review& review) {
  auto definition = new_object(review);
  if (review.subresource == "status") return check_stored_versions(definition);
  check_definition(definition);
  warn_of_built_in(review, definition);
  if (review.old) {
    check_definition_update(definition, old_object(review), is_established(*review.old));
  }
  for (const auto& version : definition["spec"]["versions"].items()) {
    const auto* schema = version["schema"].value();
    if (!schema || !mentions(*schema, "x-kubernetes-validations")) continue;
    review.warnings.push_back(fmt::format(
        "{}: x-kubernetes-validations are kept, but this server does not evaluate them", version["schema"].path()));
  }
}

void on_delete(json::Value& definition) {
  auto& finalizers = json::object_at(definition, {"metadata"})["finalizers"];
  if (!finalizers.is_array()) finalizers = json::Array();
  auto& list = finalizers.get_array();
  if (std::find(list.begin(), list.end(), json::Value(kCustomResourceCleanup)) == list.end()) {
    list.emplace_back(kCustomResourceCleanup);
  }
  auto since = parse_rfc3339(json::string_at(definition, {"metadata", "deletionTimestamp"}));
  api::set_condition(definition,
                     {"Terminating", "True", "InstanceDeletionPending",
                      "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"},
                     since ? *since : WallTime());
}

}  // namespace

bool is_established(const json::Value& definition) {
  return api::condition_is_true(definition, "Established");
}

const Strategy& custom_resource_definition_strategy() {
  static const Strategy strategy{.add_defaults = add_defaults,
                                 .prepare = prepare,
                                 .validate = validate,
                                 .conclude = conclude,
                                 .generation = GenerationRule::kSpec,
                                 .unconditional_update = false,
                                 .on_delete = on_delete,
                                 .bare_deletion_mark = true};
  return strategy;
}

}  // namespace gangway::apiserver
