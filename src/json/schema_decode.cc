#include "json/schema_decode.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/base64.h"
#include "base/quantity.h"
#include "json/schema_path.h"
#include "json/schema_time.h"

namespace gangway::json {
namespace {

constexpr std::string_view kQuantityMessage =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

std::string_view json_type(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      return "null";
    case Kind::bool_:
      return "bool";
    case Kind::string:
      return "string";
    case Kind::array:
      return "array";
    case Kind::object:
      return "object";
    default:
      return "number";
  }
}

// The last part of a definition's name: "PodSpec".
std::string_view struct_name(const Schema& schema) {
  const std::string_view name = schema.name;
  return name.substr(name.rfind('.') + 1);
}

bool is_struct(const Schema& schema) {
  return !schema.name.empty() && schema.type == Type::kObject;
}

std::string go_type(const Schema& schema) {
  if (!schema.go_type.empty()) return schema.go_type;
  if (is_struct(schema)) {
    const auto dot = schema.name.rfind('.', schema.name.rfind('.') - 1);
    return schema.name.substr(dot + 1);
  }
  switch (schema.type) {
    case Type::kArray:
      return "[]" + (schema.items != nullptr ? go_type(*schema.items) : std::string("interface {}"));
    case Type::kObject:
      return "map[string]" + (schema.additional != nullptr ? go_type(*schema.additional) : std::string("interface {}"));
    case Type::kInteger:
      return schema.format.empty() ? "int64" : schema.format;
    case Type::kNumber:
      return "float64";
    case Type::kBoolean:
      return "bool";
    case Type::kIntOrString:
      return "int32";
    default:
      return schema.format == "byte" ? "[]uint8" : "string";
  }
}

// The type of what a list or map holds, when the container's own Go type is known: "[]v1.IPFamily" → "v1.IPFamily".
std::string_view element_type(std::string_view container) {
  if (container.starts_with("[]")) return container.substr(2);
  const auto end = container.find(']');
  return container.starts_with("map[") && end != std::string_view::npos ? container.substr(end + 1)
                                                                        : std::string_view();
}

std::string number_text(const Value& value) {
  std::string text = serialize(value);
  if (!value.is_double()) return text;
  const double number = value.get_double();
  if (number == std::floor(number) && std::abs(number) < 1e15) return std::to_string(std::llround(number)) + ".0";
  return text;
}

class TypeChecker {
 public:
  // True: nothing that ends the decoding was met. Type mismatches are noted and the walk goes on, because an error of
  // a type that reads itself (times, quantities) takes precedence over them, wherever it is.
  bool walk(const Value& value, const Schema& schema, const PathFrame& path, const Schema* owner,
            std::string_view named_type) {
    if (value.is_null()) return true;
    switch (schema.type) {
      case Type::kObject:
        return walk_object(value, schema, path, owner, named_type);
      case Type::kArray:
        return walk_array(value, schema, path, owner, named_type);
      case Type::kString:
        return walk_string(value, schema, path, owner, named_type);
      case Type::kInteger:
        return walk_integer(value, schema, path, owner, named_type);
      case Type::kIntOrString:
        return walk_int_or_string(value, schema, path, owner);
      case Type::kNumber:
        if (!value.is_number()) mismatch(value, schema, path, owner, named_type);
        return true;
      case Type::kBoolean:
        if (!value.is_bool()) mismatch(value, schema, path, owner, named_type);
        return true;
      case Type::kAny:
        return true;
    }
    return true;
  }

  std::optional<std::string> result() {
    if (!fatal_.empty()) return fatal_;
    if (!first_.empty()) return first_;
    return std::nullopt;
  }

 private:
  void mismatch(const Value& value, const Schema& schema, const PathFrame& path, const Schema* owner,
                std::string_view named_type, std::string_view number = {}) {
    if (!first_.empty()) return;
    first_ = message(value, path, owner, named_type.empty() ? go_type(schema) : std::string(named_type), number);
  }

  static std::string message(const Value& value, const PathFrame& path, const Schema* owner, std::string_view type,
                             std::string_view number) {
    std::string out = "json: cannot unmarshal ";
    out += json_type(value);
    if (!number.empty()) out.append(" ").append(number);
    const std::string where = path.text_without_items();
    if (owner == nullptr || where.empty()) return out.append(" into Go value of type ").append(type);
    out.append(" into Go struct field ").append(struct_name(*owner)).append(".").append(where);
    return out.append(" of type ").append(type);
  }

  bool walk_object(const Value& value, const Schema& schema, const PathFrame& path, const Schema* owner,
                   std::string_view named_type) {
    if (!value.is_object()) {
      mismatch(value, schema, path, owner, named_type);
      return true;
    }
    const Schema* inner = is_struct(schema) ? &schema : owner;
    const std::string_view declared = named_type.empty() ? std::string_view(schema.go_type) : named_type;
    for (const auto& [key, child] : value.get_object()) {
      const Schema* field = schema.field(key);
      if (field == nullptr) continue;
      // A map's keys are no part of the path that an error names.
      const bool mapped = field == schema.additional;
      const PathFrame below = path.child(key);
      if (!walk(child, *field, mapped ? path : below, inner, mapped ? element_type(declared) : std::string_view())) {
        return false;
      }
    }
    return true;
  }

  bool walk_array(const Value& value, const Schema& schema, const PathFrame& path, const Schema* owner,
                  std::string_view named_type) {
    if (!value.is_array()) {
      mismatch(value, schema, path, owner, named_type);
      return true;
    }
    if (schema.items == nullptr) return true;
    const std::string_view element = element_type(named_type.empty() ? std::string_view(schema.go_type) : named_type);
    for (const Value& item : value.get_array()) {
      if (!walk(item, *schema.items, path, owner, element)) return false;
    }
    return true;
  }

