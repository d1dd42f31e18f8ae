#include "apiserver/auth/node_restriction.h"

#include <gtest/gtest.h>

#include "apiserver/auth/test_state.h"

namespace gangway::apiserver {
namespace {

Attributes by_node(std::string verb, std::string group, std::string resource, std::string ns = {},
                   std::string name = {}) {
  Attributes a;
  a.user = {.name = "system:node:n0", .uid = {}, .groups = {"system:nodes"}, .extra = {}};
  a.verb = std::move(verb);
  a.is_resource = true;
  a.group = std::move(group);
  auto slash = resource.find('/');
  a.subresource = slash == std::string::npos ? "" : resource.substr(slash + 1);
  a.resource = resource.substr(0, slash);
  a.ns = std::move(ns);
  a.name = std::move(name);
  return a;
}

class NodeRestrictionTest : public testing::Test {
 protected:
  NodeRestrictionTest() {
    state_.put("pods", R"({"metadata":{"name":"p0","namespace":"jobs"},"spec":{"nodeName":"n0",
        "serviceAccountName":"runner","imagePullSecrets":[{"name":"pull"}],
        "volumes":[{"name":"a","secret":{"secretName":"vol"}},{"name":"b","configMap":{"name":"conf"}},
          {"name":"c","persistentVolumeClaim":{"claimName":"data"}},
          {"name":"d","projected":{"sources":[{"secret":{"name":"proj"}},{"configMap":{"name":"projconf"}}]}}],
        "containers":[{"env":[{"valueFrom":{"secretKeyRef":{"name":"env","key":"k"}}}],
          "envFrom":[{"configMapRef":{"name":"envconf"}}]}]}})");
    state_.put("pods", R"({"metadata":{"name":"p1","namespace":"jobs"},"spec":{"nodeName":"n1",
        "volumes":[{"secret":{"secretName":"other"}}]}})");
    state_.put("pods", R"({"metadata":{"name":"p2","namespace":"jobs"},"spec":{
        "volumes":[{"secret":{"secretName":"unbound"}}]}})");
    state_.put("persistentvolumes",
               R"({"metadata":{"name":"pv0"},"spec":{"claimRef":{"namespace":"jobs","name":"data"}}})");
    state_.put("persistentvolumes", R"({"metadata":{"name":"pv1"},"spec":{}})");
  }

  bool may(const Attributes& request) {
    auto decision = authorize_node(request, rules_, facts_);
    EXPECT_TRUE(decision.has_value());
    return decision && decision->allowed;
  }
  std::string why(const Attributes& request) { return authorize_node(request, rules_, facts_)->reason; }

  TestState state_;
  StoreNodeFacts facts_{state_};
  std::vector<PolicyRule> rules_ = {{{"get", "list", "watch"}, {""}, {"services"}, {}, {}},
                                    {{"create", "patch"}, {""}, {"events"}, {}, {}},
                                    {{"get", "list", "watch"}, {""}, {"secrets", "pods", "nodes"}, {}, {}}};
};

TEST_F(NodeRestrictionTest, OnlyNodesAreNodes) {
  EXPECT_EQ(node_of({.name = "system:node:n0", .uid = {}, .groups = {"system:nodes"}, .extra = {}}), "n0");
  EXPECT_EQ(node_of({.name = "system:node:n0", .uid = {}, .groups = {}, .extra = {}}), std::nullopt);
  EXPECT_EQ(node_of({.name = "n0", .uid = {}, .groups = {"system:nodes"}, .extra = {}}), std::nullopt);
  auto request = by_node("get", "", "secrets", "jobs", "vol");
  request.user.groups.clear();
  EXPECT_FALSE(authorize_node(request, rules_, facts_).has_value());
  request.user = {.name = "system:node:", .uid = {}, .groups = {"system:nodes"}, .extra = {}};
  EXPECT_FALSE(may(request));
}

