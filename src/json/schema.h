// Structural schemas: what the fields of a kind are, as one flat table of nodes.
//
// Built-in kinds (kinds/**.yaml, compiled at build time) and users' CustomResourceDefinitions load into the same nodes,
// so validation, defaults, pruning, patches, managed fields and OpenAPI exist once. Nodes are owned by a SchemaSet and
// never change after loading; pointers between them may form cycles (JSONSchemaProps contains itself).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace gangway::json {

enum class Type : std::uint8_t { kAny, kObject, kArray, kString, kInteger, kNumber, kBoolean, kIntOrString };
enum class ListType : std::uint8_t { kAtomic, kSet, kMap };
enum class MapType : std::uint8_t { kGranular, kAtomic };

struct Schema;

// The value rules that a schema may state beside types; most nodes have none.
struct ValueRules {
  std::vector<Value> one_of_values;  // enum
  std::optional<double> minimum, maximum, multiple_of;
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<std::size_t> min_length, max_length, min_items, max_items, min_properties, max_properties;
  std::string pattern;
  bool unique_items = false;
  std::vector<const Schema*> all_of, any_of, one_of;
  const Schema* negated = nullptr;  // not
  std::vector<Value> cel_rules;     // kept as written; not evaluated
};

struct Schema {
  Type type = Type::kAny;
  std::string name;         // the definition's name ("io.k8s.api.core.v1.PodSpec"), empty for an anonymous node
  std::string format;       // "int32", "int64", "date-time", "byte", "quantity", …
  std::string description;  // ours, short, often empty
  bool nullable = false;
  bool preserve_unknown = false;   // x-kubernetes-preserve-unknown-fields
  bool embedded_resource = false;  // x-kubernetes-embedded-resource
  ListType list_type = ListType::kAtomic;
  MapType map_type = MapType::kGranular;
  std::vector<std::string> list_keys;        // x-kubernetes-list-map-keys
  std::string patch_merge_key;               // strategic merge patch
  bool patch_merge = false;                  // patchStrategy contains "merge"
  bool patch_retain_keys = false;            // patchStrategy contains "retainKeys"
  std::vector<std::pair<std::string, const Schema*>> properties;  // sorted by name
  const Schema* additional = nullptr;        // additionalProperties
  const Schema* items = nullptr;
  std::vector<std::string> required;
  std::optional<Value> default_value;
  std::unique_ptr<const ValueRules> rules;   // null: none

  // The schema of a field; null when neither the properties nor additionalProperties know it.
  const Schema* field(std::string_view key) const;
};

// Owns the nodes. Movable; the nodes' addresses are stable.
class SchemaSet {
 public:
  // Loads a schema in OpenAPI v3 / CRD form. `$ref: "#/definitions/X"` refers to `definitions` of this set.
  // Errors carry the path within the schema.
  Result<const Schema*> load(const Value& schema);
  // Makes `X` known for $ref. All definitions must be added before a schema that needs them is loaded; they may
  // refer to each other in any order.
  Result<void> add_definitions(const Object& definitions);

 private:
  struct Loader;
  std::deque<Schema> nodes_;
  std::map<std::string, Schema*, std::less<>> definitions_;
};

}  // namespace gangway::json
