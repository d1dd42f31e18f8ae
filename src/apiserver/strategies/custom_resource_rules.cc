#include "apiserver/strategies/custom_resource_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/names.h"
#include "json/schema_structural.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kApproval = "api-approved.kubernetes.io";
constexpr std::size_t kMaxDeprecationWarning = 256;

void check_label(const Field& name, std::string_view text, std::string_view prefix = {}) {
  if (text.empty()) return;
  auto messages = names::check_dns1035_label(text);
  if (!messages.empty()) name.invalid(fmt::format("{}{}", prefix, fmt::join(messages, ",")));
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

void check_names(const Field& names) {
  for (auto key : {"plural", "singular", "kind", "listKind"}) {
    if (names[key].empty()) names[key].required();
  }
  check_label(names["plural"], names["plural"].text());
  check_label(names["singular"], names["singular"].text());
  constexpr std::string_view kMixed = "may have mixed case, but should otherwise match: ";
  check_label(names["kind"], lower_case(names["kind"].text()), kMixed);
  check_label(names["listKind"], lower_case(names["listKind"].text()), kMixed);
  for (const auto& name : names["shortNames"].items()) check_label(name, name.text());
  if (!names["kind"].empty() && names["kind"].text() == names["listKind"].text()) {
    names["listKind"].invalid("kind and listKind may not be the same");
  }
  for (const auto& name : names["categories"].items()) check_label(name, name.text());
}

void check_group(const Field& definition) {
  auto group = definition["spec"]["group"];
  if (group.empty()) return group.required();
  auto messages = names::check_dns1123_subdomain(group.text());
  if (!messages.empty()) return group.invalid(fmt::format("{}", fmt::join(messages, ",")));
  if (group.text().find('.') == std::string_view::npos) group.invalid("should be a domain with at least one dot");
  if (!group.text().ends_with(".k8s.io") && !group.text().ends_with(".kubernetes.io")) return;
  auto approval = definition["metadata"]["annotations"].key(kApproval);
  if (approval.empty())
    approval.required(fmt::format("protected groups must have approval annotation \"{}\"", kApproval));
}

void check_path(const Field& place, std::string_view path) {
  if (!path.starts_with('.')) place.invalid("must be a simple json path starting with .");
}

void check_column(const Field& column) {
  constexpr std::array<std::string_view, 5> kTypes = {"boolean", "date", "integer", "number", "string"};
  constexpr std::array<std::string_view, 9> kFormats = {"byte",  "date",  "date-time", "double",  "float",
                                                        "int32", "int64", "name",      "password"};
  auto one_of = [](const auto& list, const Field& field) {
    if (std::find(list.begin(), list.end(), field.text()) != list.end()) return;
    auto rule = fmt::format("must be one of {}", fmt::join(list, ","));
    field.empty() ? field.required(rule) : field.invalid(rule);
  };
  if (column["name"].empty()) column["name"].required();
  one_of(kTypes, column["type"]);
  if (!column["format"].empty()) one_of(kFormats, column["format"]);
  auto path = column["jsonPath"];
  Field place(path.value(), column["JSONPath"].path(), column.causes());
  if (path.empty()) return place.required();
  check_path(place, path.text());
}

void check_scale(const Field& subresources) {
  auto scale = subresources["scale"];
  if (!scale) return;
  auto below = [](const Field& path, std::string_view parent) {
    if (path.empty()) return path.required();
    if (!path.text().starts_with('.')) return check_path(path, path.text());
    if (!path.text().starts_with(fmt::format("{}.", parent)))
      path.invalid(fmt::format("should be a json path under {}", parent));
  };
  below(scale["specReplicasPath"], ".spec");
  below(scale["statusReplicasPath"], ".status");
  auto selector = scale["labelSelectorPath"];
  if (selector.empty()) return;
  if (!selector.text().starts_with('.')) return check_path(selector, selector.text());
  if (!selector.text().starts_with(".spec.") && !selector.text().starts_with(".status.")) {
    selector.invalid("should be a json path under either .spec or .status");
  }
}

// What all versions say alike is told once, at the place where it stood before versions had their own: clients know
// these paths.
bool same_in_all(const std::vector<Field>& versions, std::string_view key) {
  return std::all_of(versions.begin(), versions.end(),
                     [&](const Field& version) { return version[key] && version[key].same_as(versions.front()[key]); });
}

template <class Check>
void check_part(const Field& spec, std::string_view key, std::string_view shared_key, Check check) {
  auto versions = spec["versions"].items();
  if (!versions.empty() && same_in_all(versions, key)) {
    return check(Field(versions.front()[key].value(), spec[shared_key].path(), spec.causes()));
  }
  for (const auto& version : versions) check(version[key]);
}

void check_schema(const Field& validation) {
  auto schema = validation["openAPIV3Schema"];
  if (!schema) return;
  auto causes = json::check_structural(*schema.value(), schema.path());
  schema.causes().insert(schema.causes().end(), causes.begin(), causes.end());
}

void check_versions(const Field& spec) {
  auto versions = spec["versions"];
  int storage = 0;
  bool unique = true;
  std::set<std::string_view> names;
  for (const auto& version : versions.items()) {
    storage += version["storage"].flag() ? 1 : 0;
    unique &= names.insert(version["name"].text()).second;
    auto messages = names::check_dns1035_label(version["name"].text());
    if (!messages.empty()) version["name"].invalid(fmt::format("{}", fmt::join(messages, ",")));
    if (!version["schema"]["openAPIV3Schema"]) {
      version["schema"]["openAPIV3Schema"].required("schemas are required");
    }
    auto warning = version["deprecationWarning"];
    if (warning && !version["deprecated"].flag()) warning.invalid("can only be set for deprecated versions");
    if (warning.size() > kMaxDeprecationWarning) {
      warning.invalid(fmt::format("must be <= {} characters", kMaxDeprecationWarning));
    }
  }
  check_part(spec, "schema", "validation", check_schema);
  check_part(spec, "subresources", "subresources", check_scale);
  check_part(spec, "additionalPrinterColumns", "additionalPrinterColumns", [](const Field& columns) {
    for (const auto& column : columns.items()) check_column(column);
  });
  if (!unique) versions.invalid("must contain unique version names");
  if (storage != 1) versions.invalid("must have exactly one version marked as storage version");
}

void check_conversion(const Field& conversion) {
  auto strategy = conversion["strategy"];
  if (strategy.text() == "Webhook") {
    if (!conversion["webhook"]["clientConfig"]) {
      conversion["webhookClientConfig"].required("required when strategy is set to Webhook");
    }
  } else if (strategy) {
    strategy.one_of({"None", "Webhook"});
  }
}

}  // namespace