TEST_F(NodeRestrictionTest, ReadsWhatItsPodsUse) {
  for (const char* name : {"vol", "proj", "env", "pull"})
    EXPECT_TRUE(may(by_node("get", "", "secrets", "jobs", name))) << name;
  for (const char* name : {"other", "unbound", "conf", "missing", ""}) {
    EXPECT_FALSE(may(by_node("get", "", "secrets", "jobs", name))) << name;
  }
  EXPECT_EQ(why(by_node("get", "", "secrets", "jobs", "other")), "no pod on node \"n0\" uses this object");
  EXPECT_FALSE(may(by_node("get", "", "secrets", "elsewhere", "vol")));
  EXPECT_FALSE(may(by_node("list", "", "secrets", "jobs")));
  EXPECT_FALSE(may(by_node("list", "", "secrets")));
  EXPECT_FALSE(may(by_node("update", "", "secrets", "jobs", "vol")));
  for (const char* name : {"conf", "projconf", "envconf"}) {
    EXPECT_TRUE(may(by_node("watch", "", "configmaps", "jobs", name))) << name;
  }
  EXPECT_FALSE(may(by_node("get", "", "configmaps", "jobs", "vol")));
  EXPECT_TRUE(may(by_node("get", "", "persistentvolumeclaims", "jobs", "data")));
  EXPECT_TRUE(may(by_node("patch", "", "persistentvolumeclaims/status", "jobs", "data")));
  EXPECT_FALSE(may(by_node("list", "", "persistentvolumeclaims", "jobs")));
  EXPECT_TRUE(may(by_node("get", "", "persistentvolumes", "", "pv0")));
  EXPECT_FALSE(may(by_node("get", "", "persistentvolumes", "", "pv1")));
  EXPECT_TRUE(may(by_node("create", "", "serviceaccounts/token", "jobs", "runner")));
  EXPECT_FALSE(may(by_node("create", "", "serviceaccounts/token", "jobs", "default")));
  EXPECT_FALSE(may(by_node("get", "", "serviceaccounts", "jobs", "runner")));
}

TEST_F(NodeRestrictionTest, ReadsItsOwnPodsAndNode) {
  EXPECT_TRUE(may(by_node("get", "", "pods", "jobs", "p0")));
  EXPECT_FALSE(may(by_node("get", "", "pods", "jobs", "p1")));
  EXPECT_FALSE(may(by_node("list", "", "pods")));
  auto list = by_node("list", "", "pods");
  list.selected_node = "n0";
  EXPECT_TRUE(may(list));
  list.selected_node = "n1";
  EXPECT_FALSE(may(list));
  EXPECT_TRUE(may(by_node("get", "", "nodes", "", "n0")));
  EXPECT_FALSE(may(by_node("get", "", "nodes", "", "n1")));
  EXPECT_FALSE(may(by_node("list", "", "nodes")));
  EXPECT_FALSE(may(by_node("delete", "", "nodes", "", "n0")));
}

TEST_F(NodeRestrictionTest, KeepsItsLease) {
  EXPECT_TRUE(may(by_node("update", "coordination.k8s.io", "leases", "kube-node-lease", "n0")));
  EXPECT_TRUE(may(by_node("create", "coordination.k8s.io", "leases", "kube-node-lease")));
  EXPECT_FALSE(may(by_node("update", "coordination.k8s.io", "leases", "kube-node-lease", "n1")));
  EXPECT_FALSE(may(by_node("update", "coordination.k8s.io", "leases", "kube-system", "n0")));
  EXPECT_FALSE(may(by_node("list", "coordination.k8s.io", "leases", "kube-node-lease")));
}

TEST_F(NodeRestrictionTest, HasTheRulesOfAllNodesBesides) {
  EXPECT_TRUE(may(by_node("list", "", "services")));
  EXPECT_TRUE(may(by_node("create", "", "events", "jobs")));
  EXPECT_FALSE(may(by_node("delete", "", "services", "jobs", "x")));
  EXPECT_FALSE(may(by_node("get", "apps", "deployments", "jobs", "x")));
}

