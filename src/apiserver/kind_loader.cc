#include "apiserver/kind_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apiserver/strategy.h"
#include "json/schema_index.h"
#include "json/structured_merge.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kObjectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
// In the order in which the real server lists them.
const std::vector<std::string> kUsualVerbs{"delete", "deletecollection", "get",    "list",
                                           "patch",  "create",           "update", "watch"};
const std::vector<std::string> kEditVerbs{"get", "patch", "update"};

std::string text(const json::Value& value, std::string_view key, std::string_view otherwise = "") {
  auto found = json::string_at(value, {key});
  return std::string(found.empty() ? otherwise : found);
}

bool flag(const json::Value& value, std::string_view key, bool otherwise) {
  const auto* found = json::find(value, {key});
  return found && found->is_bool() ? found->get_bool() : otherwise;
}

const json::Array& array(const json::Value& value, std::string_view key) {
  static const json::Array empty;
  const auto* found = json::find(value, {key});
  return found && found->is_array() ? found->get_array() : empty;
}

std::vector<std::string> texts(const json::Value& value, std::string_view key) {
  std::vector<std::string> out;
  for (const auto& element : array(value, key)) {
    if (element.is_string()) out.emplace_back(element.get_string());
  }
  return out;
}

// ".spec.replicas" → {"spec", "replicas"}
std::vector<std::string> steps(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    if (path.front() == '.') path.remove_prefix(1);
    auto dot = path.find('.');
    out.emplace_back(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot);
  }
  return out;
}

Result<Column> column_of(const json::Value& value) {
  Column column;
  column.name = text(value, "name");
  column.type = text(value, "type");
  column.format = text(value, "format");
  column.description = text(value, "description");
  // "0" and "false" are written as text in the kinds, and shown as what they mean.
  if (auto none = text(value, "none"); none == "0" || none == "false" || none == "true") {
    GW_TRY(column.none, json::parse(none));
  } else {
    column.none = none;
  }
  if (const auto* priority = json::find(value, {"priority"}); priority && priority->is_int64()) {
    column.priority = static_cast<int>(priority->get_int64());
  }
  if (auto function = text(value, "function"); !function.empty()) {
    column.cell = cell_function(function);
    if (!column.cell)
      return internal_error(fmt::format("column {}: there is no cell function {}", column.name, function));
    return column;
  }
  GW_TRY(column.path, json::JsonPath::parse(text(value, "jsonPath")));
  return column;
}

// The fields that any version lets be selected. Their names are their paths.
void set_selectable(KindInfo& kind, const json::Array& versions) {
  std::map<std::string, std::string> missing;
  for (const auto& version : versions) {
    for (const auto& field : array(version, "selectableFields")) {
      auto path = text(field, "jsonPath");
      auto name = text(field, "name", path.starts_with(".") ? path.substr(1) : path);
      missing[name] = text(field, "default");
    }
  }
  std::vector<api::SelectableField> fields;
  for (const auto& [name, otherwise] : missing) {
    kind.selectable_names.push_back(name);
    fields.push_back({name, otherwise});
  }
  kind.header_fields = api::SelectableFields(fields);
}

ScalePaths scale_of(const json::Value& value) {
  return ScalePaths{steps(text(value, "specReplicasPath")), steps(text(value, "statusReplicasPath")),
                    steps(text(value, "labelSelectorPath")), steps(text(value, "selectorObjectPath"))};
}

void add_status(ServedVersion& version, const std::string& kind) {
  version.status_subresource = true;
  version.subresources.push_back(Subresource{"status", "", "", kind, nullptr, kEditVerbs});
}

void add_scale(ServedVersion& version, const json::Value& value) {
  version.scale = scale_of(value);
  version.subresources.push_back(Subresource{"scale", "autoscaling", "v1", "Scale", nullptr, kEditVerbs});
}

