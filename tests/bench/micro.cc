// Micro benchmarks of the hot paths of a request, and of whole requests without sockets and disk.
//
// The whole requests are also what profile.py counts the instructions of: everything below Server::measured.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <map>

#include "api/metadata.h"
#include "apiserver/test_server.h"
#include "json/managed_fields.h"
#include "json/schema_decode.h"
#include "json/schema_default.h"
#include "json/schema_validate.h"
#include "workload.h"

namespace gangway::bench {
namespace {

constexpr const char* kPods = "/api/v1/namespaces/bench/pods";

class Server : public apiserver::TestServer {
 public:
  explicit Server(std::size_t pods) {
    must(201, serve("POST", "/api/v1/namespaces", R"({"metadata":{"name":"bench"}})"));
    must(201, serve("POST", "/api/v1/namespaces/bench/serviceaccounts", R"({"metadata":{"name":"default"}})"));
    while (made < pods) create();
  }

  // What is measured, as a function of its own that a profiler can tell from the preparations.
  [[gnu::noinline]] sys::HttpResponse measured(const char* method, std::string target, std::string body = {},
                                               std::string content_type = "application/json") {
    return serve(method, std::move(target), std::move(body), std::move(content_type));
  }

  sys::HttpResponse serve(std::string method, std::string target, std::string body = {},
                          std::string content_type = "application/json") {
    sys::HttpRequest message;
    message.method = std::move(method);
    message.target = std::move(target);
    message.body = std::move(body);
    message.headers.add("Content-Type", std::move(content_type));
    message.headers.add("Accept", "application/json");
    message.headers.add("User-Agent", "bench/1");
    message.peer.common_name = "admin";
    message.peer.organizations = {"system:masters"};
    sys::HttpResponse out;
    server->handle(std::move(message), loop, [&out](sys::HttpResponse&& response) { out = std::move(response); });
    loop.run_until_idle();
    return out;
  }

  void create() { must(201, serve("POST", kPods, pod_body(made++))); }

  static void must(int status, const sys::HttpResponse& response) {
    if (response.status == status) return;
    fmt::print(stderr, "expected {}, got {}: {}\n", status, response.status,
               response.body.empty() ? "" : *response.body.front());
    std::abort();
  }

