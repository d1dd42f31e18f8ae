#include "controllers/definition_cleanup.h"

#include <gtest/gtest.h>

#include "client/resource.h"
#include "testing/builders.h"
#include "testing/controller_bench.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;

const client::Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
const client::Resource kTabs{"x.io", "v1", "tabs"};

struct DefinitionCleanupTest : ::testing::Test {
  testing::ControllerBench bench;
  testing::FakeApi& api = bench.api;
  DefinitionCleanup reconciler;
  InstanceProbe probe{api};

  void delete_definition(std::string_view established) {
    api.create(kTabs, testing::parsed(R"({"metadata":{"name":"t","namespace":"ns"}})"));
    api.create(kDefinitions, testing::parsed(R"({"metadata":{"name":"tabs.x.io",
                   "finalizers":["customresourcecleanup.apiextensions.k8s.io"]},"spec":{"group":"x.io",
                   "names":{"plural":"tabs"},"versions":[{"name":"v1","served":true}]},
                   "status":{"conditions":[{"type":"Established","status":")" +
                                             std::string(established) + R"("}]}})"));
    bench.start(reconciler, &probe);
    api.remove(kDefinitions, {"", "tabs.x.io"});
    bench.loop.advance(5s);
  }
};

TEST_F(DefinitionCleanupTest, TakesItsObjectsAlong) {
  delete_definition("True");
  EXPECT_FALSE(api.get(kTabs, {"ns", "t"}));
  EXPECT_FALSE(api.get(kDefinitions, {"", "tabs.x.io"}));
}

TEST_F(DefinitionCleanupTest, LeavesObjectsThatAreAnotherKinds) {
  delete_definition("False");
  EXPECT_TRUE(api.get(kTabs, {"ns", "t"}));
  EXPECT_FALSE(api.get(kDefinitions, {"", "tabs.x.io"}));
}

}  // namespace
}  // namespace gangway::controllers
