#include "agent_process.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <future>

#include "agent/endpoints/agent_pods.h"
#include "agent/endpoints/node_endpoints.h"
#include "agent/node_agent.h"
#include "cli/data_dir.h"
#include "cli/machine.h"
#include "client/http_client.h"
#include "crypto/pki.h"
#include "machine_runtime.h"
#include "net/asio_loop.h"
#include "net/http_server.h"
#include "net/http_transport.h"
#include "net/net_fetch.h"
#include "run_on.h"
#include "sys/log.h"
#include "version.h"

namespace gangway {
namespace {

constexpr const char* kAuthorityAnnotation = "gangway.dev/agent-authority";
// Longer than the grace of most pods; what is left then is killed with the machine's cleaning.
constexpr Duration kLongestStop = std::chrono::seconds(75);

net::HttpTransportOptions transport_options(const cli::AgentLogin& login) {
  net::HttpTransportOptions options;
  options.server = login.server;
  options.tls.ca_pem = login.authority_pem;
  options.tls.identity = login.identity;
  if (!login.token.empty()) options.bearer_token = [token = login.token] { return token; };
  return options;
}

// One node's way to the API.
struct Connection {
  std::unique_ptr<net::HttpTransport> transport;
  std::unique_ptr<client::HttpClient> client;
};

// What one node serves.
struct Served {
  Served(const std::string& node, sys::EventLoop& loop, agent::Runtime& runtime, const agent::AgentPods& pods,
         client::ApiClient& api, const sys::Metrics& metrics)
      : access(api, node),
        usage(loop, runtime, pods, node, agent::machine_usage),
        endpoints({node, loop, runtime, pods, access, usage, &metrics}) {}
  agent::DelegatedAccess access;
  agent::UsageSamples usage;
  agent::NodeEndpoints endpoints;
  std::unique_ptr<net::HttpServer> http;
};

}  // namespace

struct AgentProcess::Parts {
  explicit Parts(cli::AgentConfig given) : config(std::move(given)) {}

  cli::AgentConfig config;
  sys::Metrics metrics;
  crypto::AgentIdentity identity;
  net::LoopThread thread{"gw-agent"};
  // The rest is made and ended on the loop.
  std::map<std::string, Connection> connections;
  std::unique_ptr<net::NetFetch> fetch;
  std::unique_ptr<MachineRuntime> machine;
  std::unique_ptr<agent::NodeAgent> nodes;
  std::unique_ptr<agent::AgentPods> pods;
  std::map<std::string, std::unique_ptr<Served>> served;

