#include "apiserver/auth/rbac.h"

#include <gtest/gtest.h>

#include "apiserver/auth/escalation.h"
#include "apiserver/auth/test_state.h"

namespace gangway::apiserver {
namespace {

Attributes request(const UserInfo& user, std::string verb, std::string group, std::string resource, std::string ns = {},
                   std::string name = {}) {
  Attributes a;
  a.user = user;
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

UserInfo user(std::string name, std::vector<std::string> groups = {}) {
  return UserInfo{.name = std::move(name), .uid = {}, .groups = std::move(groups), .extra = {}};
}

class RbacTest : public testing::Test {
 protected:
  RbacTest() {
    cluster_role("podreader", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get","list"]}])");
    cluster_role("rolewriter", R"([{"apiGroups":["rbac.authorization.k8s.io"],
        "resources":["roles","rolebindings","clusterroles","clusterrolebindings"],"verbs":["get","create","update"]}])");
    cluster_role("cluster-admin", R"([{"apiGroups":["*"],"resources":["*"],"verbs":["*"]},
                                      {"nonResourceURLs":["*"],"verbs":["*"]}])");
    cluster_role("mixed", R"([{"apiGroups":[""],"resources":["pods/log","*/status"],"verbs":["get"]},
        {"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["web"],"verbs":["update"]},
        {"nonResourceURLs":["/metrics","/healthz/*"],"verbs":["get"]}])");
    bind("a1", "", "ClusterRole", "rolewriter", R"([{"kind":"User","name":"alice"}])");
    bind("a2", "default", "ClusterRole", "podreader", R"([{"kind":"User","name":"alice"}])");
    bind("g1", "", "ClusterRole", "mixed", R"([{"kind":"Group","name":"devs"}])");
    bind("s1", "jobs", "ClusterRole", "podreader", R"([{"kind":"ServiceAccount","name":"runner"},
        {"kind":"ServiceAccount","name":"other","namespace":"elsewhere"}])");
    bind("root", "", "ClusterRole", "cluster-admin", R"([{"kind":"User","name":"root"}])");
    bind("dangling", "", "ClusterRole", "gone", R"([{"kind":"User","name":"bob"}])");
    state_.put("roles.rbac.authorization.k8s.io", R"({"metadata":{"name":"local","namespace":"default"},
        "rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["*"]}]})");
    bind("l1", "default", "Role", "local", R"([{"kind":"User","name":"carol"}])");
    bind("l2", "", "Role", "local", R"([{"kind":"User","name":"dave"}])");
  }

  void cluster_role(const std::string& name, const std::string& rules) {
    state_.put("clusterroles.rbac.authorization.k8s.io",
               R"({"metadata":{"name":")" + name + R"("},"rules":)" + rules + "}");
  }
  void bind(const std::string& name, const std::string& ns, const std::string& kind, const std::string& role,
            const std::string& subjects) {
    auto metadata = R"({"name":")" + name + R"(")" + (ns.empty() ? "" : R"(,"namespace":")" + ns + R"(")") + "}";
    state_.put(ns.empty() ? "clusterrolebindings.rbac.authorization.k8s.io" : "rolebindings.rbac.authorization.k8s.io",
               R"({"metadata":)" + metadata + R"(,"roleRef":{"kind":")" + kind + R"(","name":")" + role +
                   R"("},"subjects":)" + subjects + "}");
  }
  std::shared_ptr<const RbacPolicy> policy() const { return RbacPolicy::of(state_); }

  TestState state_;
  UserInfo alice_ = user("alice", {"devs", "system:authenticated"});
};

TEST_F(RbacTest, AllowsWhatARuleAllows) {
  struct Case {
    Attributes request;
    bool want;
  };
  const auto bob = user("bob", {"system:authenticated"});
  const auto devs = user("eve", {"devs"});
  const auto runner = user("system:serviceaccount:jobs:runner");
  const Case cases[] = {
      {request(alice_, "list", "", "pods", "default"), true},
      {request(alice_, "list", "", "pods", "kube-system"), false},
      {request(alice_, "list", "", "pods"), false},
      {request(alice_, "watch", "", "pods", "default"), false},
      {request(alice_, "get", "", "pods/status", "default"), true},  // from the group's */status
      {request(alice_, "get", "apps", "pods", "default"), false},
      {request(bob, "get", "", "pods", "default"), false},
      {request(devs, "get", "", "pods/log", "any"), true},
      {request(devs, "get", "", "pods/exec", "any"), false},
      {request(devs, "get", "", "pods", "any"), false},
      {request(devs, "get", "", "services/status"), true},
      {request(devs, "update", "apps", "deployments", "any", "web"), true},
      {request(devs, "update", "apps", "deployments", "any", "db"), false},
      {request(devs, "update", "apps", "deployments", "any"), false},
      {request(runner, "get", "", "pods", "jobs"), true},
      {request(runner, "get", "", "pods", "elsewhere"), false},
      {request(user("system:serviceaccount:elsewhere:other"), "get", "", "pods", "jobs"), true},
      {request(user("root"), "delete", "any.group", "things/sub", "x", "y"), true},
      {request(user("carol"), "delete", "", "configmaps", "default"), true},
      {request(user("carol"), "delete", "", "configmaps", "other"), false},
      {request(user("dave"), "delete", "", "configmaps", "default"), false},  // a cluster binding to a Role
      {request(user("x", {"system:masters"}), "anything", "g", "r"), true},
  };
  for (const auto& c : cases) {
    const auto& r = c.request;
    EXPECT_EQ(policy()->authorize(r).allowed, c.want)
        << r.user.name << " " << r.verb << " " << r.resource << "/" << r.subresource << " in " << r.ns;
  }
}

