#include "scheduler/rights.h"

#include <gtest/gtest.h>

namespace gangway::scheduler {
namespace {

constexpr const char* kManifest = R"(
apiVersion: v1
kind: ServiceAccount
metadata: {name: m, namespace: kube-system}
---
kind: ClusterRole
rules:
- {apiGroups: [""], resources: [pods, pods/status], verbs: [get]}
---
kind: Role
metadata: {namespace: kube-system}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [one], verbs: [get, update]}
)";

TEST(Rights, AreReadOffTheManifestOneByOne) {
  const auto rights = rights_of(kManifest, "elsewhere");
  ASSERT_TRUE(rights);
  std::vector<std::string> said;
  for (const Right& right : *rights) said.push_back(right.verb + " " + object_of(right));
  EXPECT_EQ(said,
            (std::vector<std::string>{"get pods", "get pods/status", "get leases.coordination.k8s.io one in elsewhere",
                                      "update leases.coordination.k8s.io one in elsewhere"}));
}

TEST(Rights, AReviewAsksForExactlyOne) {
  EXPECT_EQ(json::serialize(review_of(
                {.verb = "patch", .group = "", .resource = "pods", .subresource = "status", .ns = "", .name = ""})),
            R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":)"
            R"({"verb":"patch","group":"","resource":"pods","subresource":"status"}}})");
}

TEST(Rights, AManifestThatIsNotYamlIsAnError) {
  EXPECT_FALSE(rights_of("{", ""));
}

}  // namespace
}  // namespace gangway::scheduler
