#include "api/metadata.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/owner.h"

namespace gangway::api {
namespace {

json::Value object(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : json::Value();
}

constexpr const char* kPod = R"({"apiVersion":"v1","kind":"Pod","metadata":{
  "annotations":{"note":"{\"metadata\":{\"resourceVersion\":\"\"}} \"resourceVersion\":\"\""},
  "name":"web-0","namespace":"default","uid":"u1","resourceVersion":"17","generation":3,
  "labels":{"tier":"front","app":"web","resourceVersion":""},
  "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"o1","controller":true}],
  "finalizers":["a/b"],"creationTimestamp":"2026-01-02T03:04:05Z","deletionTimestamp":"2026-01-02T03:04:06Z"},
  "spec":{"nodeName":"n0","hostNetwork":true,"resourceVersion":"","priority":5},"resourceVersion":""})";

const SelectableFields kFields({{"status.phase", "Unknown"},
                                {"spec.nodeName", ""},
                                {"spec.hostNetwork", "false"},
                                {"spec.priority", "0"},
                                {"spec.unschedulable", "false"}});

TEST(MetadataTest, ReadsTheHeader) {
  auto header = read_header(object(kPod), kFields);
  EXPECT_EQ(header.name, (ObjectName{"default", "web-0"}));
  EXPECT_EQ(header.uid, "u1");
  EXPECT_EQ(header.revision, 17U);
  EXPECT_EQ(header.generation, 3);
  EXPECT_EQ(header.labels, (StringPairs{{"app", "web"}, {"resourceVersion", ""}, {"tier", "front"}}));
  EXPECT_EQ(header.fields, (StringPairs{{"spec.hostNetwork", "true"},
                                        {"spec.nodeName", "n0"},
                                        {"spec.priority", "5"},
                                        {"spec.unschedulable", "false"},
                                        {"status.phase", "Unknown"}}));
  ASSERT_EQ(header.owners.size(), 1U);
  EXPECT_EQ(header.owners[0].api_version, "apps/v1");
  EXPECT_EQ(header.owners[0].kind, "ReplicaSet");
  EXPECT_EQ(header.owners[0].name, "web");
  EXPECT_EQ(header.owners[0].uid, "o1");
  EXPECT_TRUE(header.owners[0].controller);
  EXPECT_FALSE(header.owners[0].block_owner_deletion);
  EXPECT_EQ(header.finalizers, std::vector<std::string>{"a/b"});
  EXPECT_EQ(to_rfc3339(header.created), "2026-01-02T03:04:05Z");
  ASSERT_TRUE(header.deleting_since);
  EXPECT_EQ(to_rfc3339(*header.deleting_since), "2026-01-02T03:04:06Z");
}

TEST(MetadataTest, WrongTypesAreTakenAsMissing) {
  auto header = read_header(object(R"({"metadata":{"name":1,"labels":[],"ownerReferences":[1,{"uid":true}],
      "finalizers":"x","creationTimestamp":"soon","deletionTimestamp":null,"generation":"3","resourceVersion":"x"},
      "spec":"text"})"),
                            kFields);
  EXPECT_EQ(header.name.name, "");
  EXPECT_TRUE(header.labels.empty());
  EXPECT_EQ(header.owners.size(), 2U);
  EXPECT_FALSE(header.deleting_since);
  EXPECT_EQ(header.revision, 0U);
  EXPECT_EQ(header.field("spec.hostNetwork"), "false");
}

TEST(MetadataTest, TheGapIsTheOneInMetadata) {
  auto draft = make_draft(object(kPod), kFields);
  EXPECT_EQ(draft.header.revision, 0U);
  auto version = stamp(draft, 4711);
  auto want = object(kPod);
  want.at("metadata").at("resourceVersion") = "4711";
  EXPECT_EQ(object(*version.json), want);
}

