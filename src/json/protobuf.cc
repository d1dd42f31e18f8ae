#include "json/protobuf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/base64.h"
#include "base/time.h"
#include "base/utf8.h"
#include "json/protobuf_wire.h"
#include "json/schema_default.h"

namespace gangway::json {
namespace {

constexpr std::string_view kMagic("k8s\0", 4);

const ProtobufField* find_field(const Schema& schema, std::uint16_t outer, std::uint32_t number) {
  if (!schema.protobuf || number > 0xffff) return nullptr;
  const ProtobufField wanted{outer, static_cast<std::uint16_t>(number), 0};
  const auto at = std::lower_bound(schema.protobuf->begin(), schema.protobuf->end(), wanted);
  return at != schema.protobuf->end() && at->outer == outer && at->number == number ? &*at : nullptr;
}

// Whether field `number` is a message whose fields JSON has in place.
bool is_inlined(const Schema& schema, std::uint32_t number) {
  if (!schema.protobuf || number > 0xffff) return false;
  const ProtobufField first{static_cast<std::uint16_t>(number), 0, 0};
  const auto at = std::lower_bound(schema.protobuf->begin(), schema.protobuf->end(), first);
  return at != schema.protobuf->end() && at->outer == number;
}

bool is_map(const Schema& schema) {
  return schema.type == Type::kObject && schema.additional != nullptr && schema.properties.empty();
}

bool is_packable(const Schema& schema) {
  return schema.type == Type::kInteger || schema.type == Type::kNumber || schema.type == Type::kBoolean;
}

Error wrong_wire_type(WireType type) {
  return bad_request(fmt::format("wrong wire type {}", static_cast<int>(type)));
}

Result<std::string_view> counted(WireReader& in, WireType type) {
  if (type != WireType::kBytes) return wrong_wire_type(type);
  return in.bytes();
}

Result<std::int64_t> integer(WireReader& in, WireType type) {
  if (type != WireType::kVarint) return wrong_wire_type(type);
  GW_TRY(const std::uint64_t value, in.varint());
  return static_cast<std::int64_t>(value);
}

Result<double> real(WireReader& in, WireType type) {
  double value = 0;
  if (type == WireType::kFixed64) {
    GW_TRY(value, in.fixed64().map([](std::uint64_t bits) { return std::bit_cast<double>(bits); }));
  } else if (type == WireType::kFixed32) {
    GW_TRY(value, in.fixed32().map([](std::uint32_t bits) { return double{std::bit_cast<float>(bits)}; }));
  } else {
    return wrong_wire_type(type);
  }
  if (!std::isfinite(value)) return bad_request("must be a finite number");
  return value;
}

Result<std::string_view> text(std::string_view bytes) {
  if (!valid_utf8(bytes)) return bad_request("must be UTF-8 text");
  return bytes;
}

// The bytes of field 1 of a message that has nothing else; empty when it is not there.
Result<std::string_view> only_field(std::string_view message) {
  std::string_view found;
  for (WireReader in(message); !in.at_end();) {
    GW_TRY(const WireTag tag, in.tag());
    if (tag.number == 1) {
      GW_TRY(found, counted(in, tag.type));
    } else {
      GW_CHECKED(in.skip(tag.type));
    }
  }
  return found;
}

// Seconds and nanoseconds, as far as the JSON form of the type has them.
Result<Value> time_of(std::string_view message, bool micro) {
  if (message.empty()) return Value(nullptr);
  std::int64_t since_epoch = 0;
  std::int64_t nanoseconds = 0;
  for (WireReader in(message); !in.at_end();) {
    GW_TRY(const WireTag tag, in.tag());
    if (tag.number == 1) {
      GW_TRY(since_epoch, integer(in, tag.type));
    } else if (tag.number == 2) {
      GW_TRY(nanoseconds, integer(in, tag.type));
    } else {
      GW_CHECKED(in.skip(tag.type));
    }
  }
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kLast = WallTime::max().time_since_epoch().count() / kSecond - 1;
  if (since_epoch < -kLast || since_epoch > kLast) return bad_request("the time is before 1677 or after 2262");
  if (nanoseconds < 0 || nanoseconds >= kSecond) return bad_request("nanoseconds must be from 0 to 999999999");
  const WallTime time{Duration(since_epoch * kSecond + nanoseconds)};
  return Value(micro ? to_rfc3339_micro(time) : to_rfc3339(time));
}

Result<Value> int_or_string(std::string_view message) {
  std::int64_t type = 0;
  std::int64_t number = 0;
  std::string_view string;
  for (WireReader in(message); !in.at_end();) {
    GW_TRY(const WireTag tag, in.tag());
    if (tag.number == 1) {
      GW_TRY(type, integer(in, tag.type));
    } else if (tag.number == 2) {
      GW_TRY(number, integer(in, tag.type));
    } else if (tag.number == 3) {
      GW_TRY(const std::string_view bytes, counted(in, tag.type));
      GW_TRY(string, text(bytes));
    } else {
      GW_CHECKED(in.skip(tag.type));
    }
  }
  if (type != 0 && type != 1)
    return bad_request(fmt::format("type must be 0 (a number) or 1 (a string), got {}", type));
  return type == 0 ? Value(static_cast<std::int32_t>(number)) : Value(string);
}

class Decoder {
 public:
  explicit Decoder(const ParseLimits& limits) : limits_(limits) {}