TEST_F(RbacTest, AllowsPaths) {
  auto path = [&](const UserInfo& who, std::string verb, std::string text) {
    Attributes a;
    a.user = who;
    a.verb = std::move(verb);
    a.path = std::move(text);
    return policy()->authorize(a).allowed;
  };
  EXPECT_TRUE(path(alice_, "get", "/metrics"));
  EXPECT_FALSE(path(alice_, "post", "/metrics"));
  EXPECT_FALSE(path(alice_, "get", "/metrics/slis"));
  EXPECT_TRUE(path(alice_, "get", "/healthz/etcd"));
  EXPECT_FALSE(path(alice_, "get", "/healthz"));
  EXPECT_TRUE(path(user("root"), "get", "/anything"));
}

// The texts are those of kube-apiserver.
TEST_F(RbacTest, SaysWhyAndWhyNot) {
  EXPECT_EQ(policy()->authorize(request(alice_, "get", "", "pods", "default")).reason,
            "RBAC: allowed by RoleBinding \"a2/default\" of ClusterRole \"podreader\" to User \"alice\"");
  EXPECT_EQ(policy()->authorize(request(alice_, "get", "rbac.authorization.k8s.io", "roles", "default")).reason,
            "RBAC: allowed by ClusterRoleBinding \"a1\" of ClusterRole \"rolewriter\" to User \"alice\"");
  EXPECT_EQ(policy()->authorize(request(user("system:serviceaccount:jobs:runner"), "get", "", "pods", "jobs")).reason,
            "RBAC: allowed by RoleBinding \"s1/jobs\" of ClusterRole \"podreader\" to ServiceAccount \"runner/jobs\"");

  bind("b1", "", "ClusterRole", "gone", R"([{"kind":"User","name":"mona"}])");
  EXPECT_EQ(policy()->authorize(request(user("mona"), "get", "", "pods", "default")).reason,
            "RBAC: clusterrole.rbac.authorization.k8s.io \"gone\" not found");
  bind("b2", "default", "Role", "lost", R"([{"kind":"User","name":"mona"}])");
  EXPECT_EQ(policy()->authorize(request(user("mona"), "get", "", "pods", "default")).reason,
            "RBAC: [clusterrole.rbac.authorization.k8s.io \"gone\" not found, role.rbac.authorization.k8s.io \"lost\" "
            "not found]");

  auto error = forbidden(request(alice_, "list", "", "pods", "kube-system"));
  EXPECT_EQ(error.reason, Reason::kForbidden);
  EXPECT_EQ(error.message,
            "pods is forbidden: User \"alice\" cannot list resource \"pods\" in API group \"\" in the namespace "
            "\"kube-system\"");
  EXPECT_EQ(error.subject.kind, "pods");
  EXPECT_EQ(forbidden(request(alice_, "get", "", "pods", "kube-system", "p1")).message,
            "pods \"p1\" is forbidden: User \"alice\" cannot get resource \"pods\" in API group \"\" in the namespace "
            "\"kube-system\"");
  EXPECT_EQ(forbidden(request(alice_, "list", "", "nodes")).message,
            "nodes is forbidden: User \"alice\" cannot list resource \"nodes\" in API group \"\" at the cluster scope");
  EXPECT_EQ(forbidden(request(alice_, "update", "apps", "deployments/scale", "d", "w"), "because").message,
            "deployments.apps \"w\" is forbidden: User \"alice\" cannot update resource \"deployments/scale\" in API "
            "group \"apps\" in the namespace \"d\": because");
  Attributes path;
  path.user = user("<b>");
  path.verb = "get";
  path.path = "/foo";
  EXPECT_EQ(forbidden(path).message, "forbidden: User \"&lt;b&gt;\" cannot get path \"/foo\"");
}