TEST(MetadataTest, TheGapIsMadeWhereThereIsNoResourceVersion) {
  for (const char* text :
       {R"({"metadata":{}})", R"({"metadata":{"name":"a"},"kind":"X"})",
        R"({"kind":"X","metadata":{"resourceVersion":null}})", R"({"kind":"X"})", "{}", R"({"metadata":"x"})", "[]"}) {
    auto version = stamp(make_draft(object(text), {}), 5);
    EXPECT_EQ(json::string_at(object(*version.json), {"metadata", "resourceVersion"}), "5") << *version.json;
  }
}

TEST(MetadataTest, VersionsAreReadBack) {
  auto version = stamp(make_draft(object(kPod), kFields), 4711);
  auto back = parse_version(*version.json, kFields);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back->json, *version.json);
  EXPECT_EQ(back->header->revision, 4711U);
  EXPECT_EQ(back->header->labels, version.header->labels);
  EXPECT_EQ(back->header->fields, version.header->fields);
  EXPECT_EQ(back->header->created, version.header->created);

  EXPECT_FALSE(parse_version("{"));
  EXPECT_FALSE(parse_version("[]"));
  EXPECT_FALSE(parse_version(R"({"metadata":{"name":"a"}})"));
  EXPECT_FALSE(parse_version(R"({"metadata":{"resourceVersion":"1"}})"));
}

RC_GTEST_PROP(MetadataTest, NoStringMovesTheGap, (std::uint32_t revision)) {
  auto text = [] {
    auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "\"resourceVersion\":\"\"", "metadata", "{", "}", "\"", "\\", ":", ",", "resourceVersion", "\n"));
    std::string joined;
    for (const auto& piece : pieces) joined += piece;
    return joined;
  };
  json::Object metadata{{"x" + text(), text()}, {"name", text()}, {"resourceVersion", text()}, {"annotations", text()}};
  json::Value value(json::Object{{"x" + text(), text()}, {"metadata", metadata}, {"spec", text()}});
  auto version = stamp(make_draft(value, {}), revision);
  value.at("metadata").at("resourceVersion") = std::to_string(revision);
  RC_ASSERT(json::parse(*version.json).value() == value);
}

TEST(OwnerTest, FindsSetsAndRemoves) {
  auto pod = object(kPod);
  auto header = read_header(pod, {});
  ASSERT_NE(controller_of(header), nullptr);
  EXPECT_EQ(controller_of(header)->name, "web");
  EXPECT_TRUE(is_controlled_by(header, "o1"));
  EXPECT_TRUE(is_owned_by(header, "o1"));
  EXPECT_FALSE(is_owned_by(header, "o2"));

  Header owner;
  owner.name.name = "job";
  owner.uid = "o2";
  set_owner(pod, controller_reference("batch/v1", "Job", owner));
  set_owner(pod, controller_reference("batch/v1", "Job", owner));
  header = read_header(pod, {});
  ASSERT_EQ(header.owners.size(), 2U);
  EXPECT_EQ(header.owners[1].kind, "Job");
  EXPECT_TRUE(header.owners[1].controller && header.owners[1].block_owner_deletion);

  EXPECT_FALSE(remove_owners(pod, {"o3"}));
  EXPECT_TRUE(remove_owners(pod, {"o1"}));
  EXPECT_EQ(read_header(pod, {}).owners.size(), 1U);
  EXPECT_TRUE(remove_owners(pod, {"o2"}));
  EXPECT_EQ(json::find(pod, {"metadata", "ownerReferences"}), nullptr);
  EXPECT_FALSE(remove_owners(pod, {"o2"}));
}

TEST(OwnerTest, SplitsApiVersions) {
  EXPECT_EQ(split_api_version("apps/v1").group, "apps");
  EXPECT_EQ(split_api_version("apps/v1").version, "v1");
  EXPECT_EQ(split_api_version("v1").group, "");
  EXPECT_EQ(split_api_version("v1").version, "v1");
}

}  // namespace
}  // namespace gangway::api
