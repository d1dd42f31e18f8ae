#include "json/scale_fields.h"

#include <gtest/gtest.h>

#include "json/test_values.h"

namespace gangway::json {
namespace {

const FieldPath kReplicas = {PathElement::field("spec"), PathElement::field("replicas")};

constexpr const char* kObject = R"([
    {"manager":"gitops","operation":"Apply","apiVersion":"apps/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1",
     "fieldsV1":{"f:spec":{"f:replicas":{}}}},
    {"manager":"kubectl","operation":"Update","apiVersion":"apps/v1","time":"2026-01-01T00:00:00Z",
     "fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{},"f:paused":{}}}},
    {"manager":"other","operation":"Update","apiVersion":"apps/v1","time":"2026-01-01T00:00:00Z",
     "fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:paused":{}}}}])";

std::string object_after(std::string_view scale_entries) {
  const Value before = json_of(kObject);
  const Value scale = json_of(scale_entries);
  const auto after = object_managed_fields(&before, &scale, kReplicas, "apps/v1");
  EXPECT_TRUE(after);
  std::string text;
  for (const Value& entry : *after) {
    text += std::string(string_at(entry, {"manager"})) + " " + std::string(string_at(entry, {"subresource"})) + " " +
            std::string(string_at(entry, {"apiVersion"})) + " " + (find(entry, {"time"}) ? "timed " : "") +
            serialize(*find(entry, {"fieldsV1"})) + "\n";
  }
  return text;
}

TEST(ScaleFields, AScaleHasTheEntriesThatOwnItsField) {
  const Value before = json_of(kObject);
  const auto entries = scale_managed_fields(&before, kReplicas);
  ASSERT_TRUE(entries);
  EXPECT_EQ(Value(*entries), json_of(R"([
    {"manager":"gitops","operation":"Apply","apiVersion":"autoscaling/v1","time":"2026-01-01T00:00:00Z",
     "fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}},
    {"manager":"kubectl","operation":"Update","apiVersion":"autoscaling/v1","time":"2026-01-01T00:00:00Z",
     "fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}}])"));
  const auto none = scale_managed_fields(nullptr, kReplicas);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

TEST(ScaleFields, TheWinnerTakesTheFieldFromTheOthers) {
  EXPECT_EQ(object_after(R"([{"manager":"scaler","operation":"Update","apiVersion":"autoscaling/v1",
                              "subresource":"scale","time":"2026-01-02T00:00:00Z","fieldsType":"FieldsV1",
                              "fieldsV1":{"f:spec":{"f:replicas":{}}}}])"),
            "scaler scale apps/v1 {\"f:spec\":{\"f:replicas\":{}}}\n"
            "kubectl  apps/v1 timed {\"f:spec\":{\"f:paused\":{}}}\n"
            "other  apps/v1 timed {\"f:spec\":{\"f:paused\":{}}}\n");
}

TEST(ScaleFields, WhoStillOwnsTheFieldStaysAsHeWas) {
  EXPECT_EQ(object_after(R"([{"manager":"gitops","operation":"Apply","apiVersion":"autoscaling/v1",
                              "fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}},
                             {"manager":"kubectl","operation":"Update","apiVersion":"autoscaling/v1",
                              "fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}},
                             {"manager":"stranger","operation":"Update","apiVersion":"autoscaling/v1",
                              "fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{}}}}])"),
            "gitops  apps/v1 timed {\"f:spec\":{\"f:replicas\":{}}}\n"
            "kubectl  apps/v1 timed {\"f:spec\":{\"f:paused\":{},\"f:replicas\":{}}}\n"
            "other  apps/v1 timed {\"f:spec\":{\"f:paused\":{}}}\n");
}

}  // namespace
}  // namespace gangway::json
