#include "apiserver/request_info.h"

#include <gtest/gtest.h>

namespace gangway::apiserver {
namespace {

struct Case {
  std::string_view method;
  std::string_view target;
  std::string_view verb;
  std::string_view group;
  std::string_view resource;
  std::string_view subresource;
  std::string_view ns;
  std::string_view name;
};

TEST(RequestInfo, ReadsResources) {
  const Case cases[] = {
      {"GET", "/api/v1/pods", "list", "", "pods", "", "", ""},
      {"GET", "/api/v1/pods?watch=1", "watch", "", "pods", "", "", ""},
      {"GET", "/api/v1/namespaces/a/pods", "list", "", "pods", "", "a", ""},
      {"GET", "/api/v1/namespaces/a/pods/p", "get", "", "pods", "", "a", "p"},
      {"HEAD", "/api/v1/namespaces/a/pods/p", "get", "", "pods", "", "a", "p"},
      {"GET", "/api/v1/namespaces/a/pods/p/log", "get", "", "pods", "log", "a", "p"},
      {"POST", "/api/v1/namespaces/a/pods/p/binding", "create", "", "pods", "binding", "a", "p"},
      {"PUT", "/api/v1/namespaces/a", "update", "", "namespaces", "", "a", "a"},
      {"PUT", "/api/v1/namespaces/a/finalize", "update", "", "namespaces", "finalize", "a", "a"},
      {"PATCH", "/api/v1/namespaces/a/status", "patch", "", "namespaces", "status", "a", "a"},
      {"GET", "/api/v1/namespaces", "list", "", "namespaces", "", "", ""},
      {"DELETE", "/apis/apps/v1/namespaces/a/deployments", "deletecollection", "apps", "deployments", "", "a", ""},
      {"DELETE", "/apis/apps/v1/namespaces/a/deployments/d", "delete", "apps", "deployments", "", "a", "d"},
      {"PUT", "/apis/apps/v1/namespaces/a/deployments/d/scale", "update", "apps", "deployments", "scale", "a", "d"},
  };
  for (const auto& c : cases) {
    auto target = sys::parse_target(c.target);
    ASSERT_TRUE(target);
    auto info = read_request_info(c.method, *target);
    EXPECT_TRUE(info.is_resource) << c.target;
    EXPECT_EQ(info.verb, c.verb) << c.target;
    EXPECT_EQ(info.group, c.group) << c.target;
    EXPECT_EQ(info.version, "v1") << c.target;
    EXPECT_EQ(info.resource, c.resource) << c.target;
    EXPECT_EQ(info.subresource, c.subresource) << c.target;
    EXPECT_EQ(info.ns, c.ns) << c.target;
    EXPECT_EQ(info.name, c.name) << c.target;
  }
}

TEST(RequestInfo, EverythingElseIsAPath) {
  for (auto path :
       {"/", "/healthz", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/openapi/v3/api/v1", "/version"}) {
    auto target = sys::parse_target(path);
    ASSERT_TRUE(target);
    auto info = read_request_info("GET", *target);
    EXPECT_FALSE(info.is_resource) << path;
    EXPECT_EQ(info.verb, "get") << path;
    EXPECT_EQ(info.path, path);
  }
}

}  // namespace
}  // namespace gangway::apiserver
