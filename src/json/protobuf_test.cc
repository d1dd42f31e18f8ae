#include "json/protobuf.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/schema_decode.h"
#include "json/test_values.h"

namespace gangway::json {
namespace {

using namespace std::string_literals;

// One field of every form that the built-in kinds have.
const Schema& schema() {
  static SchemaSet set;
  static const Schema* loaded = [] {
    const Value definitions = json_of(R"({
      "Quantity": {"type": "string", "format": "quantity"},
      "Time": {"type": "string", "format": "date-time"},
      "Tree": {"type": "object", "properties": {"name": {"type": "string"}, "left": {"$ref": "#/definitions/Tree"},
               "either": {"$ref": "#/definitions/TreeOrBool"}},
               "x-gangway-protobuf": {"name": 1, "left": 2, "either": 3}},
      "TreeOrBool": {"x-kubernetes-preserve-unknown-fields": true, "x-gangway-protobuf-union": {
        "type": "object", "properties": {"form1": {"type": "boolean"}, "form2": {"$ref": "#/definitions/Tree"}},
        "x-gangway-protobuf": {"form1": 1, "form2": 2}}},
      "All": {"type": "object", "properties": {
        "text": {"type": "string"},
        "small": {"type": "integer", "format": "int32"},
        "large": {"type": "integer", "format": "int64"},
        "flag": {"type": "boolean"},
        "real": {"type": "number", "format": "double"},
        "bytes": {"type": "string", "format": "byte"},
        "quantity": {"$ref": "#/definitions/Quantity"},
        "time": {"$ref": "#/definitions/Time"},
        "micro": {"type": "string", "format": "date-time", "x-gangway-micro-time": true},
        "port": {"x-kubernetes-int-or-string": true},
        "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "texts": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "array", "items": {"type": "integer", "format": "int64"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "limits": {"type": "object", "additionalProperties": {"$ref": "#/definitions/Quantity"}},
        "extra": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
        "tree": {"$ref": "#/definitions/Tree"},
        "inner": {"type": "string"}},
       "x-gangway-protobuf": {"text": 1, "small": 2, "large": 3, "flag": 4, "real": 5, "bytes": 6, "quantity": 7,
         "time": 8, "micro": 9, "port": 10, "raw": 11, "texts": 12, "numbers": 13, "labels": 14, "limits": 15,
         "extra": 16, "tree": 17, "inner": [18, 1]}}})");
    const auto added = set.add_definitions(definitions.as_object());
    EXPECT_TRUE(added.has_value());
    return set.definition("All");
  }();
  return *loaded;
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

std::string number_field(unsigned number, std::uint64_t value) {
  return varint(number << 3) + varint(value);
}

std::string bytes_field(unsigned number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

TEST(Protobuf, EveryFormHasItsJson) {
  struct Case {
    const char* name;
    std::string message;
    const char* want;
  };
  const Case cases[] = {
      {"nothing", "", "{}"},
      {"text", bytes_field(1, "gr\xc3\xbc\xc3\x9f"), R"({"text": "grüß"})"},
      {"an empty text is one", bytes_field(1, ""), R"({"text": ""})"},
      {"the last one counts", bytes_field(1, "a") + bytes_field(1, "b"), R"({"text": "b"})"},
      {"int32", number_field(2, 300), R"({"small": 300})"},
      {"a negative int32 takes ten bytes", number_field(2, ~0ULL), R"({"small": -1})"},
      {"a larger number loses its upper half", number_field(2, (1ULL << 32) + 5), R"({"small": 5})"},
      {"int64", number_field(3, 1ULL << 40), R"({"large": 1099511627776})"},
      {"bool", number_field(4, 0), R"({"flag": false})"},
      {"double", "\x29\x00\x00\x00\x00\x00\x00\xf8\x3f"s, R"({"real": 1.5})"},
      {"bytes", bytes_field(6, "\x00\xff\x01"s), R"({"bytes": "AP8B"})"},
      {"quantity", bytes_field(7, bytes_field(1, "250m")), R"({"quantity": "250m"})"},
      {"a quantity of nothing", bytes_field(7, ""), R"({"quantity": "0"})"},
      {"time", bytes_field(8, number_field(1, 1735787045) + number_field(2, 5)), R"({"time": "2025-01-02T03:04:05Z"})"},
      {"a time before 1970", bytes_field(8, number_field(1, ~0ULL)), R"({"time": "1969-12-31T23:59:59Z"})"},
      {"no time", bytes_field(8, ""), R"({"time": null})"},
      {"time with microseconds", bytes_field(9, number_field(1, 1735787045) + number_field(2, 678901999)),
       R"({"micro": "2025-01-02T03:04:05.678901Z"})"},
      {"a number for int-or-string", bytes_field(10, number_field(1, 0) + number_field(2, 80) + bytes_field(3, "")),
       R"({"port": 80})"},
      {"a string for int-or-string", bytes_field(10, number_field(1, 1) + bytes_field(3, "25%")), R"({"port": "25%"})"},
      {"embedded JSON", bytes_field(11, bytes_field(1, R"({"f:a":{}})")), R"({"raw": {"f:a": {}}})"},
      {"no embedded JSON", bytes_field(11, ""), R"({"raw": null})"},
      {"a list", bytes_field(12, "a") + bytes_field(12, "") + bytes_field(12, "a"), R"({"texts": ["a", "", "a"]})"},
      {"numbers one by one", number_field(13, 1) + number_field(13, 300), R"({"numbers": [1, 300]})"},
      {"packed numbers", bytes_field(13, varint(1) + varint(300)), R"({"numbers": [1, 300]})"},
      {"a map", bytes_field(14, bytes_field(1, "a") + bytes_field(2, "b")) + bytes_field(14, bytes_field(1, "c")),
       R"({"labels": {"a": "b", "c": ""}})"},
      {"an entry in the other order", bytes_field(14, bytes_field(2, "b") + bytes_field(1, "a")),
       R"({"labels": {"a": "b"}})"},
      {"a map of messages", bytes_field(15, bytes_field(1, "cpu") + bytes_field(2, bytes_field(1, "2"))),
       R"({"limits": {"cpu": "2"}})"},
      {"a map of lists",
       bytes_field(16, bytes_field(1, "a") + bytes_field(2, bytes_field(1, "x") + bytes_field(1, "y"))),
       R"({"extra": {"a": ["x", "y"]}})"},
      {"a message in pieces",
       bytes_field(17, bytes_field(1, "a")) + bytes_field(17, bytes_field(2, bytes_field(1, "b"))),
       R"({"tree": {"name": "a", "left": {"name": "b"}}})"},
      {"the first form of a union", bytes_field(17, bytes_field(3, number_field(1, 1))),
       R"({"tree": {"either": true}})"},
      {"the second form of a union",
       bytes_field(17, bytes_field(3, number_field(1, 1) + bytes_field(2, bytes_field(1, "a")))),
       R"({"tree": {"either": {"name": "a"}}})"},
      {"a field that JSON has in place", bytes_field(18, bytes_field(1, "x")), R"({"inner": "x"})"},
      {"unknown fields", number_field(90, 1) + bytes_field(91, "x") + bytes_field(1, "a"), R"({"text": "a"})"},
  };
  for (const auto& c : cases) {
    const auto got = decode_protobuf(c.message, schema());
    ASSERT_TRUE(got.has_value()) << c.name << ": " << got.error().message;
    EXPECT_TRUE(equal(*got, json_of(c.want))) << c.name << ": " << serialize(*got);
  }
}

TEST(Protobuf, BadInputIsAnErrorThatNamesTheField) {
  std::string deep;
  for (int i = 0; i < 65; ++i) deep = bytes_field(2, deep);
  struct Case {
    const char* name;
    std::string message;
    const char* want;
  };
  const Case cases[] = {
      {"cut within a tag", "\x80", "the data ends within a number"},
      {"cut within bytes", "\x0a\x05"s + "ab", "text: 5 bytes are announced, 2 are left"},
      {"a length beyond everything", "\x0a" + varint(~0ULL),
       "text: 18446744073709551615 bytes are announced, 0 are left"},
      {"a number of eleven bytes", "\x10" + std::string(10, '\xff') + "\x01",
       "small: a number does not fit into 64 bits"},
      {"field number zero", "\x02\x00"s, "0 is not a field number"},
      {"a group", "\x0b", "field 1 has the unknown wire type 3"},
      {"text as a number", number_field(1, 1), "text: wrong wire type 0"},
      {"a number as bytes", bytes_field(2, "x"), "small: wrong wire type 2"},
      {"not UTF-8", bytes_field(1, "\xff"), "text: must be UTF-8 text"},
      {"infinity", "\x29\x00\x00\x00\x00\x00\x00\xf0\x7f"s, "real: must be a finite number"},
      {"the far future", bytes_field(8, number_field(1, 1ULL << 62)), "time: the time is before 1677 or after 2262"},
      {"half a message", bytes_field(17, "\x0a"), "tree.name: the data ends within a number"},
      {"embedded nonsense", bytes_field(11, bytes_field(1, "{")), "raw: "},
      {"too deep", bytes_field(17, deep), "tree.left"},
  };
  for (const auto& c : cases) {
    const auto got = decode_protobuf(c.message, schema());
    ASSERT_FALSE(got.has_value()) << c.name;
    EXPECT_TRUE(got.error().message.starts_with(c.want)) << c.name << ": " << got.error().message;
    EXPECT_EQ(got.error().reason, Reason::kBadRequest) << c.name;
  }
}

TEST(Protobuf, Envelope) {
  const std::string type = bytes_field(1, "apps/v1") + bytes_field(2, "Deployment");
  const std::string body =
      "k8s\0"s + bytes_field(1, type) + bytes_field(2, "abc") + bytes_field(3, "") + bytes_field(4, "");
  const auto envelope = open_protobuf(body);
  ASSERT_TRUE(envelope.has_value());
  EXPECT_EQ(envelope->api_version, "apps/v1");
  EXPECT_EQ(envelope->kind, "Deployment");
  EXPECT_EQ(envelope->message, "abc");

  for (const auto& bad : {""s, "k8s"s, "{}"s, "k8s\0\x0a"s, "k8s\0"s + bytes_field(3, "gzip")}) {
    EXPECT_FALSE(open_protobuf(bad).has_value()) << bad;
  }
}

// A message with every field, to be damaged.
std::string whole_message() {
  return bytes_field(1, "text") + number_field(2, 7) + number_field(3, 1ULL << 40) + number_field(4, 1) +
         "\x29\x00\x00\x00\x00\x00\x00\xf8\x3f"s + bytes_field(6, "bytes") + bytes_field(7, bytes_field(1, "1Gi")) +
         bytes_field(8, number_field(1, 1735787045)) + bytes_field(9, number_field(1, 5) + number_field(2, 6000)) +
         bytes_field(10, number_field(1, 1) + bytes_field(3, "http")) +
         bytes_field(11, bytes_field(1, R"({"a":[1]})")) + bytes_field(12, "x") +
         bytes_field(13, varint(1) + varint(300)) + bytes_field(14, bytes_field(1, "k") + bytes_field(2, "v")) +
         bytes_field(15, bytes_field(1, "cpu") + bytes_field(2, bytes_field(1, "2"))) +
         bytes_field(16, bytes_field(1, "a") + bytes_field(2, bytes_field(1, "x"))) +
         bytes_field(17,
                     bytes_field(1, "n") + bytes_field(3, number_field(1, 1) + bytes_field(2, bytes_field(1, "a")))) +
         bytes_field(18, bytes_field(1, "inner"));
}

// Whatever the bytes are, the outcome is an error or a tree that has the types of the schema. Quantities and embedded
// JSON are texts to this decoder; whether they are right is asked later.
void decodes_or_refuses(const std::string& bytes) {
  auto got = decode_protobuf(bytes, schema());
  if (!got) return;
  for (const auto* name : {"quantity", "limits", "raw"}) got->get_object().erase(name);
  RC_ASSERT(check_types(*got, schema()).value_or("") == "");
}

RC_GTEST_PROP(ProtobufProperty, DamagedMessagesAreDecodedOrRefused,
              (const std::vector<std::pair<std::uint16_t, char>>& changes, std::uint16_t cut)) {
  std::string bytes = whole_message();
  for (const auto& [at, value] : changes) bytes[at % bytes.size()] = value;
  // Half of the messages are cut, so that lengths point past the end. The copy has no slack: ASan sees an over-read.
  if (cut % 2 == 0) bytes.resize(cut % bytes.size());
  decodes_or_refuses(std::string(bytes.begin(), bytes.end()));
}

RC_GTEST_PROP(ProtobufProperty, AnyBytesAreDecodedOrRefused, (const std::string& bytes)) {
  decodes_or_refuses(bytes);
  const std::string body = "k8s\0"s + bytes;
  const auto envelope = open_protobuf(body);
  if (envelope) decodes_or_refuses(std::string(envelope->message));
}

}  // namespace
}  // namespace gangway::json
