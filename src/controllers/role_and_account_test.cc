#include <gtest/gtest.h>

#include <string>

#include "controllers/cluster_role_aggregation.h"
#include "controllers/service_account_controller.h"
#include "controllers/test_catalog.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kClusterRoles;
using client::resources::kConfigMaps;
using client::resources::kNamespaces;
using client::resources::kServiceAccounts;
using testing::an_object;

TEST(ServiceAccountControllerTest, EveryActiveNamespaceHasBothAndGetsThemBack) {
  Bench bench;
  ServiceAccountController reconciler("PEM");
  bench.api.create(kNamespaces, testing::a_namespace("team"));
  bench.start(reconciler);
  EXPECT_TRUE(bench.api.get(kServiceAccounts, {"team", "default"}));
  EXPECT_EQ(json::string_at(bench.api.tree(kConfigMaps, {"team", "kube-root-ca.crt"}), {"data", "ca.crt"}), "PEM");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);

  bench.api.remove(kServiceAccounts, {"team", "default"});
  bench.api.patch(kConfigMaps, {"team", "kube-root-ca.crt"}, testing::parsed(R"({"data":{"ca.crt":"spoilt"}})"));
  bench.loop.run_until_idle();
  EXPECT_TRUE(bench.api.get(kServiceAccounts, {"team", "default"}));
  EXPECT_EQ(json::string_at(bench.api.tree(kConfigMaps, {"team", "kube-root-ca.crt"}), {"data", "ca.crt"}), "PEM");
}

TEST(ServiceAccountControllerTest, LeavesATerminatingNamespaceAlone) {
  Bench bench;
  ServiceAccountController reconciler("PEM");
  bench.api.create(kNamespaces, testing::a_namespace("team"));
  bench.api.remove(kNamespaces, {"", "team"});
  bench.start(reconciler);
  EXPECT_TRUE(bench.api.writes().empty());
}

testing::ObjectBuilder a_role(const std::string& name) {
  return an_object("rbac.authorization.k8s.io/v1", "ClusterRole", "", name);
}

TEST(ClusterRoleAggregationTest, CollectsTheRulesOfTheSelectedRoles) {
  Bench bench;
  ClusterRoleAggregation reconciler;
  bench.api.create(
      kClusterRoles,
      a_role("view").with(R"({"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"to-view":"true"}}]}})"));
  bench.api.create(kClusterRoles, a_role("z").label("to-view", "true").with(R"({"rules":[{"verbs":["get"]}]})"));
  bench.api.create(kClusterRoles,
                   a_role("b").label("to-view", "true").with(R"({"rules":[{"verbs":["list"]},{"verbs":["get"]}]})"));
  bench.api.create(kClusterRoles, a_role("c").with(R"({"rules":[{"verbs":["delete"]}]})"));
  bench.start(reconciler);
  const auto rules = [&] { return *json::find(bench.api.tree(kClusterRoles, {"", "view"}), {"rules"}); };
  EXPECT_EQ(rules(), testing::parsed(R"([{"verbs":["list"]},{"verbs":["get"]}])"));
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);

  bench.api.remove(kClusterRoles, {"", "b"});
  bench.loop.run_until_idle();
  EXPECT_EQ(rules(), testing::parsed(R"([{"verbs":["get"]}])"));
  bench.api.patch(kClusterRoles, {"", "c"}, testing::parsed(R"({"metadata":{"labels":{"to-view":"true"}}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(rules(), testing::parsed(R"([{"verbs":["delete"]},{"verbs":["get"]}])"));
  // The rules of the aggregating role are the controller's.
  bench.api.patch(kClusterRoles, {"", "view"}, testing::parsed(R"({"rules":[]})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(rules(), testing::parsed(R"([{"verbs":["delete"]},{"verbs":["get"]}])"));
}

}  // namespace
}  // namespace gangway::controllers