  std::size_t made = 0;
};

// One server a size for all benchmarks: making 50,000 pods takes a while.
Server& server_with(std::int64_t pods) {
  static std::map<std::int64_t, std::unique_ptr<Server>> servers;
  auto& server = servers[pods];
  if (!server) server = std::make_unique<Server>(static_cast<std::size_t>(pods));
  return *server;
}

std::string path_of(std::size_t index) {
  return fmt::format("{}/{}", kPods, pod_name(index));
}

apiserver::ResolvedResource pods_of(Server& server) {
  return *server.server->registry()->resolve("", "v1", "pods");
}

// A pod as it is once its body was read: typed, defaulted, named.
json::Value read_pod(const apiserver::ResolvedResource& pods) {
  auto pod = *json::parse(pod_body(1));
  json::normalize(pod, *pods.version->schema);
  return pod;
}

void parse_pod(benchmark::State& state) {
  auto body = pod_body(1);
  for (auto _ : state) benchmark::DoNotOptimize(json::parse(body));
}
BENCHMARK(parse_pod);

void check_and_normalize(benchmark::State& state) {
  Server server(0);
  auto pods = pods_of(server);
  auto parsed = *json::parse(pod_body(1));
  for (auto _ : state) {
    state.PauseTiming();
    auto pod = parsed;
    state.ResumeTiming();
    benchmark::DoNotOptimize(json::check_types(pod, *pods.version->schema));
    benchmark::DoNotOptimize(json::unknown_fields(pod, *pods.version->schema, json::Dialect::kBuiltin));
    json::normalize(pod, *pods.version->schema);
  }
}
BENCHMARK(check_and_normalize);

void validate(benchmark::State& state) {
  Server server(0);
  auto pods = pods_of(server);
  auto pod = read_pod(pods);
  for (auto _ : state) benchmark::DoNotOptimize(json::validate(pod, *pods.version->schema, json::Dialect::kBuiltin));
}
BENCHMARK(validate);

void track_fields_of_create(benchmark::State& state) {
  Server server(0);
  auto pods = pods_of(server);
  auto pod = read_pod(pods);
  json::FieldWrite write;
  write.schema = pods.version->schema;
  write.empty = &pods.version->empty;
  write.manager = "bench";
  write.api_version = "v1";
  for (auto _ : state) json::track_update(pods.version->empty, pod, write);
}
BENCHMARK(track_fields_of_create);

void make_draft(benchmark::State& state) {
  Server server(1);
  auto pods = pods_of(server);
  auto pod = *json::parse(*server.store.root()->get({"pods", {"bench", pod_name(0)}}).json);
  for (auto _ : state) benchmark::DoNotOptimize(api::make_draft(pod, pods.kind->header_fields));
}
BENCHMARK(make_draft);

void authorize(benchmark::State& state) {
  Server server(0);
  auto policy = apiserver::RbacPolicy::of(*server.store.root());
  apiserver::Attributes attributes;
  attributes.user = {"system:kube-scheduler", "", {"system:authenticated"}, {}};
  attributes.verb = "list";
  attributes.is_resource = true;
  attributes.version = "v1";
  attributes.resource = "pods";
  for (auto _ : state) benchmark::DoNotOptimize(policy->authorize(attributes));
}
BENCHMARK(authorize);

// ---- whole requests ----

// A create must not become dearer with what is there already.
void request_create(benchmark::State& state) {
  auto& server = server_with(state.range(0));
  for (auto _ : state) Server::must(201, server.measured("POST", kPods, pod_body(server.made++)));
}
BENCHMARK(request_create)->Arg(100)->Arg(5000)->Arg(50000)->Iterations(100)->Unit(benchmark::kMicrosecond);

void request_get(benchmark::State& state) {
  auto& server = server_with(state.range(0));
  std::size_t i = 0;
  for (auto _ : state) Server::must(200, server.measured("GET", path_of(i++ * 7919 % server.made)));
}
BENCHMARK(request_get)->Arg(100)->Arg(5000)->Arg(50000)->Iterations(1000)->Unit(benchmark::kMicrosecond);

void request_patch_status(benchmark::State& state) {
  auto& server = server_with(state.range(0));
  static std::size_t turn = 0;
  for (auto _ : state) {
    auto index = ++turn % server.made;
    Server::must(200, server.measured("PATCH", path_of(index) + "/status", status_patch(index, turn),
                                      "application/merge-patch+json"));
  }
}
BENCHMARK(request_patch_status)->Arg(100)->Arg(5000)->Iterations(1000)->Unit(benchmark::kMicrosecond);

void request_delete(benchmark::State& state) {
  Server server(100);
  std::size_t i = 0;
  for (auto _ : state) Server::must(200, server.measured("DELETE", path_of(i++)));
}
BENCHMARK(request_delete)->Iterations(100)->Unit(benchmark::kMicrosecond);

void request_list(benchmark::State& state) {
  auto& server = server_with(state.range(0));
  for (auto _ : state) Server::must(200, server.measured("GET", kPods));
}
BENCHMARK(request_list)->Arg(100)->Arg(5000)->Iterations(50)->Unit(benchmark::kMicrosecond);

void request_selected_list(benchmark::State& state) {
  auto& server = server_with(state.range(0));
  for (auto _ : state) Server::must(200, server.measured("GET", std::string(kPods) + "?labelSelector=app%3Dapp-3"));
}
BENCHMARK(request_selected_list)->Arg(100)->Arg(5000)->Iterations(50)->Unit(benchmark::kMicrosecond);

[[gnu::noinline]] void read_all(sys::BodyStream& stream, std::vector<sys::Buffer>& out) {
  while (stream.read(out, 1 << 16) == sys::BodyStream::State::kMore) {
  }
}

// One change as a hundred watchers read it; the change itself is made outside of the time.
void watch_deliveries(benchmark::State& state) {
  Server server(1);
  std::vector<std::unique_ptr<sys::BodyStream>> streams;
  for (std::int64_t i = 0; i < state.range(0); ++i)
    streams.push_back(server.serve("GET", std::string(kPods) + "?watch=1").stream);
  std::vector<sys::Buffer> out;
  for (auto& stream : streams) read_all(*stream, out);
  std::size_t turn = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Server::must(
        200, server.serve("PATCH", path_of(0) + "/status", status_patch(0, ++turn), "application/merge-patch+json"));
    state.ResumeTiming();
    for (auto& stream : streams) {
      out.clear();
      read_all(*stream, out);
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(watch_deliveries)->Arg(100)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gangway::bench

BENCHMARK_MAIN();