  // The fields of a message, or of the message `outer` in it, are added to those that `object` has: as protobuf wants
  // it when a message comes in pieces.
  Result<void> read_message(std::string_view message, const Schema& schema, std::uint16_t outer, Object& object) {
    for (WireReader in(message); !in.at_end();) {
      GW_TRY(const WireTag tag, in.tag());
      if (const auto* field = find_field(schema, outer, tag.number)) {
        const auto& [name, child] = schema.properties[field->property];
        path_.push_back(name);
        GW_CHECKED(read_field(in, tag.type, *child, object[name]));
        path_.pop_back();
      } else if (outer == 0 && is_inlined(schema, tag.number)) {
        GW_TRY(const std::string_view inner, counted(in, tag.type));
        GW_CHECKED(read_message(inner, schema, static_cast<std::uint16_t>(tag.number), object));
      } else {
        GW_CHECKED(in.skip(tag.type));
      }
    }
    return {};
  }

  // The error of a read that failed, with the path that it failed at.
  Error at_path(Error error) const {
    std::string path;
    for (const auto step : path_) path += (path.empty() ? "" : ".") + std::string(step);
    return path.empty() ? error : std::move(error).within(path);
  }

 private:
  // `slot` is null, or what the same field gave before.
  Result<void> read_field(WireReader& in, WireType type, const Schema& schema, Value& slot) {
    if (schema.type == Type::kArray) {
      if (!slot.is_array()) slot.emplace_array();
      return read_item(in, type, *schema.items, slot.get_array());
    }
    if (is_map(schema)) {
      if (!slot.is_object()) slot.emplace_object();
      return read_entry(in, type, *schema.additional, slot.get_object());
    }
    return read_one(in, type, schema, slot);
  }

  Result<void> read_item(WireReader& in, WireType type, const Schema& items, Array& array) {
    if (type != WireType::kBytes || !is_packable(items)) return read_one(in, type, items, array.emplace_back(nullptr));
    GW_TRY(const std::string_view packed, in.bytes());
    const auto each = items.type == Type::kNumber ? WireType::kFixed64 : WireType::kVarint;
    for (WireReader inner(packed); !inner.at_end();) {
      GW_CHECKED(read_one(inner, each, items, array.emplace_back(nullptr)));
    }
    return {};
  }

  // An entry of a map is a message with the key as field 1 and the value as field 2.
  Result<void> read_entry(WireReader& in, WireType type, const Schema& values, Object& object) {
    GW_TRY(const std::string_view entry, counted(in, type));
    std::string_view key;
    Value value;
    GW_CHECKED(read_absent(values, value));
    for (WireReader inner(entry); !inner.at_end();) {
      GW_TRY(const WireTag tag, inner.tag());
      if (tag.number == 1) {
        GW_TRY(const std::string_view bytes, counted(inner, tag.type));
        GW_TRY(key, text(bytes));
      } else if (tag.number == 2) {
        GW_CHECKED(read_one(inner, tag.type, values, value));
      } else {
        GW_CHECKED(inner.skip(tag.type));
      }
    }
    object[key] = std::move(value);
    return {};
  }

  // The value of an entry that gives none: the type's zero.
  Result<void> read_absent(const Schema& schema, Value& slot) {
    if (schema.type == Type::kBoolean) {
      slot = false;
    } else if (is_packable(schema)) {
      slot = 0;
    } else {
      return read_bytes({}, schema, slot);
    }
    return {};
  }

  Result<void> read_one(WireReader& in, WireType type, const Schema& schema, Value& slot) {
    if (schema.type == Type::kInteger || schema.type == Type::kBoolean) {
      GW_TRY(const std::int64_t value, integer(in, type));
      if (schema.type == Type::kBoolean) {
        slot = value != 0;
      } else {
        slot = schema.format == "int32" ? std::int64_t{static_cast<std::int32_t>(value)} : value;
      }
      return {};
    }
    if (schema.type == Type::kNumber) {
      GW_TRY(slot, real(in, type));
      return {};
    }
    GW_TRY(const std::string_view bytes, counted(in, type));
    return read_bytes(bytes, schema, slot);
  }

  Result<void> read_bytes(std::string_view bytes, const Schema& schema, Value& slot) {
    if (schema.type == Type::kString) return read_string(bytes, schema, slot);
    if (schema.type == Type::kIntOrString) {
      GW_TRY(slot, int_or_string(bytes));
      return {};
    }
    if (depth_ >= limits_.max_depth) return bad_request(fmt::format("nested deeper than {}", limits_.max_depth));
    ++depth_;
    GW_CHECKED(read_nested(bytes, schema, slot));
    --depth_;
    return {};
  }