Result<void> add_builtin_subresource(ServedVersion& version, const json::Value& value, const std::string& kind,
                                     json::SchemaSet& schemas) {
  auto name = text(value, "name");
  if (name == "status") {
    add_status(version, kind);
  } else if (name == "scale") {
    add_scale(version, value);
  } else {
    Subresource subresource{name,    text(value, "group"), text(value, "version"), text(value, "kind", kind),
                            nullptr, texts(value, "verbs")};
    if (const auto* schema = json::find(value, {"schema"})) {
      GW_TRY(subresource.schema, schemas.load(*schema));
    }
    version.subresources.push_back(std::move(subresource));
  }
  return {};
}

std::shared_ptr<const json::Schema> with_type_and_metadata(const json::Schema& schema,
                                                           const json::Schema& object_meta) {
  static const auto text_field = [] {
    json::Schema node;
    node.type = json::Type::kString;
    return node;
  }();
  auto whole = std::make_shared<json::Schema>(schema);
  std::erase_if(whole->properties, [](const auto& property) {
    return property.first == "apiVersion" || property.first == "kind" || property.first == "metadata";
  });
  whole->properties.emplace_back("apiVersion", &text_field);
  whole->properties.emplace_back("kind", &text_field);
  whole->properties.emplace_back("metadata", &object_meta);
  json::index_properties(*whole);
  return whole;
}

Result<ServedVersion> builtin_version(const json::Value& value, const KindInfo& kind, json::SchemaSet& schemas) {
  ServedVersion version;
  version.name = text(value, "name");
  version.served = flag(value, "served", true);
  version.storage = flag(value, "storage", false);
  version.deprecation_warning = text(value, "deprecationWarning");
  GW_TRY(version.schema, schemas.load(value.at("schema")));
  version.object_meta = schemas.definition(kObjectMeta);
  if (kind.custom) {
    version.whole = with_type_and_metadata(*version.schema, *version.object_meta);
    version.empty = json::Object();
  } else {
    version.empty = json::empty_object(*version.schema);
  }
  for (const auto& subresource : array(value, "subresources"))
    GW_CHECKED(add_builtin_subresource(version, subresource, kind.kind, schemas));
  for (const auto& entry : array(value, "columns")) {
    GW_TRY(auto column, column_of(entry));
    version.columns.push_back(std::move(column));
  }
  return version;
}

Result<std::shared_ptr<const KindInfo>> builtin_kind(const json::Value& value, json::SchemaSet& schemas) {
  auto kind = std::make_shared<KindInfo>();
  kind->group = text(value, "group");
  kind->kind = text(value, "kind");
  kind->list_kind = text(value, "listKind", kind->kind + "List");
  kind->plural = text(value, "plural");
  kind->singular = text(value, "singular");
  kind->short_names = texts(value, "shortNames");
  kind->categories = texts(value, "categories");
  kind->namespaced = text(value, "scope") == "Namespaced";
  kind->built_in = true;
  kind->custom = text(value, "dialect") == "crd";
  kind->stored = flag(value, "stored", true);
  kind->verbs = texts(value, "verbs");
  kind->storage_name = text(value, "storageName");
  kind->durability = text(value, "durability") == "relaxed" ? store::Durability::kRelaxed : store::Durability::kFull;
  kind->strategy = &strategy_for(kind->group, kind->kind);
  if (kind->custom && kind->strategy == &strategy_without_rules()) kind->strategy = &custom_resource_strategy();
  for (const auto& entry : array(value, "versions")) {
    GW_TRY(auto version, builtin_version(entry, *kind, schemas));
    kind->versions.push_back(std::move(version));
  }
  set_selectable(*kind, array(value, "versions"));
  return std::shared_ptr<const KindInfo>(std::move(kind));
}

// A custom kind without columns of its own shows its age.
json::Array custom_columns(const json::Value& version) {
  json::Array columns{json::Object{{"name", "Name"},
                                   {"type", "string"},
                                   {"format", "name"},
                                   {"jsonPath", ".metadata.name"},
                                   {"description", "Name of the object."}}};
  const auto& own = array(version, "additionalPrinterColumns");
  if (own.empty()) {
    columns.push_back(json::Object{{"name", "Age"},
                                   {"type", "date"},
                                   {"jsonPath", ".metadata.creationTimestamp"},
                                   {"description", "Time since the object was created."}});
  }
  for (const auto& column : own) columns.push_back(column);
  return columns;
}