TEST_F(RbacTest, ListsTheRulesOfAUser) {
  auto live = policy();
  EXPECT_EQ(live->rules_for(alice_, "").size(), 4U);         // rolewriter, mixed
  EXPECT_EQ(live->rules_for(alice_, "default").size(), 5U);  // and podreader
  EXPECT_EQ(live->rules_for(user("nobody"), "default").size(), 0U);
  auto rules = live->rules_for(user("carol"), "default");
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(json::serialize(to_json(*rules[0])), R"({"verbs":["*"],"apiGroups":[""],"resources":["configmaps"]})");
}

TEST_F(RbacTest, NobodyWritesARoleWithRightsTheyLack) {
  auto role = parsed(R"({"metadata":{"name":"r1","namespace":"default"},"rules":[
      {"apiGroups":[""],"resources":["pods","pods/log","secrets"],"verbs":["get","list","watch"]},
      {"apiGroups":[""],"resources":["configmaps"],"resourceNames":["a","b"],"verbs":["get"]},
      {"apiGroups":["apps"],"resources":["*"],"verbs":["*"]}]})");
  auto create = request(user("alice", {"others", "system:authenticated"}), "create", "rbac.authorization.k8s.io",
                        "roles", "default");
  auto refused = check_role_write(*policy(), create, nullptr, role);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::kForbidden);
  EXPECT_EQ(refused.error().message,
            "roles.rbac.authorization.k8s.io \"r1\" is forbidden: user \"alice\" (groups=[\"others\" "
            "\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n"
            "{APIGroups:[\"\"], Resources:[\"configmaps\"], ResourceNames:[\"a\"], Verbs:[\"get\"]}\n"
            "{APIGroups:[\"\"], Resources:[\"configmaps\"], ResourceNames:[\"b\"], Verbs:[\"get\"]}\n"
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"watch\"]}\n"
            "{APIGroups:[\"\"], Resources:[\"pods/log\"], Verbs:[\"get\" \"list\" \"watch\"]}\n"
            "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\" \"watch\"]}\n"
            "{APIGroups:[\"apps\"], Resources:[\"*\"], Verbs:[\"*\"]}");

  auto held = parsed(R"({"metadata":{"name":"r2"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]})");
  EXPECT_TRUE(check_role_write(*policy(), create, nullptr, held));
  create.ns = "other";
  EXPECT_FALSE(check_role_write(*policy(), create, nullptr, held)) << "held in the namespace default only";
  create.user = user("root");
  EXPECT_TRUE(check_role_write(*policy(), create, nullptr, role));
  create.user = user("x", {"system:masters"});
  EXPECT_TRUE(check_role_write(*policy(), create, nullptr, role));

  cluster_role("escalator",
               R"([{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["escalate"]}])");
  bind("e1", "", "ClusterRole", "escalator", R"([{"kind":"User","name":"erin"}])");
  create.user = user("erin");
  EXPECT_TRUE(check_role_write(*policy(), create, nullptr, role));
}

TEST_F(RbacTest, OwnersMayLetGoOfARole) {
  auto old = parsed(R"({"metadata":{"name":"r","finalizers":["x"]},
      "rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]})");
  auto now = old;
  json::object_at(now, {"metadata"}).erase("finalizers");
  auto update = request(alice_, "update", "rbac.authorization.k8s.io", "clusterroles", "", "r");
  EXPECT_TRUE(check_role_write(*policy(), update, &old, now));
  json::object_at(now, {"metadata"})["labels"] = json::Object{{"a", "b"}};
  EXPECT_FALSE(check_role_write(*policy(), update, &old, now));
}

TEST_F(RbacTest, AggregationTakesAnAdministrator) {
  auto role =
      parsed(R"({"metadata":{"name":"agg"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}})");
  auto create = request(alice_, "create", "rbac.authorization.k8s.io", "clusterroles");
  auto refused = check_role_write(*policy(), create, nullptr, role);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message,
      "clusterroles.rbac.authorization.k8s.io \"agg\" is forbidden: must have cluster-admin privileges to use the "
      "aggregationRule");
  create.user = user("root");
  EXPECT_TRUE(check_role_write(*policy(), create, nullptr, role));
}

