#include "client/object_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/decode.h"
#include "testing/builders.h"

namespace gangway::client {
namespace {

using testing::a_pod;

api::Version version(const testing::ObjectBuilder& object, int revision) {
  json::Value tree = object;
  json::object_at(tree, {"metadata"})["resourceVersion"] = std::to_string(revision);
  return *encode_object(tree, {});
}

std::vector<std::string> names(const std::vector<api::Version>& versions) {
  std::vector<std::string> all;
  for (const api::Version& each : versions) all.push_back(each.header->name.name);
  return all;
}

using Names = std::vector<std::string>;

TEST(ObjectCacheTest, FindsWhatAnOwnerHas) {
  ObjectCache cache;
  cache.put(version(a_pod("a", "p2").owner("apps/v1", "ReplicaSet", "rs", "u1", true), 1));
  cache.put(version(a_pod("a", "p1").owner("apps/v1", "ReplicaSet", "rs", "u1", true), 2));
  cache.put(version(a_pod("a", "p3").owner("apps/v1", "ReplicaSet", "other", "u2", true), 3));
  EXPECT_EQ(names(cache.owned_by("u1")), (Names{"p1", "p2"}));
  Names visited;
  cache.for_each_owned_by("u1", [&](const api::Version& pod) { visited.push_back(pod.header->name.name); });
  EXPECT_EQ(visited, (Names{"p1", "p2"}));
  cache.put(version(a_pod("a", "p2").owner("apps/v1", "ReplicaSet", "other", "u2", true), 4));
  EXPECT_EQ(names(cache.owned_by("u1")), (Names{"p1"}));
  EXPECT_EQ(names(cache.owned_by("u2")), (Names{"p2", "p3"}));
  cache.erase({"a", "p1"});
  EXPECT_FALSE(cache.has_owned_by("u1"));
}

TEST(ObjectCacheTest, FindsWhatNobodyManages) {
  ObjectCache cache;
  cache.put(version(a_pod("a", "free"), 1));
  cache.put(version(a_pod("b", "elsewhere"), 2));
  cache.put(version(a_pod("a", "owned").owner("v1", "ConfigMap", "m", "u", false), 3));
  cache.put(version(a_pod("a", "managed").owner("apps/v1", "ReplicaSet", "rs", "u", true), 4));
  EXPECT_EQ(names(cache.without_controller("a")), (Names{"free", "owned"}));
  cache.put(version(a_pod("a", "free").owner("apps/v1", "ReplicaSet", "rs", "u", true), 5));
  cache.put(version(a_pod("a", "managed"), 6));
  EXPECT_EQ(names(cache.without_controller("a")), (Names{"managed", "owned"}));
}

TEST(ObjectCacheTest, CountsWhatHasGone) {
  ObjectCache cache;
  cache.put(version(a_pod("a", "p").owner("apps/v1", "ReplicaSet", "rs", "u", true), 1));
  EXPECT_EQ(cache.departed("u"), 0u);
  cache.erase({"a", "p"});
  cache.erase({"a", "p"});
  EXPECT_EQ(cache.departed("u"), 1u);
}

struct NameFacts {
  std::string name;
};
int reads = 0;
NameFacts read_name(const api::Version& version) {
  ++reads;
  return {version.header->name.name};
}

TEST(ObjectCacheTest, ReadsAVersionOnce) {
  reads = 0;
  ObjectCache cache;
  const api::Version first = version(a_pod("a", "p"), 1);
  cache.put(first);
  EXPECT_EQ(cache.facts<NameFacts>(first, read_name)->name, "p");
  EXPECT_EQ(cache.facts<NameFacts>(cache.get({"a", "p"}), read_name)->name, "p");
  EXPECT_EQ(reads, 1);
  const api::Version second = version(a_pod("a", "p"), 2);
  cache.put(second);
  cache.facts<NameFacts>(second, read_name);
  EXPECT_EQ(reads, 2);
  // What has left is read each time, or it would be kept for ever.
  cache.facts<NameFacts>(first, read_name);
  cache.facts<NameFacts>(first, read_name);
  EXPECT_EQ(reads, 4);
  cache.facts<NameFacts>(second, read_name);
  EXPECT_EQ(reads, 4);
}

TEST(ObjectCacheTest, FindsByWhatAControllerReadsFromObjects) {
  const KeyIndex by_image{"image", [](const ObjectCache&, const api::Version& pod) {
                            std::vector<std::string> images;
                            const json::Value tree = *json::parse(*pod.json);
                            for (const json::Value& container : json::array_at(tree, {"spec", "containers"}))
                              images.emplace_back(json::string_at(container, {"image"}));
                            return images;
                          }};
  const auto pod = [](const std::string& name, const std::string& containers, int revision) {
    return version(a_pod("a", name).with(R"({"spec":{"containers":[)" + containers + "]}}"), revision);
  };
  ObjectCache cache;
  cache.put(pod("both", R"({"image":"x"},{"image":"y"})", 1));
  cache.add_index(by_image);
  cache.put(pod("one", R"({"image":"x"})", 2));
  cache.put(pod("none", "", 3));
  EXPECT_EQ(names(cache.with_key("image", "x")), (Names{"both", "one"}));
  EXPECT_EQ(names(cache.with_key("image", "y")), (Names{"both"}));
  cache.add_index(by_image);
  cache.put(pod("both", R"({"image":"z"})", 4));
  cache.erase({"a", "one"});
  EXPECT_EQ(names(cache.with_key("image", "x")), (Names{}));
  EXPECT_EQ(names(cache.with_key("image", "z")), (Names{"both"}));
}

}  // namespace
}  // namespace gangway::client
