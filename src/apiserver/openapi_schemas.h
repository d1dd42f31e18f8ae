// The components of an OpenAPI document: schema nodes written back as JSON, each named one once.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "json/schema.h"

namespace gangway::apiserver {

inline constexpr std::string_view kMetaPrefix = "io.k8s.apimachinery.pkg.apis.meta.v1.";

struct GroupVersionKind {
  std::string_view group, version, kind;
};

json::Object gvk_json(const GroupVersionKind& gvk);

class OpenApiComponents {
 public:
  explicit OpenApiComponents(const json::SchemaSet& shared) : shared_(shared) {}

  // Adds the schema of a kind and all that it refers to; returns the component's name. Kinds without a definition of
  // their own (custom resources, other versions of a kind) are named after their group.
  std::string add_kind(const GroupVersionKind& gvk, const json::Schema& schema);
  // Adds the list of a kind that was added as `item`.
  std::string add_list(const GroupVersionKind& list, std::string_view item);
  // Adds a meta type by its short name ("Status").
  std::string add_meta(std::string_view name);

  static json::Object reference(std::string_view component);
  json::Object take() { return std::move(schemas_); }

 private:
  json::Value write(const json::Schema& schema);
  json::Value write_reference(const json::Schema& schema);
  json::Object write_inline(const json::Schema& schema);
  void write_object_fields(json::Object& properties);
  void write_rules(const json::ValueRules& rules, json::Object& out);
  void write_children(const json::Schema& schema, json::Object& out);
  void add_definition(const json::Schema& schema);

  const json::SchemaSet& shared_;
  json::Object schemas_;
};

}  // namespace gangway::apiserver