TEST_F(NodeRestrictionTest, WritesOnlyWhatIsIts) {
  auto check = [&](const Attributes& request, const char* old, const char* now) {
    auto before = old == nullptr ? json::Value() : parsed(old);
    auto after = now == nullptr ? json::Value() : parsed(now);
    return check_node_write(request, old == nullptr ? nullptr : &before, now == nullptr ? nullptr : &after, facts_)
        .has_value();
  };
  const char* ours = R"({"metadata":{"labels":{"a":"b"}},"spec":{"nodeName":"n0"}})";
  const char* theirs = R"({"spec":{"nodeName":"n1"}})";
  const char* relabelled = R"({"metadata":{"labels":{"a":"c"}},"spec":{"nodeName":"n0"}})";
  EXPECT_TRUE(check(by_node("update", "", "pods/status", "jobs", "p0"), ours, ours));
  EXPECT_FALSE(check(by_node("update", "", "pods/status", "jobs", "p0"), ours, relabelled));
  EXPECT_FALSE(check(by_node("update", "", "pods/status", "jobs", "p1"), theirs, theirs));
  EXPECT_TRUE(check(by_node("delete", "", "pods", "jobs", "p0"), ours, nullptr));
  EXPECT_FALSE(check(by_node("delete", "", "pods", "jobs", "p1"), theirs, nullptr));
  EXPECT_FALSE(check(by_node("create", "", "pods", "jobs"), nullptr, ours));
  EXPECT_TRUE(check(by_node("create", "", "pods/eviction", "jobs", "p0"), nullptr, "{}"));
  EXPECT_FALSE(check(by_node("create", "", "pods/eviction", "jobs", "p1"), nullptr, "{}"));

  EXPECT_TRUE(check(by_node("create", "", "nodes"), nullptr, R"({"metadata":{"name":"n0"}})"));
  EXPECT_FALSE(check(by_node("create", "", "nodes"), nullptr, R"({"metadata":{"name":"n1"}})"));
  EXPECT_FALSE(check(by_node("patch", "", "nodes/status", "", "n1"), "{}", "{}"));
  EXPECT_FALSE(
      check(by_node("patch", "", "nodes", "", "n0"), R"({"spec":{"taints":[{"key":"a"}]}})", R"({"spec":{}})"));
  EXPECT_TRUE(check(by_node("patch", "", "nodes", "", "n0"), R"({"spec":{}})", R"({"spec":{"podCIDR":"x"}})"));

  EXPECT_TRUE(check(by_node("create", "coordination.k8s.io", "leases", "kube-node-lease"), nullptr,
                    R"({"metadata":{"name":"n0"}})"));
  EXPECT_FALSE(check(by_node("create", "coordination.k8s.io", "leases", "kube-node-lease"), nullptr,
                     R"({"metadata":{"name":"n1"}})"));

  auto token = by_node("create", "", "serviceaccounts/token", "jobs", "runner");
  EXPECT_TRUE(check(token, nullptr, R"({"spec":{"boundObjectRef":{"kind":"Pod","name":"p0","uid":"u"}}})"));
  EXPECT_FALSE(check(token, nullptr, R"({"spec":{"boundObjectRef":{"kind":"Pod","name":"p0"}}})"));
  EXPECT_FALSE(check(token, nullptr, R"({"spec":{"boundObjectRef":{"kind":"Pod","name":"p1","uid":"u"}}})"));
  EXPECT_FALSE(check(token, nullptr, R"({"spec":{}})"));

  auto admin = by_node("delete", "", "pods", "jobs", "p1");
  admin.user = {.name = "admin", .uid = {}, .groups = {}, .extra = {}};
  EXPECT_TRUE(check(admin, theirs, nullptr)) << "others than nodes pass";
}

}  // namespace
}  // namespace gangway::apiserver
