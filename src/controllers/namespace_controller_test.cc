#include "controllers/namespace_controller.h"

#include <gtest/gtest.h>

#include <string>

#include "controllers/conditions.h"
#include "controllers/test_catalog.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kConfigMaps;
using client::resources::kNamespaces;
using client::resources::kPods;
using testing::a_config_map;
using testing::a_namespace;
using testing::a_pod;

struct NamespaceControllerTest : ::testing::Test {
  Bench bench;
  testing::FakeApi& api = bench.api;
  NamespaceController reconciler;
  ContentProbe probe{api, bench.loop, bench.catalog};

  void SetUp() override {
    api.create(kNamespaces, a_namespace("team"));
    api.create(kNamespaces, a_namespace("other"));
    bench.start(reconciler, &probe);
  }
  std::string condition(const std::string& type, const char* field) {
    const json::Value tree = api.tree(kNamespaces, {"", "team"});
    const json::Object* found = find_condition(tree, type);
    return found == nullptr ? "none" : std::string(found->at(field).as_string());
  }
  void release(const client::Resource& resource, const std::string& name) {
    api.patch(resource, {"team", name}, testing::parsed(R"({"metadata":{"finalizers":[]}})"));
  }
};

TEST_F(NamespaceControllerTest, LeavesActiveNamespacesAlone) {
  api.create(kConfigMaps, a_config_map("team", "a"));
  bench.loop.advance(1min);
  EXPECT_TRUE(api.writes().empty());
}

TEST_F(NamespaceControllerTest, EmptiesANamespaceThenLetsItGo) {
  api.create(kConfigMaps, a_config_map("team", "a"));
  api.create(kPods, a_pod("team", "p"));
  api.create(kConfigMaps, a_config_map("other", "stays"));
  api.remove(kNamespaces, {"", "team"});
  bench.loop.advance(3s);
  EXPECT_FALSE(api.get(kNamespaces, {"", "team"}));
  EXPECT_FALSE(api.get(kConfigMaps, {"team", "a"}));
  EXPECT_TRUE(api.get(kConfigMaps, {"other", "stays"}));
}

TEST_F(NamespaceControllerTest, AnEmptyNamespaceGoesAtOnce) {
  api.remove(kNamespaces, {"", "team"});
  bench.loop.run_until_idle();
  EXPECT_FALSE(api.get(kNamespaces, {"", "team"}));
  ASSERT_EQ(api.writes().size(), 1u);
  EXPECT_EQ(api.writes()[0].subresource, "finalize");
}

TEST_F(NamespaceControllerTest, PodsGoBeforeWhatTheyMayUse) {
  api.create(kConfigMaps, a_config_map("team", "a"));
  api.create(kPods, a_pod("team", "p").finalizer("example.com/hold"));
  api.remove(kNamespaces, {"", "team"});
  bench.loop.advance(3s);
  EXPECT_TRUE(api.get(kPods, {"team", "p"}).header->deleting_since);
  EXPECT_FALSE(api.get(kConfigMaps, {"team", "a"}).header->deleting_since);
  release(kPods, "p");
  bench.loop.advance(20s);
  EXPECT_FALSE(api.get(kNamespaces, {"", "team"}));
}

TEST_F(NamespaceControllerTest, SaysWhatIsInTheWayAndWaitsForIt) {
  api.create(kConfigMaps, a_config_map("team", "a").finalizer("example.com/hold"));
  api.remove(kNamespaces, {"", "team"});
  bench.loop.advance(5s);
  EXPECT_EQ(condition("NamespaceContentRemaining", "status"), "True");
  EXPECT_EQ(condition("NamespaceContentRemaining", "reason"), "SomeResourcesRemain");
  EXPECT_EQ(condition("NamespaceContentRemaining", "message"),
            "Some resources are remaining: configmaps. has 1 resource instances");
  EXPECT_EQ(condition("NamespaceFinalizersRemaining", "message"),
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances");
  EXPECT_EQ(condition("NamespaceDeletionDiscoveryFailure", "status"), "False");
  EXPECT_EQ(condition("NamespaceDeletionContentFailure", "reason"), "ContentDeleted");
  api.forget_calls();
  bench.loop.advance(1min);
  EXPECT_TRUE(api.writes().empty()) << "nothing changed, so nothing is to be written";
  release(kConfigMaps, "a");
  bench.loop.advance(1min);
  EXPECT_FALSE(api.get(kNamespaces, {"", "team"}));
}

TEST_F(NamespaceControllerTest, DoesNotLetGoWhileSomethingCannotBeListed) {
  api.fail_lists(kWidgets, testing::an_error(Reason::kForbidden), 3);
  api.remove(kNamespaces, {"", "team"});
  bench.loop.run_until_idle();
  EXPECT_TRUE(api.get(kNamespaces, {"", "team"}));
  EXPECT_EQ(condition("NamespaceDeletionContentFailure", "status"), "True");
  bench.loop.advance(1min);
  EXPECT_FALSE(api.get(kNamespaces, {"", "team"}));
}

TEST_F(NamespaceControllerTest, DoesNotLetGoWhileTheResourcesAreUnknown) {
  bench.catalog.broken = testing::an_error(Reason::kServiceUnavailable);
  api.remove(kNamespaces, {"", "team"});
  bench.loop.advance(2s);
  EXPECT_TRUE(api.get(kNamespaces, {"", "team"}));
  EXPECT_EQ(condition("NamespaceDeletionDiscoveryFailure", "status"), "True");
  bench.catalog.broken.reset();
  bench.loop.advance(1min);
  EXPECT_FALSE(api.get(kNamespaces, {"", "team"}));
}

TEST_F(NamespaceControllerTest, KeepsTheFinalizersOfOthers) {
  api.patch(kNamespaces, {"", "team"}, testing::parsed(R"({"metadata":{"finalizers":["example.com/hold"]}})"));
  api.remove(kNamespaces, {"", "team"});
  bench.loop.advance(1min);
  const json::Value tree = api.tree(kNamespaces, {"", "team"});
  ASSERT_FALSE(tree.is_null());
  EXPECT_EQ(*json::find(tree, {"spec", "finalizers"}), json::Value(json::Array()));
  EXPECT_EQ(condition("NamespaceContentRemaining", "reason"), "ContentRemoved");
}

TEST_F(NamespaceControllerTest, EmptiesThroughBadWeather) {
  api.set_weather({.refused = 200, .lost = 200, .broken_watches = 50, .seed = 7});
  for (int i = 0; i < 30; ++i) api.create(kConfigMaps, a_config_map("team", "m" + std::to_string(i)));
  api.remove(kNamespaces, {"", "team"});
  bench.loop.advance(10min);
  EXPECT_FALSE(api.get(kNamespaces, {"", "team"}));
  EXPECT_TRUE(api.objects(kConfigMaps).empty());
}

}  // namespace
}  // namespace gangway::controllers
