#include "json/schema_validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/quote.h"
#include "json/schema_format.h"
#include "json/schema_path.h"
#include "json/schema_pattern.h"

namespace gangway::json {
namespace {

// What Go's %v prints for a number.
std::string number_text(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e21) return fmt::format("{:.0f}", number);
  return fmt::format("{}", number);
}

// What Go's %#v prints for a decoded document, which is what some messages show.
std::string go_text(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      return "null";
    case Kind::string:
      return quoted(value.get_string());
    case Kind::double_:
      return number_text(value.get_double());
    case Kind::array: {
      std::string out = "[]interface {}{";
      for (const Value& item : value.get_array()) {
        if (out.back() != '{') out += ", ";
        out += go_text(item);
      }
      return out + "}";
    }
    case Kind::object: {
      std::vector<std::pair<std::string_view, const Value*>> fields;
      for (const auto& [key, child] : value.get_object()) fields.emplace_back(key, &child);
      std::sort(fields.begin(), fields.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      std::string out = "map[string]interface {}{";
      for (const auto& [key, child] : fields) {
        if (out.back() != '{') out += ", ";
        out += quoted(key) + ":" + go_text(*child);
      }
      return out + "}";
    }
    default:
      return serialize(value);
  }
}

bool is_whole(const Value& value) {
  if (value.is_int64()) return true;
  if (!value.is_double()) return false;
  const double number = value.get_double();
  return number == std::floor(number) && std::abs(number) < 9007199254740992.0;
}

std::string_view type_of(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      return "null";
    case Kind::bool_:
      return "boolean";
    case Kind::string:
      return "string";
    case Kind::array:
      return "array";
    case Kind::object:
      return "object";
    case Kind::int64:
      return "integer";
    default:
      return "number";
  }
}

std::string_view type_name(Type type) {
  switch (type) {
    case Type::kObject:
      return "object";
    case Type::kArray:
      return "array";
    case Type::kString:
      return "string";
    case Type::kInteger:
      return "integer";
    case Type::kNumber:
      return "number";
    case Type::kBoolean:
      return "boolean";
    case Type::kIntOrString:
      return "integer,string";
    case Type::kAny:
      return "";
  }
  return "";
}

bool has_type(const Value& value, const Schema& schema) {
  switch (schema.type) {
    case Type::kAny:
      return true;
    case Type::kObject:
      return value.is_object();
    case Type::kArray:
      return value.is_array();
    case Type::kString:
      // A quantity of a built-in type, below a custom kind's pod template, may be written as a number.
      return value.is_string() || (value.is_number() && schema.format == "quantity" && !schema.name.empty());
    case Type::kInteger:
      return is_whole(value);
    case Type::kNumber:
      return value.is_number();
    case Type::kBoolean:
      return value.is_bool();
    case Type::kIntOrString:
      return value.is_string() || is_whole(value);
  }
  return true;
}

// Characters, not bytes: a UTF-8 continuation byte starts none.
std::size_t length_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool equal_numbers(const Value& a, const Value& b) {
  return a.is_number() && b.is_number() && a.to_number<double>() == b.to_number<double>();
}

bool is_unset(const Value* value, const Schema* field) {
  if (value == nullptr) return true;
  if (field == nullptr || (!field->omit_zero && !field->empty)) return false;
  if (value->is_string()) return value->get_string().empty();
  if (value->is_array()) return value->get_array().empty();
  if (value->is_number()) return value->to_number<double>() == 0;
  return value->is_null();
}

// The keys of an item of a list of type map; a missing key counts as null.
Object keys_of(const Value& item, const std::vector<std::string>& keys) {
  Object out;
  if (!item.is_object()) return out;
  for (const std::string& key : keys) {
    if (const Value* value = item.get_object().if_contains(key)) out.emplace(key, *value);
  }
  return out;
}

class Validator {
 public:
  Validator(Dialect dialect, std::vector<Cause>& causes) : dialect_(dialect), causes_(causes) {}

