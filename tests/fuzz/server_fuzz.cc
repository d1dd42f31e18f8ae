// Whole requests to a server without sockets. A line is a request: METHOD TARGET TYPE ACCEPT BODY, where TYPE and
// ACCEPT are short names of media types. Every input begins with the same empty cluster, so findings can be replayed.
#include <optional>
#include <utility>

#include "apiserver/embedded_kinds.h"
#include "apiserver/kind_loader.h"
#include "apiserver/server.h"
#include "base/base64.h"
#include "fuzz.h"
#include "json/value.h"
#include "store/memory_store.h"
#include "testing/manual_loop.h"

namespace gangway::fuzz {
namespace {

constexpr int kMaxRequests = 8;

class CountingEntropy final : public sys::Entropy {
 public:
  void fill(std::span<std::byte> out) override {
    for (auto& byte : out) byte = static_cast<std::byte>(next_++);
  }

 private:
  unsigned next_ = 1;
};

std::string media_type(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"json", "application/json"},
      {"yaml", "application/yaml"},
      {"merge", "application/merge-patch+json"},
      {"patch", "application/json-patch+json"},
      {"strategic", "application/strategic-merge-patch+json"},
      {"apply", "application/apply-patch+yaml"},
      {"proto", "application/vnd.kubernetes.protobuf"},
      {"table", "application/json;as=Table;v=v1;g=meta.k8s.io"},
      {"partial", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"},
      {"partials", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
      {"discovery", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
  };
  for (const auto& [shorthand, type] : kTypes)
    if (name == shorthand) return std::string(type);
  return std::string(name);
}

std::shared_ptr<const apiserver::Registry> builtin_kinds() {
  static const auto registry = [] {
    auto kinds = apiserver::load_builtin_kinds(apiserver::embedded_kinds());
    FUZZ_LAW(kinds.has_value(), kinds ? "" : kinds.error().message);
    return apiserver::Registry::of(std::move(kinds->kinds), std::move(kinds->schemas));
  }();
  return registry;
}

class Cluster {
 public:
  Cluster()
      : store_(loop_),
        authenticator_({.verify = refuse_all, .issuer = "fuzz", .audiences = {"fuzz"}}),
        tokens_({.sign = sign, .issuer = "fuzz", .audiences = {"fuzz"}}),
        server_({store_,
                 loop_,
                 loop_.clock(),
                 entropy_,
                 metrics_,
                 builtin_kinds(),
                 authenticator_,
                 tokens_,
                 {"v1.33.13", "", ""}}) {
    play("POST /api/v1/namespaces json json {\"metadata\":{\"name\":\"default\"}}");
  }

  void play(std::string_view line) {
    sys::HttpRequest request;
    Input fields(reinterpret_cast<const std::uint8_t*>(line.data()), line.size());
    request.method = fields.until(' ');
    request.target = fields.until(' ');
    const auto type = fields.until(' ');
    request.headers.add("Content-Type", media_type(type));
    request.headers.add("Accept", media_type(fields.until(' ')));
    request.headers.add("User-Agent", "fuzz/1.0");
    request.body = fields.rest();
    if (auto bytes = base64_decode(request.body); type == "proto" && bytes) request.body = std::move(*bytes);
    request.peer.common_name = "admin";
    request.peer.organizations = {"system:masters"};
    int answers = 0;
    server_.handle(std::move(request), loop_, [&](sys::HttpResponse&& response) {
      ++answers;
      check(std::move(response), line);
    });
    loop_.run_until_idle();
    FUZZ_LAW(answers == 1, line);
  }

 private:
  static Result<json::Value> refuse_all(std::string_view) { return bad_request("no tokens here"); }
  static Result<std::string> sign(std::string_view claims) { return std::string(claims); }

  void check(sys::HttpResponse&& response, std::string_view line) {
    FUZZ_LAW(response.status >= 200 && response.status < 600, line);
    std::string body;
    for (const auto& piece : response.body) body += *piece;
    if (response.headers.get("Content-Type").starts_with("application/json") && !response.stream && !body.empty()) {
      const auto value = json::parse(body, {.max_bytes = body.size(), .max_depth = 256});
      FUZZ_LAW(value.has_value(), body);
      // Kubernetes itself answers some bad requests with 500, but without this reason: it means a fault of ours.
      FUZZ_LAW(json::string_at(*value, {"reason"}) != "InternalError", std::string(line) + " => " + body);
    }
    if (!response.stream) return;
    std::vector<sys::Buffer> events;
    for (int reads = 0; reads < 100; ++reads)
      if (response.stream->read(events, 4096) != sys::BodyStream::State::kMore) break;
    for (const auto& event : events)
      FUZZ_LAW(response.headers.get("Content-Type").find("json") == std::string_view::npos ||
                   json::parse(*event, {.max_bytes = event->size(), .max_depth = 256}).has_value(),
               *event);
  }

  testing::ManualLoop loop_;
  CountingEntropy entropy_;
  sys::Metrics metrics_;
  store::MemoryStore store_;
  apiserver::Authenticator authenticator_;
  apiserver::TokenIssuer tokens_;
  apiserver::ApiServer server_;
};

}  // namespace
}  // namespace gangway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  fuzz::Input input(data, size);
  fuzz::Cluster cluster;
  for (int i = 0; i < fuzz::kMaxRequests && !input.empty(); ++i) {
    const std::string line(input.line());
    cluster.play(line);
  }
  return 0;
}