void check_definition(const Field& definition) {
  auto spec = definition["spec"];
  auto name = definition["metadata"]["name"];
  if (name.text() != fmt::format("{}.{}", spec["names"]["plural"].text(), spec["group"].text())) {
    name.invalid("must be spec.names.plural+\".\"+spec.group");
  }
  check_group(definition);
  if (spec["scope"].empty()) {
    spec["scope"].required();
  } else {
    spec["scope"].one_of({"Cluster", "Namespaced"});
  }
  if (spec["preserveUnknownFields"].flag()) {
    spec["preserveUnknownFields"].invalid(
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead");
  }
  check_versions(spec);
  check_names(spec["names"]);
  check_conversion(spec["conversion"]);
  check_stored_versions(definition);
}

void check_definition_update(const Field& definition, const Field& before, bool established) {
  auto spec = definition["spec"];
  auto old = before["spec"];
  if (established) {
    spec["scope"].immutable(old["scope"]);
    spec["names"]["kind"].immutable(old["names"]["kind"]);
  }
  spec["group"].immutable(old["group"]);
  spec["names"]["plural"].immutable(old["names"]["plural"]);
}

void check_stored_versions(const Field& definition) {
  auto stored = definition["status"]["storedVersions"];
  if (stored.empty()) {
    constexpr std::string_view kRule = "must have at least one stored version";
    if (stored) return stored.invalid(kRule);
    return stored.refuse("FieldValueInvalid", fmt::format("Invalid value: []string(nil): {}", kRule));
  }
  std::set<std::string_view> kept;
  for (const auto& version : stored.items()) kept.insert(version.text());
  std::set<std::string_view> known;
  for (const auto& version : definition["spec"]["versions"].items()) {
    auto name = version["name"].text();
    known.insert(name);
    if (version["storage"].flag() && !kept.contains(name)) {
      stored.invalid(fmt::format("must have the storage version {}", name));
    }
  }
  for (const auto& version : stored.items()) {
    if (known.contains(version.text())) continue;
    version.invalid(
        fmt::format("missing from spec.versions; {0} was previously a storage version, and must remain in "
                    "spec.versions until a storage migration ensures no data remains persisted in {0} and "
                    "removes {0} from status.storedVersions",
                    version.text()));
  }
}

}  // namespace gangway::apiserver
