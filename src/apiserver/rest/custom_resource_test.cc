#include "apiserver/rest/custom_resource.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/schema.h"

namespace gangway::apiserver {
namespace {

using testing::ElementsAreArray;

class CustomResource : public testing::Test {
 protected:
  CustomResource() {
    kind_.group = "example.com";
    kind_.kind = "Widget";
    version_.name = "v1";
    version_.schema = schemas_
                          .load(json::parse(R"({"type":"object","properties":{
        "spec":{"type":"object","properties":{"size":{"type":"integer","minimum":1}},
                "x-kubernetes-preserve-unknown-fields":true},
        "status":{"type":"object","properties":{"phase":{"type":"string"}},
                  "x-kubernetes-preserve-unknown-fields":true}}})")
                                    .value())
                          .value();
    version_.scale = ScalePaths{{"spec", "replicas"}, {"status", "replicas"}, {"status", "selector"}, {}};
  }

  std::vector<std::string> problems(std::string_view text, std::string_view subresource = "") {
    auto object = json::parse(text).value();
    std::vector<std::string> found;
    for (const auto& cause : check_custom_resource(version_, subresource, object, nullptr))
      found.push_back(cause.field + ": " + cause.message);
    return found;
  }

  json::SchemaSet schemas_;
  KindInfo kind_;
  ServedVersion version_;
};

TEST_F(CustomResource, NamesWhatScalingCannotRead) {
  struct Case {
    const char* text;
    std::vector<std::string> want;
  };
  const Case cases[] = {
      {R"({"spec":{"replicas":3},"status":{"replicas":0,"selector":"a=b"}})", {}},
      {R"({"spec":{"replicas":-1}})", {".spec.replicas: Invalid value: -1: should be a non-negative integer"}},
      {R"({"spec":{"replicas":2147483648}})",
       {".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"}},
      {R"({"spec":{"replicas":"x"}})",
       {".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64"}},
      {R"({"status":{"replicas":{"b":[1,"x"],"a":null},"selector":7}})",
       {".status.replicas: Invalid value: 0: .status.replicas accessor error: map[a:<nil> b:[1 x]] is of the type "
        "map[string]interface {}, expected int64",
        ".status.selector: Invalid value: \"\": .status.selector accessor error: 7 is of the type int64, expected "
        "string"}},
  };
  for (const auto& c : cases) EXPECT_THAT(problems(c.text), ElementsAreArray(c.want)) << c.text;
}

TEST_F(CustomResource, AnswersForTheStatusAloneOnItsEndpoint) {
  constexpr const char* kText = R"({"spec":{"size":0,"replicas":-1},"status":{"phase":5,"replicas":-2}})";
  EXPECT_THAT(
      problems(kText),
      ElementsAreArray({"spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
                        "status.phase: Invalid value: \"integer\": status.phase in body must be of type string: "
                        "\"integer\"",
                        ".spec.replicas: Invalid value: -1: should be a non-negative integer",
                        ".status.replicas: Invalid value: -2: should be a non-negative integer"}));
  EXPECT_THAT(problems(kText, "status"),
              ElementsAreArray({"status.phase: Invalid value: \"integer\": phase in body must be of type string: "
                                "\"integer\"",
                                ".status.replicas: Invalid value: -2: should be a non-negative integer"}));
}

TEST_F(CustomResource, IsRefusedForBeingOfAnotherType) {
  auto type = [](const char* text) { return json::parse(text).value(); };
  EXPECT_TRUE(check_own_type(kind_, version_, type(R"({"apiVersion":"example.com/v1","kind":"Widget"})")));
  auto other =
      check_own_type(kind_, version_, type(R"({"apiVersion":"other.org/v2","kind":"Gadget","metadata":{"name":"a"}})"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message,
            "Gadget.other.org \"a\" is invalid: [kind: Invalid value: \"Gadget\": must be Widget, apiVersion: Invalid "
            "value: \"other.org/v2\": must be example.com/v1]");
}

}  // namespace
}  // namespace gangway::apiserver
