// Structural schemas: what the fields of a kind are, as one flat table of nodes.
//
// Built-in kinds (kinds/**.yaml, compiled at build time) and users' CustomResourceDefinitions load into the same nodes,
// so validation, defaults, pruning, patches, managed fields and OpenAPI exist once. Nodes are owned by a SchemaSet and
// never change after loading, so they may be read from any thread; pointers between them may form cycles
// (JSONSchemaProps contains itself).
#pragma once

#include <compare>
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
class Pattern;

// The value rules that a schema may state beside types; most nodes have none.
struct ValueRules {
  std::vector<Value> one_of_values;  // enum
  std::optional<double> minimum, maximum, multiple_of;
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<std::size_t> min_length, max_length, min_items, max_items, min_properties, max_properties;
  std::string pattern;
  std::shared_ptr<const Pattern> compiled_pattern;  // null: no pattern
  bool unique_items = false;
  std::vector<const Schema*> all_of, any_of, one_of;
  const Schema* negated = nullptr;  // not
  std::vector<Value> cel_rules;     // kept as written; not evaluated
};

// Which property a field of a protobuf message is. `outer` is 0, or the number of the message that the field is in
// where JSON has it in place (Go's inline structs).
struct ProtobufField {
  std::uint16_t outer = 0;
  std::uint16_t number = 0;
  std::uint32_t property = 0;  // index into Schema::properties

  auto operator<=>(const ProtobufField&) const = default;
};

struct Schema {
  Type type = Type::kAny;
  std::string name;         // the definition's name ("io.k8s.api.core.v1.PodSpec"), empty for an anonymous node
  std::string format;       // "int32", "int64", "date-time", "byte", "quantity", …
  std::string description;  // ours, short, often empty
  bool nullable = false;
  bool preserve_unknown = false;   // x-kubernetes-preserve-unknown-fields
  bool embedded_resource = false;  // x-kubernetes-embedded-resource
  bool micro_time = false;         // a date-time with microseconds
  ListType list_type = ListType::kAtomic;
  bool list_type_given = false;
  MapType map_type = MapType::kGranular;
  bool map_type_given = false;
  std::vector<std::string> list_keys;                             // x-kubernetes-list-map-keys
  std::string patch_merge_key;                                    // strategic merge patch
  bool patch_merge = false;                                       // patchStrategy contains "merge"
  bool patch_retain_keys = false;                                 // patchStrategy contains "retainKeys"
  bool patch_replace = false;                                     // patchStrategy is "replace": a map is not merged
  std::vector<std::pair<std::string, const Schema*>> properties;  // sorted by name
  const Schema* additional = nullptr;                             // additionalProperties
  const Schema* items = nullptr;
  std::vector<std::string> required;  // enforced by validate()
  std::optional<Value> default_value;
  bool as_given = false;  // no defaults are filled in from here on: a template is stored as it was written
  std::shared_ptr<const ValueRules> rules;  // null: none

  // Built-in types only. A zero value is left out of the object (Go's omitempty), and counts as "not given" for
  // defaults and for `required`.
  bool omit_zero = false;
  // Built-in types only: what is written for the field when it was not given ({}, null, "", 0).
  std::optional<Value> empty;
  // Built-in types only: what OpenAPI documents although the schema does not enforce it.
  std::vector<std::string> documented_required;
  std::vector<Value> documented_values;
  // Indices of the properties that have a default or an `empty`: what filling in has to look at.
  std::vector<std::uint32_t> filled;
  // The Go type that decode errors name, where it does not follow from the rest ("v1.RestartPolicy").
  std::string go_type;
  // Built-in types only: the fields of the type's protobuf message, sorted. Null: it has none.
  std::shared_ptr<const std::vector<ProtobufField>> protobuf;
  // Built-in types only: the message of a type that is one of several things in JSON; the field with the highest
  // number that is there is the value.
  const Schema* protobuf_union = nullptr;

  // A hash table over the names of `properties`: index + 1, 0 for none. Every walk looks up every field of an object.
  std::vector<std::uint32_t> slots;

  // Where a property is in `properties`; nullopt when there is none of this name.
  std::optional<std::uint32_t> property_index(std::string_view key) const;
  // The schema of a property; null when it is not declared.
  const Schema* property(std::string_view key) const;
  // The schema of a field; null when neither the properties nor additionalProperties know it.
  const Schema* field(std::string_view key) const;
};

// Owns the nodes. Movable; the nodes' addresses are stable.
class SchemaSet {
 public:
  // Loads a schema in OpenAPI v3 / CRD form. `$ref: "#/definitions/X"` refers to `definitions` of this set; keywords
  // beside a $ref override the definition's. Errors carry the path within the schema.
  Result<const Schema*> load(const Value& schema);
  // Makes `X` known for $ref. All definitions must be added before a schema that needs them is loaded; they may
  // refer to each other in any order.
  Result<void> add_definitions(const Object& definitions);
  // A definition by name; null when there is none.
  const Schema* definition(std::string_view name) const;
  // All definitions, by name.
  std::vector<std::pair<std::string_view, const Schema*>> definitions() const;

 private:
  struct Loader;
  std::deque<Schema> nodes_;
  std::map<std::string, Schema*, std::less<>> definitions_;
};

}  // namespace gangway::json
