#include "json/schema_default.h"

#include "base/quantity.h"
#include "base/time.h"

namespace gangway::json {
namespace {

bool is_scalar_zero(const Value& value) {
  switch (value.kind()) {
    case Kind::bool_:
      return !value.get_bool();
    case Kind::int64:
      return value.get_int64() == 0;
    case Kind::uint64:
      return value.get_uint64() == 0;
    case Kind::double_:
      return value.get_double() == 0;
    case Kind::string:
      return value.get_string().empty();
    default:
      return false;
  }
}

bool is_zero(const Value& value) {
  if (value.is_array()) return value.get_array().empty();
  if (value.is_object()) return value.get_object().empty();
  return value.is_null() || is_scalar_zero(value);
}

// The defaults of one object's missing fields.
void add_missing(Object& object, const Schema& schema) {
  for (const auto& [name, field] : schema.properties) {
    if (!field->default_value) continue;
    Value* value = object.if_contains(name);
    if (value == nullptr) {
      object.emplace(name, *field->default_value);
    } else if (value->is_null() && !field->nullable) {
      *value = *field->default_value;
    }
  }
}

// Go reads a null element as the zero value of its type.
Value zero_of(const Schema& schema) {
  switch (schema.type) {
    case Type::kObject:
      return Object();
    case Type::kString:
      return schema.format == "quantity" ? Value("0") : Value("");
    case Type::kInteger:
    case Type::kIntOrString:
      return 0;
    case Type::kBoolean:
      return false;
    default:
      return nullptr;
  }
}

// "2026-01-02T03:04:05Z": what most times already look like.
bool is_canonical_time(std::string_view text) {
  return text.size() == 20 && text.back() == 'Z' && text[10] == 'T';
}

void normalize_time(Value& value, bool micro) {
  const std::string_view text = value.get_string();
  if (micro ? text.size() == 27 && text.back() == 'Z' : is_canonical_time(text)) return;
  if (auto time = parse_rfc3339(text)) value = micro ? to_rfc3339_micro(*time) : to_rfc3339(*time);
}

void normalize_quantity(Value& value) {
  const std::string text = value.is_string() ? std::string(std::string_view(value.get_string())) : serialize(value);
  auto quantity = Quantity::parse(text);
  if (!quantity) return;
  const std::string canonical = quantity->to_string();
  if (!value.is_string() || canonical != text) value = canonical;
}

void normalize_scalar(Value& value, const Schema& schema) {
  if (schema.type != Type::kString || schema.format.empty()) return;
  if (schema.format == "quantity") {
    normalize_quantity(value);
  } else if (schema.format == "date-time" && value.is_string()) {
    normalize_time(value, schema.micro_time);
  }
}

void normalize_object(Object& object, const Schema& schema) {
  for (auto at = object.begin(); at != object.end();) {
    const Schema* field = schema.field(at->key());
    if (field == nullptr) {
      at = schema.preserve_unknown ? std::next(at) : object.stable_erase(at);
      continue;
    }
    Value& value = at->value();
    const bool mapped = field == schema.additional;
    if (value.is_null()) {
      if (!mapped) {
        at = object.stable_erase(at);
        continue;
      }
      value = zero_of(*field);
    }
    normalize(value, *field);
    // A zero that cannot be told from "not given" makes way for the default.
    const bool unset = !mapped && ((field->omit_zero && is_zero(value)) ||
                                   (field->default_value && field->empty && is_scalar_zero(value)));
    at = unset ? object.stable_erase(at) : std::next(at);
  }
  object.reserve(object.size() + schema.filled.size());
  for (const auto index : schema.filled) {
    const auto& [name, field] = schema.properties[index];
    if (object.contains(name)) continue;
    const auto& source = field->default_value ? field->default_value : field->empty;
    Value& value = object.emplace(name, *source).first->value();
    if (!value.is_null()) normalize(value, *field);
  }
}

// Below a node that is kept as given nulls are dropped all the same: they are how Go programs say nothing.
void fill_in(Value& value, const Schema& schema, bool with_defaults) {
  with_defaults = with_defaults && !schema.as_given;
  const auto default_of = [&](const Schema& field) { return with_defaults && field.default_value; };
  if (value.is_object()) {
    Object& object = value.get_object();
    for (auto at = object.begin(); at != object.end();) {
      const Schema* field = schema.field(at->key());
      const bool drop = field != nullptr && at->value().is_null() && !field->nullable && !default_of(*field);
      at = drop ? object.stable_erase(at) : std::next(at);
    }
    if (with_defaults) add_missing(object, schema);
    for (auto& [key, child] : object) {
      const Schema* field = schema.field(key);
      if (field == nullptr) continue;
      if (field == schema.additional && child.is_null() && !field->nullable && default_of(*field)) {
        child = *field->default_value;
      }
      fill_in(child, *field, with_defaults);
    }
  } else if (value.is_array() && schema.items != nullptr) {
    for (Value& item : value.get_array()) {
      if (item.is_null() && !schema.items->nullable && default_of(*schema.items)) item = *schema.items->default_value;
      fill_in(item, *schema.items, with_defaults);
    }
  }
}

}  // namespace

void apply_defaults(Value& value, const Schema& schema) {
  fill_in(value, schema, true);
}

void normalize(Value& value, const Schema& schema) {
  if (value.is_object()) {
    if (schema.type != Type::kAny) normalize_object(value.get_object(), schema);
  } else if (value.is_array()) {
    if (schema.items == nullptr) return;
    for (Value& item : value.get_array()) {
      if (item.is_null()) item = zero_of(*schema.items);
      normalize(item, *schema.items);
    }
  } else {
    normalize_scalar(value, schema);
  }
}

}  // namespace gangway::json