  void walk(const Value& value, const Schema& schema, const PathFrame& path, const Value* old) {
    if (old != nullptr && *old == value) return;
    if (value.is_null() && (schema.nullable || dialect_ == Dialect::kBuiltin)) return;
    const bool typed = has_type(value, schema);
    if (!typed) wrong_type(value, schema, path);
    if (typed) {
      if (value.is_object()) walk_object(value, schema, path, old);
      if (value.is_array()) walk_array(value, schema, path, old);
      if (value.is_string() && !schema.format.empty() && dialect_ == Dialect::kCustom) {
        check_format(value.get_string(), schema, path);
      }
    }
    if (schema.rules) check_rules(value, schema, path, typed);
  }

 private:
  void add(std::string_view reason, std::string message, const PathFrame& path) {
    std::string field = path.text();
    causes_.push_back(Cause{std::string(reason), std::move(message), field.empty() ? "<nil>" : std::move(field)});
  }

  void invalid(const PathFrame& path, const std::string& value, std::string_view rule) {
    add("FieldValueInvalid", fmt::format("Invalid value: {}: {} in body {}", value, path.text(), rule), path);
  }

  void composite(const PathFrame& path, std::string_view rule) {
    causes_.push_back(
        Cause{"FieldValueInvalid", fmt::format("Invalid value: \"\": {} {}", quoted(path.text()), rule), "<nil>"});
  }

  void wrong_type(const Value& value, const Schema& schema, const PathFrame& path) {
    const auto given = type_of(value);
    add("FieldValueTypeInvalid",
        fmt::format("Invalid value: \"{}\": {} in body must be of type {}: \"{}\"", given, path.text(),
                    type_name(schema.type), given),
        path);
  }

  void check_format(std::string_view text, const Schema& schema, const PathFrame& path) {
    if (matches_format(schema.format, text)) return;
    add("FieldValueTypeInvalid",
        fmt::format("Invalid value: {0}: {1} in body must be of type {2}: {0}", quoted(text), path.text(),
                    schema.format),
        path);
  }

  void walk_object(const Value& value, const Schema& schema, const PathFrame& path, const Value* old) {
    const Object& object = value.get_object();
    if (schema.embedded_resource && dialect_ == Dialect::kCustom) check_embedded(object, path);
    for (const auto& [key, child] : object) {
      const Schema* field = schema.field(key);
      if (field == nullptr) continue;
      const Value* before = old != nullptr && old->is_object() ? old->get_object().if_contains(key) : nullptr;
      walk(child, *field, path.child(key), before);
    }
    for (const std::string& name : schema.required) {
      const Value* given = object.if_contains(name);
      const bool missing = dialect_ == Dialect::kBuiltin ? is_unset(given, schema.field(name)) : given == nullptr;
      if (missing) add("FieldValueRequired", "Required value", path.child(name));
    }
  }

  void check_embedded(const Object& object, const PathFrame& path) {
    for (const std::string_view name : {"apiVersion", "kind"}) {
      const Value* value = object.if_contains(name);
      if (value == nullptr || (value->is_string() && value->get_string().empty())) {
        add("FieldValueRequired", "Required value: must not be empty", path.child(name));
      }
    }
  }

  void walk_array(const Value& value, const Schema& schema, const PathFrame& path, const Value* old) {
    const Array& items = value.get_array();
    if (schema.items != nullptr) {
      for (std::size_t i = 0; i < items.size(); ++i) {
        walk(items[i], *schema.items, path.child(i), counterpart(items[i], schema, old));
      }
    }
    if (schema.list_type != ListType::kAtomic && dialect_ == Dialect::kCustom) check_duplicates(items, schema, path);
  }

  // The item of the old list that has the same keys. Items of other lists have no identity to compare by.
  static const Value* counterpart(const Value& item, const Schema& schema, const Value* old) {
    if (old == nullptr || !old->is_array() || schema.list_type != ListType::kMap) return nullptr;
    const Object keys = keys_of(item, schema.list_keys);
    for (const Value& before : old->get_array()) {
      if (keys_of(before, schema.list_keys) == keys) return &before;
    }
    return nullptr;
  }