  bool walk_string(const Value& value, const Schema& schema, const PathFrame& path, const Schema* owner,
                   std::string_view named_type) {
    if (schema.format == "quantity") return walk_quantity(value);
    const bool time = schema.format == "date-time";
    if (!value.is_string()) {
      if (time) return stop(message(value, path, owner, "string", {}));
      mismatch(value, schema, path, owner, named_type);
      return true;
    }
    if (time) {
      const std::string_view text = value.get_string();
      if (auto error = go_time_error(text, schema.micro_time)) return stop(std::move(*error));
    } else if (schema.format == "byte") {
      return walk_bytes(value.get_string());
    }
    return true;
  }

  bool walk_bytes(std::string_view text) {
    std::string joined;
    if (text.find_first_of("\r\n") != std::string_view::npos) {
      for (const char c : text) {
        if (c != '\r' && c != '\n') joined += c;
      }
      text = joined;
    }
    if (base64_decode(text)) return true;
    return stop("illegal base64 data at input byte " + std::to_string(first_bad_base64(text)));
  }

  static std::size_t first_bad_base64(std::string_view text) {
    static constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const auto at = text.find_first_not_of(kAlphabet);
    if (at == std::string_view::npos) return text.size() / 4 * 4;
    return at;
  }

  bool walk_quantity(const Value& value) {
    if (value.is_number()) return true;
    if (value.is_string()) {
      const std::string_view text = value.get_string();
      if (Quantity::parse(text)) return true;
    }
    return stop(std::string(kQuantityMessage));
  }

  bool walk_integer(const Value& value, const Schema& schema, const PathFrame& path, const Schema* owner,
                    std::string_view named_type) {
    if (!value.is_number()) {
      mismatch(value, schema, path, owner, named_type);
    } else if (!fits(value, schema.format)) {
      mismatch(value, schema, path, owner, named_type, number_text(value));
    }
    return true;
  }

  static bool fits(const Value& value, std::string_view format) {
    if (!value.is_int64()) return false;
    const std::int64_t number = value.get_int64();
    return format != "int32" ||
           (number >= std::numeric_limits<std::int32_t>::min() && number <= std::numeric_limits<std::int32_t>::max());
  }

  bool walk_int_or_string(const Value& value, const Schema&, const PathFrame& path, const Schema* owner) {
    if (value.is_string() || (value.is_number() && fits(value, "int32"))) return true;
    return stop(message(value, path, owner, "int32", value.is_number() ? number_text(value) : std::string()));
  }

  bool stop(std::string error) {
    fatal_ = std::move(error);
    return false;
  }

  std::string first_, fatal_;
};

class UnknownFinder {
 public:
  UnknownFinder(Dialect dialect, const Schema* object_meta) : dialect_(dialect), object_meta_(object_meta) {}

  void walk(const Value& value, const Schema& schema, const PathFrame& path, bool resource) {
    if (value.is_object()) {
      walk_object(value.get_object(), schema, path, resource);
    } else if (value.is_array() && schema.items != nullptr) {
      const Array& items = value.get_array();
      for (std::size_t i = 0; i < items.size(); ++i) walk(items[i], *schema.items, path.child(i), false);
    }
  }

  std::vector<std::string> take() {
    if (dialect_ == Dialect::kCustom) std::sort(found_.begin(), found_.end());
    metadata_.insert(metadata_.end(), std::make_move_iterator(found_.begin()), std::make_move_iterator(found_.end()));
    metadata_.insert(metadata_.end(), std::make_move_iterator(embedded_.begin()),
                     std::make_move_iterator(embedded_.end()));
    return std::move(metadata_);
  }

 private:
  void walk_object(const Object& object, const Schema& schema, const PathFrame& path, bool resource) {
    const bool has_meta = resource || schema.embedded_resource;
    for (const auto& [raw_key, child] : object) {
      const std::string_view key = raw_key;
      const PathFrame below = path.child(key);
      if (dialect_ == Dialect::kCustom && has_meta && (key == "apiVersion" || key == "kind" || key == "metadata")) {
        if (key == "metadata" && object_meta_ != nullptr) walk_metadata(child, below, resource);
        continue;
      }
      if (const Schema* field = schema.field(key)) {
        walk(child, *field, below, false);
      } else if (!schema.preserve_unknown) {
        found_.push_back(below.text());
      }
    }
  }

  void walk_metadata(const Value& metadata, const PathFrame& path, bool root) {
    UnknownFinder finder(Dialect::kBuiltin, nullptr);
    finder.walk(metadata, *object_meta_, path, false);
    auto& target = root ? metadata_ : embedded_;
    target.insert(target.end(), finder.found_.begin(), finder.found_.end());
  }

  Dialect dialect_;
  const Schema* object_meta_;
  std::vector<std::string> metadata_, found_, embedded_;
};

}  // namespace

std::optional<std::string> check_types(const Value& value, const Schema& schema) {
  TypeChecker checker;
  checker.walk(value, schema, PathFrame{}, nullptr, {});
  return checker.result();
}

std::vector<std::string> unknown_fields(const Value& value, const Schema& schema, Dialect dialect,
                                        const Schema* object_meta) {
  UnknownFinder finder(dialect, object_meta);
  finder.walk(value, schema, PathFrame{}, true);
  return finder.take();
}

}  // namespace gangway::json