  Result<void> make_identity();
  Result<void> connect();
  Result<void> make_agent();
  Result<void> serve();
  agent::NodeAgentParts agent_parts();
  void end();
};

namespace {

bool is_address(const std::string& name) {
  in6_addr bytes{};
  return ::inet_pton(AF_INET, name.c_str(), &bytes) == 1 || ::inet_pton(AF_INET6, name.c_str(), &bytes) == 1;
}

}  // namespace

// The server asks for a node by its name. One that looks like an address is looked up among the addresses.
Result<void> AgentProcess::Parts::make_identity() {
  crypto::PkiSpec names;
  names.ip_addresses = {"127.0.0.1"};
  for (const auto& node : config.nodes) {
    names.dns_names.push_back(node.spec.name);
    if (is_address(node.spec.name)) names.ip_addresses.push_back(node.spec.name);
    if (!node.spec.address.empty()) names.ip_addresses.push_back(node.spec.address);
  }
  const std::string pki = cli::DataDir(config.data_dir).pki();
  GW_TRY(identity, crypto::load_or_create_agent_identity(pki, names, sys::system_clock().wall()));
  return {};
}

Result<void> AgentProcess::Parts::connect() {
  for (const auto& node : config.nodes) {
    Connection& connection = connections[node.spec.name];
    GW_TRY(connection.transport, net::HttpTransport::create(transport_options(node.login), thread.loop()));
    connection.client = std::make_unique<client::HttpClient>(
        *connection.transport, client::HttpClientOptions{.user_agent = fmt::format("gangway-agent/{}", kVersion)});
  }
  return {};
}

agent::NodeAgentParts AgentProcess::Parts::agent_parts() {
  agent::NodeAgentParts parts{.loop = thread.loop(),
                              .runtime = machine->runtime(),
                              .records = machine->records(),
                              .fetch = *fetch,
                              .nodes = {}};
  for (const auto& node : config.nodes) parts.nodes.push_back({node.spec, connections.at(node.spec.name).client.get()});
  parts.keeper.system = cli::this_system(kVersion);
  parts.keeper.system.container_runtime = machine->runtime().version();
  parts.keeper.declared = config.beside_server;
  if (!config.beside_server) parts.keeper.annotations[kAuthorityAnnotation] = identity.authority_pem;
  parts.adopt = [this](const agent::PodSpec& spec, const agent::PodRecord& record) { machine->adopt(spec, record); };
  if (config.beside_server) {
    parts.local_server = [data = cli::DataDir(config.data_dir)] {
      return data.running() ? agent::LocalServer::kRunning : agent::LocalServer::kStopped;
    };
  }
  return parts;
}

Result<void> AgentProcess::Parts::make_agent() {
  client::ApiClient& api = *connections.at(config.nodes.front().spec.name).client;
  fetch = std::make_unique<net::NetFetch>(thread.loop());
  GW_TRY(machine, make_machine_runtime(thread.loop(), config, api));
  nodes = std::make_unique<agent::NodeAgent>(agent_parts());
  pods = std::make_unique<agent::AgentPods>(nodes->agent());
  GW_CHECKED(nodes->start());
  machine->start();
  return {};
}

Result<void> AgentProcess::Parts::serve() {
  for (const auto& node : config.nodes) {
    const std::string& name = node.spec.name;
    auto& own = served[name];
    own =
        std::make_unique<Served>(name, thread.loop(), machine->runtime(), *pods, *connections.at(name).client, metrics);
    net::HttpServerOptions options;
    options.address = node.listen;
    options.max_websocket_message = agent::kMaxStreamMessage;
    options.tls = sys::TlsServerConfig{identity.serving, config.client_authority_pem};
    auto http = net::HttpServer::start(std::move(options), {&thread.loop()}, own->endpoints);
    if (!http) return std::move(http.error()).within(fmt::format("node {} cannot serve", name));
    own->http = std::move(*http);
    nodes->set_port(name, own->http->port());
  }
  return {};
}

void AgentProcess::Parts::end() {
  for (auto& [name, own] : served) {
    if (own->http) own->http->stop_and_wait(std::chrono::seconds(1));
  }
  run_on(thread.loop(), [&] {
    served.clear();
    pods.reset();
    nodes.reset();
    machine.reset();
    fetch.reset();
    connections.clear();
    return true;
  });
  thread.stop();
}

AgentProcess::AgentProcess(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
AgentProcess::~AgentProcess() {
  if (parts_) parts_->end();
}

Result<std::unique_ptr<AgentProcess>> AgentProcess::start(cli::AgentConfig config) {
  std::unique_ptr<AgentProcess> process(new AgentProcess(std::make_unique<Parts>(std::move(config))));
  Parts& parts = *process->parts_;
  GW_CHECKED(cli::DataDir(parts.config.data_dir).create());
  GW_CHECKED(parts.make_identity());
  auto started = run_on(parts.thread.loop(), [&]() -> Result<void> {
    GW_CHECKED(parts.connect());
    GW_CHECKED(parts.make_agent());
    return parts.serve();
  });
  if (!started) return std::move(started.error());
  return process;
}

void AgentProcess::stop_pods() {
  std::promise<void> stopped;
  parts_->thread.loop().post([&] { parts_->nodes->stop_pods(kLongestStop, [&] { stopped.set_value(); }); });
  stopped.get_future().wait();
}

}  // namespace gangway