  void check_duplicates(const Array& items, const Schema& schema, const PathFrame& path) {
    std::set<std::string> seen, reported;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Value key = schema.list_type == ListType::kMap ? Value(keys_of(items[i], schema.list_keys)) : items[i];
      std::string text = go_text(key);
      if (seen.insert(text).second || !reported.insert(text).second) continue;
      add("FieldValueDuplicate", "Duplicate value: " + text, path.child(i));
    }
  }

  void check_rules(const Value& value, const Schema& schema, const PathFrame& path, bool typed) {
    const ValueRules& rules = *schema.rules;
    if (!rules.one_of_values.empty()) check_enum(value, rules, path);
    if (typed) {
      if (value.is_number()) check_number(value, rules, path);
      if (value.is_string()) check_string(value.get_string(), rules, path);
      if (value.is_array()) check_items(value.get_array(), rules, path);
      if (value.is_object()) check_properties(value.get_object(), rules, path);
    }
    check_composites(value, rules, path);
  }

  void check_enum(const Value& value, const ValueRules& rules, const PathFrame& path) {
    std::string supported;
    for (const Value& allowed : rules.one_of_values) {
      if (allowed == value || equal_numbers(allowed, value)) return;
      if (!supported.empty()) supported += ", ";
      supported +=
          quoted(allowed.is_string() ? std::string(std::string_view(allowed.get_string())) : serialize(allowed));
    }
    // Nothing given is no unsupported value for a built-in kind; whether it may be missing is another rule.
    if (dialect_ == Dialect::kBuiltin && value.is_string() && value.get_string().empty()) return;
    add("FieldValueNotSupported", fmt::format("Unsupported value: {}: supported values: {}", go_text(value), supported),
        path);
  }

  void check_number(const Value& value, const ValueRules& rules, const PathFrame& path) {
    const double number = value.to_number<double>();
    const std::string text = go_text(value);
    // Kubernetes compares an integer with the integer part of a limit, and so do we: a definition means the same on
    // both.
    const bool whole = dialect_ == Dialect::kCustom && value.is_int64();
    auto limit_of = [&](double limit) { return whole ? std::trunc(limit) : limit; };
    if (rules.multiple_of) check_multiple(number, text, limit_of(*rules.multiple_of), path);
    if (rules.minimum) {
      const double minimum = limit_of(*rules.minimum);
      if (number < minimum || (rules.exclusive_minimum && number == minimum)) {
        bound(path, text, rules.exclusive_minimum ? "greater than" : "greater than or equal to", minimum);
      }
    }
    if (rules.maximum) {
      const double maximum = limit_of(*rules.maximum);
      if (number > maximum || (rules.exclusive_maximum && number == maximum)) {
        bound(path, text, rules.exclusive_maximum ? "less than" : "less than or equal to", maximum);
      }
    }
  }

  void check_multiple(double number, const std::string& text, double factor, const PathFrame& path) {
    if (factor <= 0) {
      return add("FieldValueInvalid",
                 fmt::format("Invalid value: {0}: factor MultipleOf declared for {1} must be positive: {0}",
                             number_text(factor), path.text()),
                 path);
    }
    const double ratio = number / factor;
    if (ratio != std::floor(ratio)) invalid(path, text, "should be a multiple of " + number_text(factor));
  }

  void bound(const PathFrame& path, const std::string& value, std::string_view relation, double limit) {
    if (dialect_ == Dialect::kCustom) {
      invalid(path, value, fmt::format("should be {} {}", relation, number_text(limit)));
    } else {
      add("FieldValueInvalid", fmt::format("Invalid value: {}: must be {} {}", value, relation, number_text(limit)),
          path);
    }
  }

  // The first broken rule of a text is the one that is told.
  void check_string(std::string_view text, const ValueRules& rules, const PathFrame& path) {
    if (rules.max_length && length_of(text) > *rules.max_length) {
      add("FieldValueTooLong", fmt::format("Too long: may not be more than {} bytes", *rules.max_length), path);
    } else if (rules.min_length && length_of(text) < *rules.min_length) {
      invalid(path, quoted(text), fmt::format("should be at least {} chars long", *rules.min_length));
    } else if (rules.compiled_pattern && !rules.compiled_pattern->matches(text)) {
      invalid(path, quoted(text), fmt::format("should match '{}'", rules.pattern));
    }
  }

  void too_many(std::size_t count, std::size_t limit, const PathFrame& path) {
    add("FieldValueTooMany", fmt::format("Too many: {}: must have at most {} items", count, limit), path);
  }

  void check_items(const Array& items, const ValueRules& rules, const PathFrame& path) {
    if (rules.min_items && items.size() < *rules.min_items) {
      invalid(path, std::to_string(items.size()), fmt::format("should have at least {} items", *rules.min_items));
    }
    if (rules.max_items && items.size() > *rules.max_items) too_many(items.size(), *rules.max_items, path);
    if (!rules.unique_items) return;
    std::set<std::string> seen;
    for (const Value& item : items) {
      if (!seen.insert(go_text(item)).second) return invalid(path, "\"\"", "shouldn't contain duplicates");
    }
  }

  void check_properties(const Object& object, const ValueRules& rules, const PathFrame& path) {
    if (rules.min_properties && object.size() < *rules.min_properties) {
      invalid(path, std::to_string(object.size()),
              fmt::format("should have at least {} properties", *rules.min_properties));
    }
    if (rules.max_properties && object.size() > *rules.max_properties) {
      too_many(object.size(), *rules.max_properties, path);
    }
  }

  std::vector<Cause> causes_of(const Value& value, const Schema& schema, const PathFrame& path) const {
    std::vector<Cause> causes;
    Validator(dialect_, causes).walk(value, schema, path, nullptr);
    return causes;
  }

  void append(std::vector<Cause> causes) {
    causes_.insert(causes_.end(), std::make_move_iterator(causes.begin()), std::make_move_iterator(causes.end()));
  }

  void check_composites(const Value& value, const ValueRules& rules, const PathFrame& path) {
    if (!rules.any_of.empty()) check_any_of(value, rules, path);
    if (!rules.one_of.empty()) check_one_of(value, rules, path);
    if (!rules.all_of.empty()) check_all_of(value, rules, path);
    if (rules.negated != nullptr && causes_of(value, *rules.negated, path).empty()) {
      composite(path, "must not validate the schema (not)");
    }
  }

  void check_any_of(const Value& value, const ValueRules& rules, const PathFrame& path) {
    std::vector<Cause> first;
    for (const Schema* schema : rules.any_of) {
      std::vector<Cause> causes = causes_of(value, *schema, path);
      if (causes.empty()) return;
      if (first.empty()) first = std::move(causes);
    }
    composite(path, "must validate at least one schema (anyOf)");
    append(std::move(first));
  }

  void check_one_of(const Value& value, const ValueRules& rules, const PathFrame& path) {
    std::vector<Cause> first;
    std::size_t valid = 0;
    for (const Schema* schema : rules.one_of) {
      std::vector<Cause> causes = causes_of(value, *schema, path);
      if (causes.empty()) ++valid;
      if (first.empty()) first = std::move(causes);
    }
    if (valid == 1) return;
    composite(path,
              "must validate one and only one schema (oneOf). " +
                  (valid == 0 ? std::string("Found none valid") : fmt::format("Found {} valid alternatives", valid)));
    if (valid == 0) append(std::move(first));
  }

  void check_all_of(const Value& value, const ValueRules& rules, const PathFrame& path) {
    std::size_t valid = 0;
    for (const Schema* schema : rules.all_of) {
      std::vector<Cause> causes = causes_of(value, *schema, path);
      if (causes.empty()) ++valid;
      append(std::move(causes));
    }
    if (valid == rules.all_of.size()) return;
    composite(path, valid == 0 ? "must validate all the schemas (allOf). None validated"
                               : "must validate all the schemas (allOf)");
  }

  Dialect dialect_;
  std::vector<Cause>& causes_;
};

}  // namespace

std::vector<Cause> validate(const Value& value, const Schema& schema, Dialect dialect, const Value* old) {
  std::vector<Cause> causes;
  Validator(dialect, causes).walk(value, schema, PathFrame{}, dialect == Dialect::kCustom ? old : nullptr);
  return causes;
}

}  // namespace gangway::json