// Says which version to use instead: the best that is served, better than this one and not deprecated itself.
std::string usual_deprecation(const json::Value& spec, std::string_view deprecated) {
  std::string better;
  for (const auto& version : array(spec, "versions")) {
    auto name = text(version, "name");
    if (!flag(version, "served", false) || flag(version, "deprecated", false)) continue;
    if (more_stable(name, better.empty() ? deprecated : std::string_view(better))) better = name;
  }
  auto group = text(spec, "group");
  auto kind = text(spec.at("names"), "kind");
  auto warning = fmt::format("{}/{} {} is deprecated", group, deprecated, kind);
  return better.empty() ? warning : fmt::format("{}; use {}/{} {}", warning, group, better, kind);
}

Result<ServedVersion> custom_version(const json::Value& value, const std::string& kind, json::SchemaSet& schemas) {
  ServedVersion version;
  version.empty = json::Object();
  version.name = text(value, "name");
  version.served = flag(value, "served", false);
  version.storage = flag(value, "storage", false);
  if (const auto* schema = json::find(value, {"schema", "openAPIV3Schema"})) {
    GW_TRY(version.schema, schemas.load(*schema));
  } else {
    GW_TRY(version.schema,
           schemas.load(json::Object{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}));
  }
  if (json::find(value, {"subresources", "status"})) add_status(version, kind);
  if (const auto* scale = json::find(value, {"subresources", "scale"})) add_scale(version, *scale);
  for (const auto& entry : custom_columns(value)) {
    GW_TRY(auto column, column_of(entry));
    version.columns.push_back(std::move(column));
  }
  return version;
}

}  // namespace

Result<LoadedKinds> load_builtin_kinds(std::string_view compiled) {
  GW_TRY(auto document, json::parse(compiled, {.max_bytes = compiled.size() + 1, .max_depth = 128}));
  auto schemas = std::make_shared<json::SchemaSet>();
  GW_CHECKED(schemas->add_definitions(document.at("definitions").as_object()));
  LoadedKinds loaded;
  for (const auto& entry : array(document, "kinds")) {
    auto kind = builtin_kind(entry, *schemas);
    if (!kind) return std::move(kind.error()).within(text(entry, "kind"));
    loaded.kinds.push_back(std::move(*kind));
  }
  loaded.schemas = std::move(schemas);
  for (const auto& object : array(document, "initialObjects")) loaded.initial_objects.push_back(object);
  return loaded;
}

Result<std::shared_ptr<const KindInfo>> kind_of_definition(const json::Value& definition,
                                                           const json::SchemaSet& builtin) {
  auto kind = std::make_shared<KindInfo>();
  auto schemas = std::make_shared<json::SchemaSet>();
  const auto& spec = definition.at("spec");
  const auto& names = spec.at("names");
  kind->group = text(spec, "group");
  kind->kind = text(names, "kind");
  kind->list_kind = text(names, "listKind", kind->kind + "List");
  kind->plural = text(names, "plural");
  kind->singular = text(names, "singular");
  kind->short_names = texts(names, "shortNames");
  kind->categories = texts(names, "categories");
  kind->namespaced = text(spec, "scope") == "Namespaced";
  kind->custom = true;
  kind->verbs = kUsualVerbs;
  kind->storage_name = kind->plural + "." + kind->group;
  kind->strategy = &custom_resource_strategy();
  for (const auto& entry : array(spec, "versions")) {
    GW_TRY(auto version, custom_version(entry, kind->kind, *schemas));
    version.object_meta = builtin.definition(kObjectMeta);
    version.whole = with_type_and_metadata(*version.schema, *version.object_meta);
    if (flag(entry, "deprecated", false)) {
      version.deprecation_warning = text(entry, "deprecationWarning", usual_deprecation(spec, version.name));
    }
    kind->versions.push_back(std::move(version));
  }
  set_selectable(*kind, array(spec, "versions"));
  kind->schemas = std::move(schemas);
  return std::shared_ptr<const KindInfo>(std::move(kind));
}

}  // namespace gangway::apiserver
