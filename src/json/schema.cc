#include "json/schema.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "json/schema_index.h"
#include "json/schema_pattern.h"

namespace gangway::json {
namespace {

constexpr std::string_view kDefinitions = "#/definitions/";

std::string_view text_of(const Value& value) {
  return value.is_string() ? std::string_view(value.get_string()) : std::string_view();
}

bool is_true(const Value& value) {
  return value.is_bool() && value.get_bool();
}

// RAII for the path of the node that is being loaded: errors name it, and nothing else needs it.
class Step {
 public:
  Step(std::string& path, std::string_view key) : path_(path), size_(path.size()) {
    if (!path_.empty()) path_ += '.';
    path_ += key;
  }
  ~Step() { path_.resize(size_); }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

 private:
  std::string& path_;
  std::size_t size_;
};

std::optional<Type> type_named(std::string_view name) {
  if (name == "object") return Type::kObject;
  if (name == "array") return Type::kArray;
  if (name == "string") return Type::kString;
  if (name == "integer") return Type::kInteger;
  if (name == "number") return Type::kNumber;
  if (name == "boolean") return Type::kBoolean;
  return std::nullopt;
}

std::optional<std::uint16_t> protobuf_number(const Value& value) {
  if (!value.is_int64() || value.get_int64() < 1 || value.get_int64() > 0xffff) return std::nullopt;
  return static_cast<std::uint16_t>(value.get_int64());
}

// Names of one type mostly differ in their length and their ends.
std::size_t name_hash(std::string_view name) {
  if (name.empty()) return 0;
  const auto at = [name](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(name[i])); };
  return name.size() + at(0) * 5 + at(name.size() / 2) * 17 + at(name.size() - 1) * 67;
}

std::vector<std::uint32_t> slots_of(const std::vector<std::pair<std::string, const Schema*>>& properties) {
  std::vector<std::uint32_t> slots;
  if (properties.empty()) return slots;
  slots.resize(std::bit_ceil(properties.size() * 2));
  for (std::size_t i = 0; i < properties.size(); ++i) {
    std::size_t slot = name_hash(properties[i].first);
    while (slots[slot % slots.size()] != 0) ++slot;
    slots[slot % slots.size()] = static_cast<std::uint32_t>(i + 1);
  }
  return slots;
}

bool is_rule(std::string_view key) {
  static constexpr std::string_view kRules[] = {"enum",
                                                "minimum",
                                                "maximum",
                                                "exclusiveMinimum",
                                                "exclusiveMaximum",
                                                "multipleOf",
                                                "minLength",
                                                "maxLength",
                                                "pattern",
                                                "minItems",
                                                "maxItems",
                                                "uniqueItems",
                                                "minProperties",
                                                "maxProperties",
                                                "allOf",
                                                "anyOf",
                                                "oneOf",
                                                "not",
                                                "x-kubernetes-validations"};
  return std::find(std::begin(kRules), std::end(kRules), key) != std::end(kRules);
}

}  // namespace

std::optional<std::uint32_t> Schema::property_index(std::string_view key) const {
  if (slots.empty()) return std::nullopt;
  const std::size_t mask = slots.size() - 1;
  for (std::size_t slot = name_hash(key) & mask; slots[slot] != 0; slot = (slot + 1) & mask) {
    const std::uint32_t index = slots[slot] - 1U;
    if (properties[index].first == key) return index;
  }
  return std::nullopt;
}

const Schema* Schema::property(std::string_view key) const {
  const auto at = property_index(key);
  return at ? properties[*at].second : nullptr;
}

const Schema* Schema::field(std::string_view key) const {
  const Schema* declared = property(key);
  return declared != nullptr ? declared : additional;
}

