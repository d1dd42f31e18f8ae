#include "agent/endpoints/access.h"

#include <gtest/gtest.h>

#include <optional>

#include "json/value.h"
#include "testing/manual_loop.h"

namespace gangway::agent {
namespace {

// An API server that reviews tokens and accesses by a table.
class ReviewingApi final : public client::ApiClient {
 public:
  explicit ReviewingApi(sys::EventLoop& loop) : loop_(loop) {}
  void call(client::ApiRequest request, sys::Completion<api::Version> done) override {
    asked.push_back(request.body);
    const auto review = json::parse(request.body).value();
    json::Object status;
    if (request.resource.plural == "tokenreviews") {
      const bool known = json::string_at(review, {"spec", "token"}) == "good";
      status = {{"authenticated", known}};
      if (known)
        status["user"] =
            json::Object{{"username", "robot"}, {"uid", "7"}, {"groups", json::Array{"system:authenticated"}}};
    } else {
      const std::string user(json::string_at(review, {"spec", "user"}));
      const std::string what(json::string_at(review, {"spec", "resourceAttributes", "subresource"}));
      status = {{"allowed", user + " " + what == allowed}};
    }
    api::Version version;
    version.json = std::make_shared<const std::string>(json::serialize(json::Object{{"status", status}}));
    Result<api::Version> answer = down ? Result<api::Version>(internal_error("down")) : Result<api::Version>(version);
    loop_.post([done = std::move(done), answer] { done(answer); });
  }
  void list(client::ListRequest, sys::Completion<client::ListAnswer>) override {}
  std::unique_ptr<sys::Subscription> watch(client::WatchRequest, client::WatchCallbacks) override { return nullptr; }

  std::string allowed;  // "robot stats"
  bool down = false;
  std::vector<std::string> asked;

 private:
  sys::EventLoop& loop_;
};

struct AccessTest : ::testing::Test {
  testing::ManualLoop loop;
  ReviewingApi api{loop};
  DelegatedAccess access{api, "n0"};

  // "ok", or the reason of the refusal.
  std::string check(sys::HttpRequest request, std::string_view path) {
    std::optional<Result<void>> answer;
    access.check(request, path, [&](Result<void> result) { answer = std::move(result); });
    loop.run_until_idle();
    if (!answer) return "no answer";
    return *answer ? "ok" : std::string(to_string(answer->error().reason));
  }
  static sys::HttpRequest with_certificate(std::string name, std::vector<std::string> groups = {}) {
    sys::HttpRequest request;
    request.method = "GET";
    request.peer.common_name = std::move(name);
    request.peer.organizations = std::move(groups);
    return request;
  }
  static sys::HttpRequest with_token(std::string token) {
    sys::HttpRequest request;
    request.method = "GET";
    request.headers.add("Authorization", "Bearer " + token);
    return request;
  }
};

TEST_F(AccessTest, TheApiServerIsNotAskedAboutItself) {
  EXPECT_EQ(check(with_certificate("kube-apiserver-kubelet-client"), "/exec/a/b/c"), "ok");
  EXPECT_EQ(check(with_certificate("admin", {"dev", "system:masters"}), "/pods"), "ok");
  EXPECT_TRUE(api.asked.empty());
}

TEST_F(AccessTest, NobodyIsRefused) {
  EXPECT_EQ(check({}, "/healthz"), "Unauthorized");
  auto broken = with_certificate("kube-apiserver-kubelet-client");
  broken.peer.certificate_error = "self-signed certificate";
  EXPECT_EQ(check(broken, "/pods"), "Unauthorized");
  EXPECT_EQ(check(with_token("bad"), "/pods"), "Unauthorized");
}

TEST_F(AccessTest, OthersAreReviewed) {
  api.allowed = "robot stats";
  EXPECT_EQ(check(with_token("good"), "/stats/summary"), "ok");
  EXPECT_EQ(api.asked.at(1),
            R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"robot","uid":"7",)"
            R"("groups":["system:authenticated"],"resourceAttributes":{"verb":"get","version":"v1","resource":"nodes",)"
            R"("subresource":"stats","name":"n0"}}})");
  EXPECT_EQ(check(with_token("good"), "/metrics"), "Forbidden");
  api.allowed = "alice proxy";
  EXPECT_EQ(check(with_certificate("alice"), "/containerLogs/a/b/c"), "ok");
  EXPECT_EQ(check(with_certificate("bob"), "/containerLogs/a/b/c"), "Forbidden");
}

TEST_F(AccessTest, TheFineRightIsAskedForBeforeTheCoarse) {
  api.allowed = "alice proxy";
  EXPECT_EQ(check(with_certificate("alice"), "/pods"), "ok");
  EXPECT_EQ(api.asked.size(), 2U);
  api.allowed = "alice pods";
  EXPECT_EQ(check(with_certificate("alice"), "/pods"), "ok");
  EXPECT_EQ(api.asked.size(), 3U);
}

TEST_F(AccessTest, WithoutAnAnswerNobodyMay) {
  api.down = true;
  EXPECT_EQ(check(with_token("good"), "/pods"), "InternalError");
  EXPECT_EQ(check(with_certificate("alice"), "/pods"), "InternalError");
}

TEST(NodeAttributes, FollowThePath) {
  EXPECT_EQ(node_attributes("GET", "/metrics/resource").subresources, std::vector<std::string>{"metrics"});
  EXPECT_EQ(node_attributes("GET", "/metricsX").subresources, std::vector<std::string>{"proxy"});
  EXPECT_EQ(node_attributes("POST", "/exec/a/b/c").verb, "create");
  EXPECT_EQ(node_attributes("GET", "/runningpods/").subresources, (std::vector<std::string>{"pods", "proxy"}));
  EXPECT_EQ(node_attributes("GET", "/healthz").subresources, (std::vector<std::string>{"healthz", "proxy"}));
}

}  // namespace
}  // namespace gangway::agent