  Result<void> read_string(std::string_view bytes, const Schema& schema, Value& slot) {
    if (schema.format == "byte") {
      slot = base64_encode(bytes);
    } else if (schema.format == "date-time") {
      GW_TRY(slot, time_of(bytes, schema.micro_time));
    } else if (schema.format == "quantity") {
      GW_TRY(const std::string_view inner, only_field(bytes));
      GW_TRY(const std::string_view quantity, text(inner));
      slot = quantity.empty() ? std::string_view("0") : quantity;
    } else {
      GW_TRY(slot, text(bytes));
    }
    return {};
  }

  Result<void> read_nested(std::string_view bytes, const Schema& schema, Value& slot) {
    if (schema.type == Type::kArray) return read_wrapped_list(bytes, schema, slot);
    if (schema.protobuf_union) return read_union(bytes, *schema.protobuf_union, slot);
    if (schema.preserve_unknown && schema.properties.empty()) return read_embedded_json(bytes, slot);
    if (!slot.is_object()) slot.emplace_object();
    return read_message(bytes, schema, 0, slot.get_object());
  }

  // Where a list cannot be repeated fields (as the value of a map), it is a message with the items as field 1.
  Result<void> read_wrapped_list(std::string_view message, const Schema& schema, Value& slot) {
    if (!slot.is_array()) slot.emplace_array();
    for (WireReader in(message); !in.at_end();) {
      GW_TRY(const WireTag tag, in.tag());
      if (tag.number == 1) {
        GW_CHECKED(read_item(in, tag.type, *schema.items, slot.get_array()));
      } else {
        GW_CHECKED(in.skip(tag.type));
      }
    }
    return {};
  }

  Result<void> read_union(std::string_view message, const Schema& forms, Value& slot) {
    Object given;
    GW_CHECKED(read_message(message, forms, 0, given));
    slot = nullptr;
    if (!forms.protobuf) return {};
    for (const auto& field : *forms.protobuf) {
      const auto& [name, form] = forms.properties[field.property];
      Value* value = given.if_contains(name);
      if (!value) continue;
      slot = std::move(*value);
      // Only here it is known what the value is: whoever normalizes the whole object sees anything at all.
      normalize(slot, *form);
    }
    return {};
  }

  Result<void> read_embedded_json(std::string_view message, Value& slot) {
    GW_TRY(const std::string_view raw, only_field(message));
    if (raw.empty()) {
      slot = nullptr;
      return {};
    }
    GW_TRY(slot, parse(raw, limits_));
    return {};
  }

  const ParseLimits& limits_;
  std::size_t depth_ = 0;
  // Where the reading is. A step is taken back only when it went well, so after an error this is where that was.
  std::vector<std::string_view> path_;
};

Result<void> read_type(std::string_view type_meta, ProtobufEnvelope& envelope) {
  for (WireReader in(type_meta); !in.at_end();) {
    GW_TRY(const WireTag tag, in.tag());
    if (tag.number == 1 || tag.number == 2) {
      GW_TRY(const std::string_view bytes, counted(in, tag.type));
      auto& target = tag.number == 1 ? envelope.api_version : envelope.kind;
      GW_TRY(target, text(bytes));
    } else {
      GW_CHECKED(in.skip(tag.type));
    }
  }
  return {};
}

}  // namespace

Result<ProtobufEnvelope> open_protobuf(std::string_view body) {
  if (!body.starts_with(kMagic)) {
    return bad_request("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  ProtobufEnvelope envelope;
  for (WireReader in(body.substr(kMagic.size())); !in.at_end();) {
    GW_TRY(const WireTag tag, in.tag());
    if (tag.number == 1) {
      GW_TRY(const std::string_view type_meta, counted(in, tag.type));
      GW_CHECKED(read_type(type_meta, envelope));
    } else if (tag.number == 2) {
      GW_TRY(envelope.message, counted(in, tag.type));
    } else if (tag.number == 3) {
      GW_TRY(const std::string_view encoding, counted(in, tag.type));
      if (!encoding.empty()) return bad_request("the message has a content encoding; send it without");
    } else {
      GW_CHECKED(in.skip(tag.type));
    }
  }
  return envelope;
}

Result<Value> decode_protobuf(std::string_view message, const Schema& schema, const ParseLimits& limits) {
  if (message.size() > limits.max_bytes) {
    return bad_request(fmt::format("the message has {} bytes; {} are allowed", message.size(), limits.max_bytes));
  }
  Decoder decoder(limits);
  Object object;
  auto read = decoder.read_message(message, schema, 0, object);
  if (!read) return decoder.at_path(std::move(read).error());
  return Value(std::move(object));
}

}  // namespace gangway::json
