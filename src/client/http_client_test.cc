#include "client/http_client.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "client/resource.h"
#include "testing/manual_loop.h"

namespace gangway::client {
namespace {

using resources::kDeployments;
using resources::kPods;

// Answers what the test wrote down, in order, and keeps what was asked.
class ScriptedTransport final : public Transport {
 public:
  explicit ScriptedTransport(sys::EventLoop& loop) : loop_(loop) {}
  void send(HttpClientRequest request, sys::Completion<HttpClientResponse> done) override {
    requests.push_back(std::move(request));
    Result<HttpClientResponse> answer = std::move(answers.front());
    answers.pop_front();
    loop_.post([done = std::move(done), answer = std::move(answer)] { done(answer); });
  }
  std::unique_ptr<BodySource> stream(HttpClientRequest request, StreamCallbacks callbacks) override {
    requests.push_back(std::move(request));
    open = std::move(callbacks);
    return std::make_unique<Source>();
  }
  void upgrade(HttpClientRequest, std::unique_ptr<sys::ByteSession>,
               sys::Completion<HttpClientResponse> done) override {
    loop_.post([done = std::move(done)] { done(bad_request("an API client upgrades nothing")); });
  }
  void answer(int status, std::string body) { answers.push_back(HttpClientResponse{status, {}, std::move(body)}); }

  std::vector<HttpClientRequest> requests;
  std::deque<Result<HttpClientResponse>> answers;
  StreamCallbacks open;

 private:
  struct Source final : BodySource {
    void pause(bool) override {}
  };
  sys::EventLoop& loop_;
};

struct HttpClientTest : ::testing::Test {
  testing::ManualLoop loop;
  ScriptedTransport transport{loop};
  HttpClient client{transport};

  Result<api::Version> call(ApiRequest request) {
    std::optional<Result<api::Version>> result;
    client.call(std::move(request), [&](Result<api::Version> answer) { result = std::move(answer); });
    loop.run_until_idle();
    return *result;
  }
};

constexpr const char* kPod =
    R"({"kind":"Pod","metadata":{"name":"web","namespace":"default","uid":"u1","resourceVersion":"7"},"spec":{"nodeName":"n0"}})";

TEST_F(HttpClientTest, PutsRequestsIntoUrls) {
  struct Case {
    ApiRequest request;
    const char* method;
    const char* target;
    const char* type;
  };
  const Case cases[] = {
      {{Method::kGet, kPods, {"default", "web"}, "", "", {}, "x"}, "GET", "/api/v1/namespaces/default/pods/web", ""},
      {{Method::kCreate, kDeployments, {"default", ""}, "", "{}", {}, "my tool"},
       "POST",
       "/apis/apps/v1/namespaces/default/deployments?fieldManager=my%20tool",
       "application/json"},
      {{Method::kUpdate, kPods, {"default", "web"}, "status", "{}", {}, ""},
       "PUT",
       "/api/v1/namespaces/default/pods/web/status",
       "application/json"},
      {{Method::kPatch, kPods, {"default", "web"}, "", "{}", PatchType::kMerge, "m"},
       "PATCH",
       "/api/v1/namespaces/default/pods/web?fieldManager=m",
       "application/merge-patch+json"},
      {{Method::kDelete, resources::kNodes, {"", "a:b"}, "", "", {}, "m"}, "DELETE", "/api/v1/nodes/a%3Ab", ""},
  };
  for (const Case& c : cases) {
    transport.answer(200, kPod);
    EXPECT_TRUE(call(c.request).has_value());
    EXPECT_EQ(transport.requests.back().method, c.method);
    EXPECT_EQ(transport.requests.back().target, c.target);
    EXPECT_EQ(transport.requests.back().headers.get("Content-Type"), c.type);
  }
}

TEST_F(HttpClientTest, ReadsObjectsWithTheirSelectableFields) {
  transport.answer(200, kPod);
  const auto pod = call({Method::kGet, kPods, {"default", "web"}, "", "", {}, ""});
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(pod->header->revision, 7u);
  EXPECT_EQ(pod->header->field("spec.nodeName"), "n0");
}

TEST_F(HttpClientTest, ADeletionAnsweredByAStatusHasNoObject) {
  transport.answer(200, R"({"kind":"Status","status":"Success"})");
  const auto answer = call({Method::kDelete, kPods, {"default", "web"}, "", "", {}, ""});
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(*answer);
}

TEST_F(HttpClientTest, ErrorsKeepReasonCausesAndRetryTime) {
  transport.answer(409, R"({"kind":"Status","reason":"AlreadyExists","message":"it exists","details":{"name":"web"}})");
  const auto exists = call({Method::kCreate, kPods, {"default", ""}, "", "{}", {}, ""});
  EXPECT_EQ(exists.error().reason, Reason::kAlreadyExists);
  EXPECT_EQ(exists.error().message, "it exists");
  EXPECT_EQ(exists.error().subject.name, "web");

  transport.answer(422,
                   R"({"kind":"Status","reason":"Invalid","details":{"causes":[{"field":"spec.x","message":"no"}]}})");
  const auto invalid = call({Method::kCreate, kPods, {"default", ""}, "", "{}", {}, ""});
  EXPECT_EQ(invalid.error().reason, Reason::kInvalid);
  EXPECT_EQ(invalid.error().causes.at(0).field, "spec.x");

  HttpClientResponse busy{429, {}, "slow down"};
  busy.headers.add("Retry-After", "3");
  transport.answers.push_back(busy);
  const auto limited = call({Method::kGet, kPods, {"default", "web"}, "", "", {}, ""});
  EXPECT_EQ(limited.error().reason, Reason::kTooManyRequests);
  EXPECT_EQ(limited.error().retry_after_seconds, 3);
  EXPECT_NE(limited.error().message.find("slow down"), std::string::npos);
}

TEST_F(HttpClientTest, ListsComeInPagesAndAreHandedOnWhole) {
  transport.answer(200, R"({"kind":"PodList","metadata":{"resourceVersion":"9","continue":"a/b"},
                            "items":[{"metadata":{"name":"p1","resourceVersion":"3"}}]})");
  transport.answer(200, R"({"kind":"PodList","metadata":{"resourceVersion":"9"},
                            "items":[{"metadata":{"name":"p2","resourceVersion":"4"}}]})");
  std::optional<Result<ListAnswer>> result;
  client.list({kPods, "default", "app=web", ""}, [&](Result<ListAnswer> answer) { result = std::move(answer); });
  loop.run_until_idle();
  ASSERT_TRUE(result.has_value() && result->has_value());
  EXPECT_EQ((*result)->revision, 9u);
  ASSERT_EQ((*result)->items.size(), 2u);
  EXPECT_EQ((*result)->items[1].header->name.name, "p2");
  EXPECT_NE((*result)->items[0].json->find(R"("kind":"Pod")"), std::string::npos);
  EXPECT_EQ(transport.requests[0].target, "/api/v1/namespaces/default/pods?labelSelector=app%3Dweb&limit=500");
  EXPECT_EQ(transport.requests[1].target,
            "/api/v1/namespaces/default/pods?labelSelector=app%3Dweb&limit=500&continue=a%2Fb");
}

