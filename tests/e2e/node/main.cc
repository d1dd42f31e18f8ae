// gangway-test-node: a node's endpoints over processes of this machine, for tests with the real kubectl. Never shipped.
//
//   gangway-test-node --pki DIR --client-ca FILE --kubeconfig FILE --spec FILE --folder DIR
//
// The spec says which pods there are: {"node": NAME, "pods": [{"uid", "namespace", "name", "containers": [{"name",
// "runs": [[ARG…]…], "stdin", "tty", "waiting"}]}]}. The runs of a container follow each other; the last goes on.
// Prints the port that it serves on; ends with its parent's SIGKILL.
#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "agent/endpoints/node_endpoints.h"
#include "client/http_client.h"
#include "client/kubeconfig.h"
#include "crypto/pki.h"
#include "host_runtime.h"
#include "json/value.h"
#include "net/asio_loop.h"
#include "net/http_server.h"
#include "net/http_transport.h"
#include "sys/files.h"
#include "sys/log.h"

namespace gangway::test_node {
namespace {

struct Options {
  std::string pki;
  std::string client_ca;
  std::string kubeconfig;
  std::string spec;
  std::string folder;
};

// The pods of the spec, and what has become of them.
class SpecDirectory final : public agent::PodDirectory {
 public:
  SpecDirectory(HostRuntime& runtime, const json::Value& spec) : runtime_(runtime) {
    const std::string node(json::string_at(spec, {"node"}));
    for (const auto& pod : spec.at("pods").as_array()) {
      agent::ServedPod served;
      served.identity = {std::string(json::string_at(pod, {"uid"})), std::string(json::string_at(pod, {"namespace"})),
                         std::string(json::string_at(pod, {"name"})), node};
      for (const auto& container : pod.at("containers").as_array()) {
        agent::ServedContainer one{.name = std::string(json::string_at(container, {"name"}))};
        one.waiting_reason = json::string_at(container, {"waiting"});
        served.containers.push_back(std::move(one));
      }
      pods_.push_back(std::move(served));
    }
    for (std::size_t p = 0; p < pods_.size(); ++p) {
      const auto& containers = spec.at("pods").as_array()[p].at("containers").as_array();
      for (std::size_t c = 0; c < containers.size(); ++c) run_next(p, c, containers[c], 0);
    }
  }

  std::vector<agent::ServedPod> pods(std::string_view) const override { return pods_; }
  std::optional<agent::ServedPod> find(std::string_view, std::string_view ns, std::string_view name) const override {
    for (const auto& pod : pods_)
      if (pod.identity.ns == ns && pod.identity.name == name) return pod;
    return std::nullopt;
  }
  bool is_running(const agent::ContainerId& id) const override { return runtime_.is_running(id); }

 private:
  void run_next(std::size_t pod, std::size_t container, const json::Value& spec, unsigned attempt) {
    const auto* runs = json::find(spec, {"runs"});
    auto& served = pods_[pod].containers[container];
    if (!runs || attempt >= runs->as_array().size()) {
      served.running = false;
      return;
    }
    const auto flag = [&](std::string_view name) {
      const auto* value = json::find(spec, {name});
      return value && value->is_bool() && value->get_bool();
    };
    // A container ends with its node, however that ends: nobody else would clean up after it.
    HostProcessSpec process{
        .argv = {"setpriv", "--pdeathsig", "KILL", "--"}, .stdin_open = flag("stdin"), .terminal = flag("tty")};
    for (const auto& word : runs->as_array()[attempt].as_array()) process.argv.emplace_back(word.as_string());
    if (served.current) served.last = served.current;
    served.current = agent::ContainerId{pods_[pod].identity.uid, served.name, attempt};
    served.running = true;
    const auto started = runtime_.run(*served.current, process, [this, pod, container, copy = spec, attempt] {
      run_next(pod, container, copy, attempt + 1);
    });
    if (!started) sys::log_error("a container did not start", {{"error", started.error().message}});
  }

  HostRuntime& runtime_;
  std::vector<agent::ServedPod> pods_;
};

Result<net::HttpTransportOptions> transport_options(const std::string& path) {
  GW_TRY(const auto config, client::read_kubeconfig_file(path));
  GW_TRY(const auto login, client::login_for(config));
  net::HttpTransportOptions options;
  options.server = login.cluster.server;
  options.tls.ca_pem = login.cluster.ca_data;
  options.tls.identity = {login.user.certificate_data, login.user.key_data};
  return options;
}

Result<void> serve(const Options& options) {
  GW_TRY(const auto text, sys::read_file(options.spec));
  GW_TRY(const auto spec, json::parse(text));
  const std::string node(json::string_at(spec, {"node"}));
  GW_TRY(const auto identity,
         crypto::load_or_create_agent_identity(options.pki, {.dns_names = {node}, .ip_addresses = {"127.0.0.1"}},
                                               sys::system_clock().wall()));
  GW_TRY(const auto client_ca, sys::read_file(options.client_ca));
  GW_TRY(auto transport_to_api, transport_options(options.kubeconfig));

  net::AsioLoop loop;
  GW_TRY(const auto transport, net::HttpTransport::create(std::move(transport_to_api), loop));
  client::HttpClient api(*transport);
  HostRuntime runtime(loop, options.folder);
  SpecDirectory directory(runtime, spec);
  agent::DelegatedAccess access(api, node);
  agent::UsageSamples usage(loop, runtime, directory, node, agent::machine_usage);
  sys::Metrics metrics;
  agent::NodeEndpoints endpoints({node, loop, runtime, directory, access, usage, &metrics});
  net::HttpServerOptions server;
  server.tls = sys::TlsServerConfig{identity.serving, client_ca};
  GW_TRY(const auto http, net::HttpServer::start(std::move(server), {&loop}, endpoints));
  fmt::print("{}\n", http->port());
  std::fflush(stdout);
  loop.run();
  return {};
}

}  // namespace
}  // namespace gangway::test_node

int main(int argc, char** argv) {
  gangway::test_node::Options options;
  std::map<std::string, std::string*> names{{"--pki", &options.pki},
                                            {"--client-ca", &options.client_ca},
                                            {"--kubeconfig", &options.kubeconfig},
                                            {"--spec", &options.spec},
                                            {"--folder", &options.folder}};
  for (int i = 1; i + 1 < argc; i += 2)
    if (const auto found = names.find(argv[i]); found != names.end()) *found->second = argv[i + 1];
  const auto served = gangway::test_node::serve(options);
  if (!served) fmt::print(stderr, "gangway-test-node: {}\n", served.error().message);
  return served ? 0 : 1;
}
