#include "json/schema_decode.h"

#include <gtest/gtest.h>

#include "json/schema_time.h"
#include "json/test_values.h"

namespace gangway::json {
namespace {

constexpr const char* kDefinitions = R"({
  "x.v1.Thing": {"type": "object", "properties": {
    "metadata": {"$ref": "#/definitions/x.v1.Meta"}, "spec": {"$ref": "#/definitions/x.v1.Spec"}}},
  "x.v1.Meta": {"type": "object", "properties": {
    "name": {"type": "string"}, "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "created": {"type": "string", "format": "date-time"}}},
  "x.v1.Spec": {"type": "object", "properties": {
    "replicas": {"type": "integer", "format": "int32"}, "big": {"type": "integer", "format": "int64"},
    "on": {"type": "boolean"}, "ratio": {"type": "number"},
    "policy": {"type": "string", "x-gangway-go-type": "v1.Policy"},
    "families": {"type": "array", "x-gangway-go-type": "[]v1.Family", "items": {"type": "string"}},
    "parts": {"type": "array", "items": {"$ref": "#/definitions/x.v1.Part"}},
    "surge": {"x-kubernetes-int-or-string": true}, "cpu": {"type": "string", "format": "quantity"},
    "blob": {"type": "string", "format": "byte"}, "any": {"x-kubernetes-preserve-unknown-fields": true},
    "renewed": {"type": "string", "format": "date-time", "x-gangway-micro-time": true}}},
  "x.v1.Part": {"type": "object", "properties": {"image": {"type": "string"}}}})";

class Decode : public testing::Test {
 protected:
  Decode() {
    const Value definitions = json_of(kDefinitions);
    EXPECT_TRUE(set_.add_definitions(definitions.get_object()));
  }
  std::string types(std::string_view text) {
    return check_types(json_of(text), *set_.definition("x.v1.Thing")).value_or("");
  }
  SchemaSet set_;
};

// The messages are what kube-apiserver 1.33 answers for the same mistakes in a Deployment.
TEST_F(Decode, TypeMismatchesNameTheGoField) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"spec": {"replicas": 3}})", ""},
      {R"({"spec": {"replicas": null, "parts": [null], "surge": "25%", "cpu": 1.5}})", ""},
      {R"({"spec": {"replicas": "x"}})",
       "json: cannot unmarshal string into Go struct field Spec.spec.replicas of type int32"},
      {R"({"spec": {"replicas": 1.5}})",
       "json: cannot unmarshal number 1.5 into Go struct field Spec.spec.replicas of type int32"},
      {R"({"spec": {"replicas": 2.0}})",
       "json: cannot unmarshal number 2.0 into Go struct field Spec.spec.replicas of type int32"},
      {R"({"spec": {"replicas": 3000000000}})",
       "json: cannot unmarshal number 3000000000 into Go struct field Spec.spec.replicas of type int32"},
      {R"({"spec": {"big": 3000000000}})", ""},
      {R"({"metadata": {"name": 5}})",
       "json: cannot unmarshal number into Go struct field Meta.metadata.name of type string"},
      {R"({"metadata": {"labels": {"a": 1}}})",
       "json: cannot unmarshal number into Go struct field Meta.metadata.labels of type string"},
      {R"({"metadata": {"labels": "x"}})",
       "json: cannot unmarshal string into Go struct field Meta.metadata.labels of type map[string]string"},
      {R"({"spec": []})", "json: cannot unmarshal array into Go struct field Thing.spec of type v1.Spec"},
      {R"({"spec": {"policy": 5}})",
       "json: cannot unmarshal number into Go struct field Spec.spec.policy of type v1.Policy"},
      {R"({"spec": {"families": ["a", true]}})",
       "json: cannot unmarshal bool into Go struct field Spec.spec.families of type v1.Family"},
      {R"({"spec": {"families": {}}})",
       "json: cannot unmarshal object into Go struct field Spec.spec.families of type []v1.Family"},
      {R"({"spec": {"parts": {}}})",
       "json: cannot unmarshal object into Go struct field Spec.spec.parts of type []v1.Part"},
      {R"({"spec": {"parts": [{}, {"image": 1}]}})",
       "json: cannot unmarshal number into Go struct field Part.spec.parts.image of type string"},
      {R"({"spec": {"on": "true"}})", "json: cannot unmarshal string into Go struct field Spec.spec.on of type bool"},
      {R"({"spec": {"surge": true}})",
       "json: cannot unmarshal bool into Go struct field Spec.spec.surge of type int32"},
      {R"({"spec": {"any": {"b": [1, "x"]}}})", ""},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(types(text), want) << text;
}