void index_properties(Schema& schema) {
  std::sort(schema.properties.begin(), schema.properties.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  schema.slots = slots_of(schema.properties);
}

struct SchemaSet::Loader {
  SchemaSet& set;
  std::string path;
  std::size_t first_new;  // nodes from here on are this loader's

  // A node that refers to a definition and adds keywords of its own. It is completed when all definitions are.
  struct Refined {
    Schema* node;
    const Schema* target;
    const Object* source;
    std::string path;
  };
  std::vector<Refined> refined;

  Error error(std::string_view message) const {
    return bad_request((path.empty() ? std::string("schema") : path) + ": " + std::string(message));
  }

  Result<const Schema*> load(const Value& source) {
    if (!source.is_object()) return error("must be an object");
    const Object& object = source.get_object();
    if (const Value* reference = object.if_contains("$ref")) return load_reference(object, text_of(*reference));
    Schema& node = set.nodes_.emplace_back();
    GW_CHECKED(fill(node, object));
    return &node;
  }

  Result<const Schema*> load_reference(const Object& object, std::string_view reference) {
    GW_TRY(const Schema* target, find(reference));
    if (object.size() == 1) return target;
    Schema& node = set.nodes_.emplace_back();
    refined.push_back(Refined{&node, target, &object, path});
    return &node;
  }

  Result<const Schema*> find(std::string_view reference) {
    if (!reference.starts_with(kDefinitions)) return error("$ref must start with #/definitions/");
    auto at = set.definitions_.find(reference.substr(kDefinitions.size()));
    if (at == set.definitions_.end()) return error("there is no definition " + std::string(reference));
    return at->second;
  }

  // Requires: every definition that a refined node refers to is filled. A definition never is a refined node itself.
  Result<void> complete() {
    for (std::size_t i = 0; i < refined.size(); ++i) {
      const Refined entry = refined[i];
      path = entry.path;
      *entry.node = *entry.target;
      GW_CHECKED(fill(*entry.node, *entry.source));
    }
    refined.clear();
    for (auto at = set.nodes_.begin() + static_cast<std::ptrdiff_t>(first_new); at != set.nodes_.end(); ++at)
      index(*at);
    return {};
  }

  static void index(Schema& node) {
    node.filled.clear();
    for (std::size_t i = 0; i < node.properties.size(); ++i) {
      const Schema& field = *node.properties[i].second;
      if (field.default_value || field.empty) node.filled.push_back(static_cast<std::uint32_t>(i));
    }
  }

  Result<void> fill(Schema& node, const Object& source) {
    std::shared_ptr<ValueRules> rules;
    for (const auto& [raw_key, value] : source) {
      const std::string_view key = raw_key;
      if (is_rule(key)) {
        if (!rules) rules = node.rules ? std::make_shared<ValueRules>(*node.rules) : std::make_shared<ValueRules>();
        GW_CHECKED(fill_rule(*rules, key, value));
        continue;
      }
      if (key.starts_with("x-")) {
        GW_CHECKED(fill_extension(node, key, value));
        continue;
      }
      GW_CHECKED(fill_shape(node, key, value));
    }
    if (rules) node.rules = std::move(rules);
    // After the properties, which it points to.
    if (const Value* numbers = source.if_contains("x-gangway-protobuf")) return fill_protobuf(node, *numbers);
    return {};
  }

  Result<void> fill_shape(Schema& node, std::string_view key, const Value& value) {
    if (key == "type") return fill_type(node, value);
    if (key == "properties") return fill_properties(node, value);
    if (key == "items") {
      Step step(path, key);
      GW_TRY(node.items, load(value));
    } else if (key == "additionalProperties") {
      return fill_additional(node, value);
    } else if (key == "required") {
      GW_TRY(node.required, strings(key, value));
    } else if (key == "default") {
      node.default_value = value;
    } else if (key == "format") {
      node.format = text_of(value);
      if (node.format == "int-or-string") node.type = Type::kIntOrString;
    } else if (key == "description") {
      node.description = text_of(value);
    } else if (key == "nullable") {
      node.nullable = is_true(value);
    }
    return {};
  }

  Result<void> fill_type(Schema& node, const Value& value) {
    if (text_of(value).empty()) return {};
    const auto type = type_named(text_of(value));
    if (!type) return error("unknown type " + serialize(value));
    if (node.type != Type::kIntOrString) node.type = *type;
    return {};
  }

  Result<void> fill_properties(Schema& node, const Value& value) {
    if (!value.is_object()) return error("properties must be an object");
    node.properties.clear();
    node.properties.reserve(value.get_object().size());
    for (const auto& [key, child] : value.get_object()) {
      Step step(path, key);
      GW_TRY(const Schema* schema, load(child));
      node.properties.emplace_back(std::string(key), schema);
    }
    index_properties(node);
    return {};
  }

  Result<void> fill_additional(Schema& node, const Value& value) {
    if (value.is_bool()) {
      if (!value.get_bool()) return {};
      Schema& anything = set.nodes_.emplace_back();
      anything.preserve_unknown = true;
      node.additional = &anything;
      return {};
    }
    Step step(path, "additionalProperties");
    GW_TRY(node.additional, load(value));
    return {};
  }

  Result<std::vector<std::string>> strings(std::string_view key, const Value& value) {
    std::vector<std::string> out;
    if (!value.is_array()) return error(std::string(key) + " must be a list of strings");
    for (const Value& item : value.get_array()) {
      if (!item.is_string()) return error(std::string(key) + " must be a list of strings");
      out.emplace_back(std::string_view(item.get_string()));
    }
    return out;
  }

  Result<void> fill_extension(Schema& node, std::string_view key, const Value& value) {
    if (key.starts_with("x-gangway-")) return fill_own_extension(node, key.substr(10), value);
    if (!key.starts_with("x-kubernetes-")) return {};
    key.remove_prefix(13);
    if (key == "preserve-unknown-fields") {
      node.preserve_unknown = is_true(value);
    } else if (key == "embedded-resource") {
      node.embedded_resource = is_true(value);
    } else if (key == "int-or-string") {
      if (is_true(value)) node.type = Type::kIntOrString;
    } else if (key == "list-type") {
      const auto type = text_of(value);
      node.list_type = type == "map" ? ListType::kMap : type == "set" ? ListType::kSet : ListType::kAtomic;
      node.list_type_given = true;
    } else if (key == "list-map-keys") {
      GW_TRY(node.list_keys, strings(key, value));
    } else if (key == "map-type") {
      node.map_type = text_of(value) == "atomic" ? MapType::kAtomic : MapType::kGranular;
      node.map_type_given = true;
    } else if (key == "patch-merge-key") {
      node.patch_merge_key = text_of(value);
    } else if (key == "patch-strategy") {
      node.patch_merge = text_of(value).find("merge") != std::string_view::npos;
      node.patch_retain_keys = text_of(value).find("retainKeys") != std::string_view::npos;
      node.patch_replace = text_of(value) == "replace";
    }
    return {};
  }

  Result<void> fill_own_extension(Schema& node, std::string_view key, const Value& value) {
    if (key == "omit") {
      node.omit_zero = is_true(value);
    } else if (key == "empty") {
      node.empty = value;
    } else if (key == "atomic") {
      // Not given in OpenAPI, and so nothing that map_type_given speaks of.
      if (is_true(value)) node.map_type = MapType::kAtomic;
    } else if (key == "as-given") {
      node.as_given = is_true(value);
    } else if (key == "micro-time") {
      node.micro_time = is_true(value);
    } else if (key == "go-type") {
      node.go_type = text_of(value);
    } else if (key == "protobuf-union") {
      Step step(path, "x-gangway-protobuf-union");
      GW_TRY(node.protobuf_union, load(value));
    } else if (key == "doc-required") {
      GW_TRY(node.documented_required, strings(key, value));
    } else if (key == "doc-enum") {
      if (!value.is_array()) return error("x-gangway-doc-enum must be a list");
      node.documented_values.assign(value.get_array().begin(), value.get_array().end());
    }
    return {};
  }

  Result<void> fill_protobuf(Schema& node, const Value& numbers) {
    if (!numbers.is_object()) return error("x-gangway-protobuf must map properties to numbers");
    auto fields = std::make_shared<std::vector<ProtobufField>>();
    fields->reserve(numbers.get_object().size());
    for (const auto& [key, value] : numbers.get_object()) {
      const bool nested = value.is_array() && value.get_array().size() == 2;
      const auto number = protobuf_number(nested ? value.get_array()[1] : value);
      const auto outer = nested ? protobuf_number(value.get_array()[0]) : std::optional<std::uint16_t>(0);
      const auto property = node.property_index(key);
      if (!number || !outer || !property) return error("x-gangway-protobuf: bad entry " + std::string(key));
      fields->push_back({*outer, *number, *property});
    }
    std::sort(fields->begin(), fields->end());
    node.protobuf = std::move(fields);
    return {};
  }

  Result<void> fill_rule(ValueRules& rules, std::string_view key, const Value& value) {
    if (key == "enum" || key == "x-kubernetes-validations") {
      if (!value.is_array()) return error(std::string(key) + " must be a list");
      auto& target = key == "enum" ? rules.one_of_values : rules.cel_rules;
      target.assign(value.get_array().begin(), value.get_array().end());
    } else if (key == "allOf") {
      return schemas(key, value, rules.all_of);
    } else if (key == "anyOf") {
      return schemas(key, value, rules.any_of);
    } else if (key == "oneOf") {
      return schemas(key, value, rules.one_of);
    } else if (key == "not") {
      Step step(path, key);
      GW_TRY(rules.negated, load(value));
    } else if (key == "pattern") {
      rules.pattern = text_of(value);
      if (rules.pattern.empty()) return {};
      Step step(path, key);
      auto compiled = Pattern::compile(rules.pattern);
      if (!compiled) return error(compiled.error().message);
      rules.compiled_pattern = *compiled;
    } else if (key == "uniqueItems") {
      rules.unique_items = is_true(value);
    } else if (key == "exclusiveMinimum") {
      rules.exclusive_minimum = is_true(value);
    } else if (key == "exclusiveMaximum") {
      rules.exclusive_maximum = is_true(value);
    } else {
      return fill_bound(rules, key, value);
    }
    return {};
  }

  Result<void> schemas(std::string_view key, const Value& value, std::vector<const Schema*>& out) {
    if (!value.is_array()) return error(std::string(key) + " must be a list of schemas");
    out.clear();
    for (std::size_t i = 0; i < value.get_array().size(); ++i) {
      Step step(path, std::string(key) + "[" + std::to_string(i) + "]");
      GW_TRY(const Schema* schema, load(value.get_array()[i]));
      out.push_back(schema);
    }
    return {};
  }

  Result<void> fill_bound(ValueRules& rules, std::string_view key, const Value& value) {
    if (!value.is_number()) return error(std::string(key) + " must be a number");
    const double number = value.to_number<double>();
    if (key == "minimum") {
      rules.minimum = number;
    } else if (key == "maximum") {
      rules.maximum = number;
    } else if (key == "multipleOf") {
      rules.multiple_of = number;
    } else {
      // Users' definitions may hold any integer here; below zero, a limit means what zero means.
      const double limit = std::clamp(std::floor(number), 0.0, 1e15);
      const auto size = static_cast<std::size_t>(limit);
      if (key == "minLength") rules.min_length = size;
      if (key == "maxLength") rules.max_length = size;
      if (key == "minItems") rules.min_items = size;
      if (key == "maxItems") rules.max_items = size;
      if (key == "minProperties") rules.min_properties = size;
      if (key == "maxProperties") rules.max_properties = size;
    }
    return {};
  }
};

Result<const Schema*> SchemaSet::load(const Value& schema) {
  Loader loader{*this, {}, nodes_.size(), {}};
  GW_TRY(const Schema* root, loader.load(schema));
  GW_CHECKED(loader.complete());
  return root;
}

Result<void> SchemaSet::add_definitions(const Object& definitions) {
  const std::size_t first_new = nodes_.size();
  for (const auto& [name, source] : definitions) {
    if (source.is_object() && source.get_object().contains("$ref")) {
      return bad_request(std::string(name) + ": a definition may not be a $ref itself");
    }
    Schema*& node = definitions_[std::string(name)];
    if (node == nullptr) node = &nodes_.emplace_back();
    node->name = name;
  }
  Loader loader{*this, {}, first_new, {}};
  for (const auto& [name, source] : definitions) {
    loader.path = name;
    if (!source.is_object()) return loader.error("must be an object");
    GW_CHECKED(loader.fill(*definitions_.find(std::string_view(name))->second, source.get_object()));
  }
  return loader.complete();
}

const Schema* SchemaSet::definition(std::string_view name) const {
  auto at = definitions_.find(name);
  return at == definitions_.end() ? nullptr : at->second;
}

std::vector<std::pair<std::string_view, const Schema*>> SchemaSet::definitions() const {
  return {definitions_.begin(), definitions_.end()};
}

}  // namespace gangway::json
