// Protobuf bodies: the bytes as they come, envelope and message, read as a kind that has every form of field.
#include "json/protobuf.h"
#include "json_laws.h"

namespace gangway::fuzz {
namespace {

constexpr std::string_view kSchema = R"({
  "type": "object",
  "x-gangway-protobuf": {"metadata": 1, "spec": 2, "again": 3},
  "properties": {
    "metadata": {"type": "object", "x-gangway-protobuf": {"name": 1, "labels": 2, "created": 3, "precise": 4},
      "properties": {
        "name": {"type": "string"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "created": {"type": "string", "format": "date-time"},
        "precise": {"type": "string", "format": "date-time", "x-gangway-micro-time": true}}},
    "spec": {"type": "object",
      "x-gangway-protobuf": {"replicas": 1, "total": 2, "paused": 3, "ratio": 4, "items": 5, "numbers": 6, "port": 7,
        "data": 8, "amounts": 9, "raw": 10, "inner": [11, 1], "other": [11, 2], "groups": 12, "flags": 13},
      "properties": {
        "replicas": {"type": "integer", "format": "int32"}, "total": {"type": "integer", "format": "int64"},
        "paused": {"type": "boolean"}, "ratio": {"type": "number"},
        "items": {"type": "array", "items": {"type": "object", "x-gangway-protobuf": {"name": 1},
          "properties": {"name": {"type": "string"}}}},
        "numbers": {"type": "array", "items": {"type": "integer", "format": "int32"}},
        "port": {"x-kubernetes-int-or-string": true},
        "data": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
        "amounts": {"type": "object", "additionalProperties": {"type": "string", "format": "quantity"}},
        "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "inner": {"type": "string"}, "other": {"type": "integer", "format": "int64"},
        "groups": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
        "flags": {"type": "object", "additionalProperties": {"type": "boolean"}}}},
    "again": {"$ref": "#/definitions/Node"}}})";
constexpr std::string_view kDefinitions = R"({"Node": {"type": "object",
  "x-gangway-protobuf": {"value": 1, "next": 2},
  "properties": {"value": {"type": "string"}, "next": {"$ref": "#/definitions/Node"}}}})";

const json::Schema& schema() {
  static json::SchemaSet set;
  static const json::Schema* loaded = [] {
    const auto definitions = json::parse(kDefinitions);
    const auto root = json::parse(kSchema);
    FUZZ_LAW(definitions && root, "the schema of the target is JSON");
    const auto added = set.add_definitions(definitions->get_object());
    FUZZ_LAW(added.has_value(), added ? "" : added.error().message);
    const auto result = set.load(*root);
    FUZZ_LAW(result.has_value(), result ? "" : result.error().message);
    return *result;
  }();
  return *loaded;
}

void check_message(std::string_view message) {
  const json::ParseLimits limits = {.max_bytes = 64 * 1024, .max_depth = 32};
  const auto value = json::decode_protobuf(message, schema(), limits);
  if (!value) {
    FUZZ_LAW(!value.error().message.empty(), "an error says what is wrong");
    return;
  }
  FUZZ_LAW(message.size() <= limits.max_bytes, "longer than allowed");
  // JSON inside of a message may be as deep again.
  FUZZ_LAW(depth_of(*value) <= 2 * limits.max_depth + 1, json::serialize(*value));
  check_storable(*value);
  // Two messages in a row are one message; the same twice must still be readable.
  const auto twice = json::decode_protobuf(std::string(message) + std::string(message), schema(), limits);
  FUZZ_LAW(twice || 2 * message.size() > limits.max_bytes, twice ? "" : twice.error().message);
}

}  // namespace
}  // namespace gangway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  const std::string body(reinterpret_cast<const char*>(data), size);
  const auto envelope = json::open_protobuf(body);
  if (!envelope) {
    fuzz::check_message(body);
    return 0;
  }
  const std::string message(envelope->message);
  fuzz::check_message(message);
  return 0;
}