TEST_F(Decode, TypesThatReadThemselvesTakePrecedence) {
  const std::string quantity =
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  EXPECT_EQ(types(R"({"spec": {"cpu": "abc"}})"), quantity);
  EXPECT_EQ(types(R"({"spec": {"replicas": "x", "cpu": true}})"), quantity);
  EXPECT_EQ(types(R"({"spec": {"blob": "!!"}})"), "illegal base64 data at input byte 0");
  EXPECT_EQ(types(R"({"metadata": {"created": 5}})"),
            "json: cannot unmarshal number into Go struct field Meta.metadata.created of type string");
  EXPECT_EQ(types(R"({"metadata": {"created": "x"}})"),
            R"(parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006")");
  EXPECT_EQ(
      types(R"({"spec": {"renewed": "2020-01-01T00:00:00Z"}})"),
      R"(parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000")");
}

TEST(GoTime, ErrorsAreThoseOfTheLayout) {
  const std::pair<const char*, const char*> cases[] = {
      {"2020-01-01T00:00:00Z", ""},
      {"2020-01-01T00:00:00.5+02:00", ""},
      {"2020-02-29T00:00:00Z", ""},
      {"2020-13-01T00:00:00Z", R"(parsing time "2020-13-01T00:00:00Z": month out of range)"},
      {"2021-02-29T00:00:00Z", R"(parsing time "2021-02-29T00:00:00Z": day out of range)"},
      {"2020-01-01", R"(parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T")"},
      {"2020-01-01T00:00:00",
       R"(parsing time "2020-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00")"},
      {"2020-01-01T00:00:00Zx", R"(parsing time "2020-01-01T00:00:00Zx": extra text: "x")"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(go_time_error(text, false).value_or(""), want) << text;
}

TEST_F(Decode, UnknownFieldsOfBuiltInTypesComeInDocumentOrder) {
  const Value object = json_of(
      R"({"spec": {"parts": [{}, {"imagee": 1}], "foo": {"bar": 1}, "any": {"x": 1}}, "bar": 1,
          "metadata": {"labels": {"free": "x"}, "nam": "y"}})");
  EXPECT_EQ(unknown_fields(object, *set_.definition("x.v1.Thing"), Dialect::kBuiltin),
            (std::vector<std::string>{"spec.parts[1].imagee", "spec.foo", "bar", "metadata.nam"}));
}

TEST_F(Decode, UnknownFieldsOfCustomResourcesComeSortedAfterMetadata) {
  auto schema = set_.load(json_of(R"({"type": "object", "properties": {"spec": {"type": "object", "properties": {
      "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
      "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
      "pod": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}}}}}})"));
  ASSERT_TRUE(schema);
  const Value object = json_of(R"({"apiVersion": "v1", "kind": "K", "metadata": {"name": "a", "foo": 1}, "top": 1,
      "spec": {"list": [{"zz": 1}], "foo": 1, "open": {"x": 1},
               "pod": {"apiVersion": "v1", "kind": "P", "metadata": {"zoo": 1}, "w": 1, "spec": {"y": 1}}}})");
  EXPECT_EQ(unknown_fields(object, **schema, Dialect::kCustom, set_.definition("x.v1.Meta")),
            (std::vector<std::string>{"metadata.foo", "spec.foo", "spec.list[0].zz", "spec.pod.spec.y", "spec.pod.w",
                                      "top", "spec.pod.metadata.zoo"}));
}

}  // namespace
}  // namespace gangway::json