struct HttpWatchTest : HttpClientTest {
  std::vector<std::string> seen;
  std::optional<Result<void>> ended;
  std::unique_ptr<sys::Subscription> watch;

  void start() {
    watch = client.watch({{kPods, "", "", ""}, 5}, {[this](WatchEvent event) {
                                                      seen.push_back(std::to_string(static_cast<int>(event.type)) +
                                                                     event.object.header->name.name + "@" +
                                                                     std::to_string(event.object.header->revision));
                                                    },
                                                    [this](Result<void> how) { ended = std::move(how); }});
    transport.open.on_head({200, {}, ""});
  }
};

TEST_F(HttpWatchTest, CutsTheStreamIntoEventsWhereverItIsCut) {
  start();
  EXPECT_EQ(transport.requests[0].target,
            "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=300");
  const std::string all = R"({"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"6"}}})"
                          "\n"
                          R"({"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"7"}}})"
                          "\n"
                          R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})"
                          "\n";
  for (const char c : all) transport.open.on_data(std::string_view(&c, 1));
  EXPECT_EQ(seen, (std::vector<std::string>{"0a@6", "2a@7", "3@9"}));
  transport.open.on_end({});
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->has_value());
}

TEST_F(HttpWatchTest, AnErrorEventEndsItWithTheServersReason) {
  start();
  transport.open.on_data(
      R"({"type":"ERROR","object":{"kind":"Status","reason":"Expired","code":410,"message":"too old"}})"
      "\n");
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->error().reason, Reason::kExpired);
}

TEST_F(HttpWatchTest, ARefusalEndsItWithTheServersReason) {
  start();
  transport.open.on_head({403, {}, ""});
  transport.open.on_data(R"({"kind":"Status","reason":"Forbidden","message":"no"})");
  transport.open.on_end({});
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->error().reason, Reason::kForbidden);
}

TEST_F(HttpWatchTest, ACallbackMayEndTheWatch) {
  watch = client.watch({{kPods, "", "", ""}, 5}, {[this](WatchEvent) {
                                                    seen.push_back("one");
                                                    watch.reset();
                                                  },
                                                  [this](Result<void> how) { ended = std::move(how); }});
  transport.open.on_head({200, {}, ""});
  const std::string event = R"({"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"6"}}})"
                            "\n";
  transport.open.on_data(event + event);
  EXPECT_EQ(seen.size(), 1u);
  EXPECT_FALSE(ended.has_value());
}

}  // namespace
}  // namespace gangway::client
