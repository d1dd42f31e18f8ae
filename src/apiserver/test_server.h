// A whole API server in a test: memory store, virtual time, requests as function calls.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/bootstrap.h"
#include "apiserver/direct_client.h"
#include "apiserver/embedded_kinds.h"
#include "apiserver/kind_loader.h"
#include "apiserver/server.h"
#include "json/value.h"
#include "store/memory_store.h"
#include "testing/manual_loop.h"

namespace gangway::apiserver {

// Counts up: uids and name suffixes are the same in every run.
class CountingEntropy final : public sys::Entropy {
 public:
  void fill(std::span<std::byte> out) override {
    for (auto& byte : out) byte = static_cast<std::byte>(next_++ * 131 >> 3);
  }

 private:
  std::uint32_t next_ = 1;
};

struct TestResponse {
  int status = 0;
  json::Value body;
  std::string text;
  std::vector<std::string> warnings;
  std::unique_ptr<sys::BodyStream> stream;
  std::unique_ptr<sys::ByteSession> upgrade;
  sys::HttpHeaders headers;

  std::string_view reason() const { return json::string_at(body, {"reason"}); }
  std::string_view message() const { return json::string_at(body, {"message"}); }
  std::string_view at(std::initializer_list<std::string_view> path) const { return json::string_at(body, path); }
};

class TestServer {
 public:
  explicit TestServer(client::NodeDialer* nodes = nullptr)
      : store(loop),
        authenticator({.verify = refuse_all, .issuer = "test", .audiences = {"test"}}),
        tokens(token_options()) {
    auto kinds = load_builtin_kinds(embedded_kinds());
    EXPECT_TRUE(kinds) << (kinds ? "" : kinds.error().message);
    auto registry = Registry::of(std::move(kinds->kinds), std::move(kinds->schemas));
    server.emplace(ApiServer::Parts{
        store, loop, loop.clock(), entropy, metrics, registry, authenticator, tokens, {"v1.33.13", "", ""}, nodes});
    client.emplace(*server, store, loop, admin());
    std::optional<Result<void>> made;
    ensure_initial_objects(*client, *registry, std::move(kinds->initial_objects),
                           [&](Result<void> result) { made = std::move(result); });
    loop.run_until_idle();
    EXPECT_TRUE(made && *made) << (made && !*made ? made->error().message : "bootstrap did not finish");
  }

  static UserInfo admin() { return {"admin", "", {"system:masters", "system:authenticated"}, {}}; }

  // `peer` is the client certificate's name; "" is anonymous.
  struct Options {
    std::string body = {};
    std::string content_type = "application/json";
    std::string accept = "application/json";
    std::string peer = "admin";
    std::vector<std::string> groups = {"system:masters"};
    std::string user_agent = "test/1.0";
    std::vector<std::pair<std::string, std::string>> headers = {};
  };

  // Sends it and does not turn the loop. The answer is filled in when it comes.
  std::shared_ptr<std::optional<TestResponse>> begin(std::string method, std::string target, Options options) {
    sys::HttpRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(options.body);
    request.headers.add("Content-Type", options.content_type);
    request.headers.add("Accept", options.accept);
    request.headers.add("User-Agent", options.user_agent);
    for (auto& [name, value] : options.headers) request.headers.add(name, value);
    request.peer.common_name = options.peer;
    request.peer.organizations = options.groups;
    auto out = std::make_shared<std::optional<TestResponse>>();
    server->handle(std::move(request), loop, [out](sys::HttpResponse&& response) { *out = read(std::move(response)); });
    return out;
  }
  TestResponse request(std::string method, std::string target, Options options) {
    auto out = begin(std::move(method), std::move(target), std::move(options));
    loop.run_until_idle();
    EXPECT_TRUE(out->has_value()) << "no answer";
    return *out ? *std::move(*out) : TestResponse{};
  }
  TestResponse get(std::string target) { return request("GET", std::move(target), {}); }
  TestResponse post(std::string target, std::string body) {
    return request("POST", std::move(target), {.body = std::move(body)});
  }
  TestResponse put(std::string target, std::string body) {
    return request("PUT", std::move(target), {.body = std::move(body)});
  }
  TestResponse remove(std::string target, std::string body = "") {
    return request("DELETE", std::move(target), {.body = std::move(body)});
  }
  TestResponse merge_patch(std::string target, std::string body) {
    return request("PATCH", std::move(target),
                   {.body = std::move(body), .content_type = "application/merge-patch+json"});
  }
  TestResponse apply(std::string target, std::string body, const std::string& manager, bool force = false) {
    return request("PATCH", target + "?fieldManager=" + manager + (force ? "&force=true" : ""),
                   {.body = std::move(body), .content_type = "application/apply-patch+yaml"});
  }

  // What is on the stream right now, as one JSON value an event.
  std::vector<json::Value> events(sys::BodyStream& stream) {
    loop.run_until_idle();
    std::vector<sys::Buffer> pieces;
    while (stream.read(pieces, 1 << 20) == sys::BodyStream::State::kMore) {
    }
    std::vector<json::Value> out;
    for (const auto& piece : pieces) {
      auto value = json::parse(*piece);
      EXPECT_TRUE(value) << *piece;
      if (value) out.push_back(std::move(*value));
    }
    return out;
  }

  testing::ManualLoop loop;
  CountingEntropy entropy;
  sys::Metrics metrics;
  store::MemoryStore store;
  Authenticator authenticator;
  TokenIssuer tokens;
  std::optional<ApiServer> server;
  std::optional<DirectClient> client;

 private:
  static Result<json::Value> refuse_all(std::string_view) { return bad_request("no tokens here"); }
  static TokenIssuer::Options token_options() {
    return {.sign = [](std::string_view claims) { return Result<std::string>(std::string(claims)); },
            .issuer = "test",
            .audiences = {"test"}};
  }

  static TestResponse read(sys::HttpResponse&& response) {
    TestResponse out;
    out.status = response.status;
    for (auto warning : response.headers.all("Warning")) out.warnings.emplace_back(warning);
    for (const auto& piece : response.body) out.text += *piece;
    out.stream = std::move(response.stream);
    out.upgrade = std::move(response.upgrade);
    out.headers = std::move(response.headers);
    if (auto value = json::parse(out.text, {.max_bytes = 64 << 20, .max_depth = 256})) out.body = std::move(*value);
    return out;
  }
};

}  // namespace gangway::apiserver