// 60 × 60 × 60 rights in two kilobytes.
TEST_F(RbacTest, ARoleThatNobodyCouldReadIsRefusedUnlessOneRuleCoversIt) {
  json::Array many;
  for (int i = 0; i < 60; ++i) many.push_back(json::Value("x" + std::to_string(i)));
  json::Value role =
      json::Object{{"metadata", json::Object{{"name", "large"}}},
                   {"rules", json::Array{json::Object{{"apiGroups", many}, {"resources", many}, {"verbs", many}}}}};
  auto create = request(alice_, "create", "rbac.authorization.k8s.io", "clusterroles");
  auto refused = check_role_write(*policy(), create, nullptr, role);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::kForbidden);
  EXPECT_NE(refused.error().message.find("more than 100000 rights"), std::string::npos) << refused.error().message;
  create.user = user("root");
  EXPECT_TRUE(check_role_write(*policy(), create, nullptr, role));
}

TEST_F(RbacTest, NobodyBindsARoleWithRightsTheyLack) {
  auto binding = [](const char* role) {
    return parsed(
        std::string(R"({"metadata":{"name":"x","namespace":"default"},"roleRef":{"kind":"ClusterRole","name":")") +
        role + R"("},"subjects":[{"kind":"User","name":"bob"}]})");
  };
  auto create = request(alice_, "create", "rbac.authorization.k8s.io", "rolebindings", "default");
  EXPECT_TRUE(check_binding_write(*policy(), create, nullptr, binding("podreader")));
  auto refused = check_binding_write(*policy(), create, nullptr, binding("cluster-admin"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "rolebindings.rbac.authorization.k8s.io \"x\" is forbidden: user \"alice\" (groups=[\"devs\" "
            "\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n"
            "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}");
  auto missing = check_binding_write(*policy(), create, nullptr, binding("missing"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().reason, Reason::kNotFound);
  EXPECT_EQ(missing.error().message, "rolebindings.rbac.authorization.k8s.io \"missing\" not found");

  create.ns = "";
  create.resource = "clusterrolebindings";
  EXPECT_FALSE(check_binding_write(*policy(), create, nullptr, binding("podreader"))) << "held in one namespace only";

  cluster_role("binder", R"([{"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],
      "resourceNames":["cluster-admin"],"verbs":["bind"]}])");
  bind("b1", "", "ClusterRole", "binder", R"([{"kind":"User","name":"alice"}])");
  EXPECT_TRUE(check_binding_write(*policy(), create, nullptr, binding("cluster-admin")));
  EXPECT_FALSE(check_binding_write(*policy(), create, nullptr, binding("podreader")));
}

TEST(UncoveredTest, ComparesRulePartsAndWildcards) {
  const PolicyRule held{.verbs = {"get"},
                        .api_groups = {"*"},
                        .resources = {"*/scale", "pods"},
                        .resource_names = {},
                        .non_resource_urls = {"/api/*"}};
  const PolicyRule named{
      .verbs = {"*"}, .api_groups = {""}, .resources = {"secrets"}, .resource_names = {"a"}, .non_resource_urls = {}};
  auto count = [&](PolicyRule wanted) { return uncovered({&held, &named}, {std::move(wanted)}).size(); };
  EXPECT_EQ(count({{"get"}, {"apps", ""}, {"deployments/scale", "pods"}, {}, {}}), 0U);
  EXPECT_EQ(count({{"get"}, {""}, {"pods/log"}, {}, {}}), 1U);
  EXPECT_EQ(count({{"get", "list"}, {""}, {"pods"}, {}, {}}), 1U);
  EXPECT_EQ(count({{"get"}, {""}, {"pods"}, {"x"}, {}}), 0U);
  EXPECT_EQ(count({{"delete"}, {""}, {"secrets"}, {"a", "b"}, {}}), 1U);
  EXPECT_EQ(count({{"delete"}, {""}, {"secrets"}, {}, {}}), 1U);
  EXPECT_EQ(count({{"get"}, {}, {}, {}, {"/api/v1", "/api/*", "/apis"}}), 1U);
  EXPECT_EQ(count({{"*"}, {"*"}, {"*"}, {}, {}}), 1U);
}

TEST_F(RbacTest, PriorityClassesAreRestrictedByAnnotationOrLabel) {
  EXPECT_FALSE(is_restricted_priority_class(parsed(R"({"metadata":{"name":"low"}})")));
  EXPECT_FALSE(
      is_restricted_priority_class(parsed(R"({"metadata":{"annotations":{"gangway.dev/restricted":"false"}}})")));
  EXPECT_TRUE(
      is_restricted_priority_class(parsed(R"({"metadata":{"annotations":{"gangway.dev/restricted":"true"}}})")));
  EXPECT_TRUE(is_restricted_priority_class(parsed(R"({"metadata":{"labels":{"gangway.dev/restricted":"true"}}})")));
}

}  // namespace
}  // namespace gangway::apiserver
