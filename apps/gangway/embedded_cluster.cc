#include "embedded_cluster.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "agent_supervisor.h"
#include "apiserver/bootstrap.h"
#include "apiserver/direct_client.h"
#include "apiserver/embedded_kinds.h"
#include "apiserver/kind_loader.h"
#include "apiserver/server.h"
#include "cli/data_dir.h"
#include "cli/machine.h"
#include "client/kubeconfig.h"
#include "crypto/pki_keeper.h"
#include "crypto/ssh_keys.h"
#include "crypto/tokens.h"
#include "embedded/control_plane.h"
#include "embedded/simulated_nodes.h"
#include "issuer.h"
#include "json/value.h"
#include "net/asio_loop.h"
#include "net/http_server.h"
#include "net/net_fetch.h"
#include "net/tls_node_dialer.h"
#include "node_readiness.h"
#include "run_on.h"
#include "scheduler/flight/flight_recorder.h"
#include "store/sqlite_store.h"
#include "sys/log.h"
#include "version.h"

namespace gangway {
namespace {

constexpr auto kStopGrace = std::chrono::seconds(5);
constexpr auto kStartTimeout = std::chrono::seconds(60);
constexpr auto kLookForNodes = std::chrono::milliseconds(20);
// A few seconds: what another process is in the way of has gone by then.
constexpr unsigned kMostAgentFailures = 5;

apiserver::UserInfo server_user() {
  return {"system:apiserver", "", {"system:masters", "system:authenticated"}, {}};
}

crypto::PkiSpec names_of(const cli::UpOptions& options) {
  crypto::PkiSpec spec;
  spec.dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
                    "kubernetes.default.svc.cluster.local"};
  spec.ip_addresses = {"127.0.0.1", "10.96.0.1"};
  if (options.bind != "0.0.0.0" && options.bind != "127.0.0.1") spec.ip_addresses.push_back(options.bind);
  if (!options.pod_gateway.empty()) spec.ip_addresses.push_back(options.pod_gateway);
  return spec;
}

// The address that the service of the API leads to: one that pods can reach.
std::optional<controllers::ApiAddress> api_address_of(const cli::UpOptions& options, std::uint16_t port) {
  auto address = options.pod_gateway;
  if (address.empty() && options.bind != "0.0.0.0" && !options.bind.starts_with("127.")) address = options.bind;
  if (address.empty()) return std::nullopt;
  return controllers::ApiAddress{address, port};
}

json::Value api_service_of(const std::vector<json::Value>& initial_objects) {
  for (const auto& object : initial_objects) {
    if (json::string_at(object, {"kind"}) == "Service" && json::string_at(object, {"metadata", "name"}) == "kubernetes")
      return object;
  }
  return {};
}

std::vector<agent::NodeSpec> nodes_with_runtime(const std::vector<agent::NodeSpec>& nodes, bool simulated) {
  std::vector<agent::NodeSpec> found;
  for (const auto& node : nodes) {
    if ((node.runtime == "simulated") == simulated) found.push_back(node);
  }
  return found;
}

// Where the agents of these nodes listen. The address that a node is described with may be one that this machine does
// not have.
std::map<std::string, std::string> agent_addresses(const std::vector<agent::NodeSpec>& nodes) {
  std::map<std::string, std::string> addresses;
  for (const auto& node : nodes_with_runtime(nodes, false))
    addresses[node.name] = cli::has_address(node.address) ? node.address : "127.0.0.1";
  return addresses;
}

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace

struct EmbeddedCluster::Parts {
  explicit Parts(cli::DataDir directory) : data(std::move(directory)) {}

  cli::DataDir data;
  sys::Metrics metrics;
  // Threads end in the reverse order of their making: no loop outlives what its tasks may touch.
  std::unique_ptr<net::LoopThread> api;
  std::unique_ptr<store::SqliteStore> store;
  crypto::ClusterPki pki;
  std::unique_ptr<crypto::EcTokenSigner> signer;
  std::unique_ptr<crypto::EcTokenVerifier> verifier;
  std::unique_ptr<apiserver::Authenticator> authenticator;
  std::unique_ptr<apiserver::TokenIssuer> tokens;
  std::unique_ptr<net::TlsNodeDialer> agents;
  std::unique_ptr<apiserver::ApiServer> server;
  std::unique_ptr<scheduler::flight::FlightLog> flight;
  std::unique_ptr<scheduler::flight::FlightRecorder> recorder;  // used on the control loop
  std::unique_ptr<net::LoopThread> control;
  std::unique_ptr<apiserver::DirectClient> client;
  std::unique_ptr<net::NetFetch> fetch;                   // used on the control loop
  std::unique_ptr<embedded::ControlPlane> control_plane;  // made and ended on the control loop
  std::unique_ptr<net::LoopThread> agent;
  std::unique_ptr<embedded::SimulatedNodes> simulated;  // made and ended on the agent's loop
  std::unique_ptr<AgentSupervisor> supervisor;          // of the agent for nodes that run containers
  std::vector<std::unique_ptr<net::LoopThread>> net;
  std::unique_ptr<net::HttpServer> http;
  std::unique_ptr<net::LoopThread>
      chores;  // what takes long, and nobody else should wait for: copies of the store, keys
  std::unique_ptr<crypto::PkiKeeper> certificates;  // works on chores
  std::string url;
  MonoTime started = sys::system_clock().mono();
  std::set<std::string> wanted_nodes;
  std::map<std::string, std::string> agent_listens;  // by node, of those that run containers
  json::Value api_service;

  Result<void> open_store();
  Result<void> make_identities(const cli::UpOptions& options);
  Result<std::vector<json::Value>> make_server();
  Result<void> make_initial_objects(std::vector<json::Value> objects);
  Result<void> listen(const cli::UpOptions& options);
  Result<void> write_kubeconfig(const crypto::ClusterPki& keys, const std::string& copy) const;
  void keep_certificates(const cli::UpOptions& options);
  void start_controllers(const cli::UpOptions& options);
  Result<void> start_agent(const cli::UpOptions& options);
  Result<void> wait_for_nodes();
  std::string why_agent_fails(unsigned times) const;
  json::Value certificate_ends() const;
  json::Value flight_report() const;
  json::Value status();
};

Result<void> EmbeddedCluster::Parts::open_store() {
  api = std::make_unique<net::LoopThread>("gw-api");
  auto opened = run_on(api->loop(), [&] {
    return store::SqliteStore::open(api->loop(), {.path = data.database(), .vfs = {}, .watch = {}});
  });
  if (!opened) return std::move(opened.error());
  store = std::move(*opened);
  return {};
}

Result<void> EmbeddedCluster::Parts::make_identities(const cli::UpOptions& options) {
  GW_TRY(pki, crypto::load_or_create_pki(data.pki(), names_of(options), sys::system_clock().wall()));
  GW_TRY(signer, crypto::EcTokenSigner::create(pki.token_key_pem));
  GW_TRY(verifier, crypto::EcTokenVerifier::create({pki.token_key_pem}));
  auto verify = [this](std::string_view token) -> Result<json::Value> {
    GW_TRY(auto claims, verifier->verify(token));
    return json::parse(claims);
  };
  authenticator = std::make_unique<apiserver::Authenticator>(apiserver::Authenticator::Options{
      .verify = verify, .issuer = std::string(kTokenIssuer), .audiences = {std::string(kTokenIssuer)}});
  tokens = std::make_unique<apiserver::TokenIssuer>(
      apiserver::TokenIssuer::Options{.sign = [this](std::string_view claims) { return signer->sign(claims); },
                                      .issuer = std::string(kTokenIssuer),
                                      .audiences = {std::string(kTokenIssuer)}});
  return {};
}

Result<std::vector<json::Value>> EmbeddedCluster::Parts::make_server() {
  GW_TRY(auto kinds, apiserver::load_builtin_kinds(apiserver::embedded_kinds()));
  auto registry = apiserver::Registry::of(std::move(kinds.kinds), std::move(kinds.schemas));
  agents = std::make_unique<net::TlsNodeDialer>(pki.authority_pem, pki.kubelet_client, agent_listens);
  server = std::make_unique<apiserver::ApiServer>(apiserver::ApiServer::Parts{
      *store, api->loop(), sys::system_clock(), sys::system_entropy(), metrics, registry, *authenticator, *tokens,
      apiserver::ServerVersion{std::string(kKubernetesVersion), std::string(kCommit), std::string(kBuildDate)},
      agents.get()});
  control = std::make_unique<net::LoopThread>("gw-control");
  client = std::make_unique<apiserver::DirectClient>(*server, *store, control->loop(), server_user());
  return std::move(kinds.initial_objects);
}

Result<void> EmbeddedCluster::Parts::make_initial_objects(std::vector<json::Value> objects) {
  auto promise = std::make_shared<std::promise<Result<void>>>();
  auto made = promise->get_future();
  auto registry = server->registry();
  control->loop().post([this, promise, registry, objects = std::move(objects)]() mutable {
    apiserver::ensure_initial_objects(*client, *registry, std::move(objects), [promise, registry](Result<void> result) {
      promise->set_value(std::move(result));
    });
  });
  if (made.wait_for(kStartTimeout) != std::future_status::ready)
    return internal_error("the first objects could not be written in time");
  return made.get();
}

Result<void> EmbeddedCluster::Parts::listen(const cli::UpOptions& options) {
  std::vector<sys::EventLoop*> loops;
  for (int i = 0; i < 2; ++i) {
    net.push_back(std::make_unique<net::LoopThread>(fmt::format("gw-net-{}", i)));
    loops.push_back(&net.back()->loop());
  }
  net::HttpServerOptions http_options;
  http_options.address = options.bind;
  http_options.port = options.port;
  if (!options.pod_gateway.empty() && options.bind != "0.0.0.0") http_options.more_addresses = {options.pod_gateway};
  http_options.tls = sys::TlsServerConfig{pki.server, pki.authority_pem};
  auto listening = net::HttpServer::start(std::move(http_options), std::move(loops), *server);
  if (!listening)
    return std::move(listening.error()).within(fmt::format("cannot listen on {}:{}", options.bind, options.port));
  http = std::move(*listening);
  auto host = options.bind == "0.0.0.0" ? std::string("127.0.0.1") : options.bind;
  url = fmt::format("https://{}:{}", host, http->port());
  server->documents().set_address(fmt::format("{}:{}", host, http->port()));
  return {};
}

Result<void> EmbeddedCluster::Parts::write_kubeconfig(const crypto::ClusterPki& keys, const std::string& copy) const {
  client::Kubeconfig config;
  config.clusters.push_back({.name = "gangway", .server = url, .ca_data = keys.authority_pem, .tls_server_name = ""});
  config.users.push_back({.name = "gangway-admin",
                          .certificate_data = keys.admin.certificate_pem,
                          .key_data = keys.admin.key_pem,
                          .token = ""});
  config.contexts.push_back({.name = "gangway", .cluster = "gangway", .user = "gangway-admin", .ns = ""});
  config.current_context = "gangway";
  GW_CHECKED(client::write_kubeconfig_file(data.kubeconfig(), config));
  if (copy.empty()) return {};
  return client::write_kubeconfig_file(copy, config);
}

void EmbeddedCluster::Parts::keep_certificates(const cli::UpOptions& options) {
  auto use = [this, copy = options.kubeconfig](const crypto::ClusterPki& renewed) -> Result<void> {
    GW_CHECKED(http->renew_identity({renewed.server, renewed.authority_pem}));
    agents->renew_identity(renewed.kubelet_client);
    return write_kubeconfig(renewed, copy);
  };
  certificates = std::make_unique<crypto::PkiKeeper>(chores->loop(), data.pki(), names_of(options), pki, use);
  certificates->start();
}

void EmbeddedCluster::Parts::start_controllers(const cli::UpOptions& options) {
  for (const auto& node : options.nodes) wanted_nodes.insert(node.name);
  if (options.flight_bytes > 0) {
    flight = std::make_unique<scheduler::flight::FlightLog>(
        scheduler::flight::LogOptions{.folder = data.flight(), .max_bytes = options.flight_bytes});
    recorder = std::make_unique<scheduler::flight::FlightRecorder>(*flight);
  }
  fetch = std::make_unique<net::NetFetch>(control->loop());
  run_on(control->loop(), [&] {
    control_plane = std::make_unique<embedded::ControlPlane>(
        embedded::ControlPlaneParts{*server,
                                    *store,
                                    control->loop(),
                                    pki.authority_pem,
                                    options.nodes,
                                    embedded::connect_directly(*server, *store, control->loop()),
                                    api_service,
                                    api_address_of(options, http->port()),
                                    data.volumes(),
                                    {options.without.begin(), options.without.end()},
                                    recorder.get(),
                                    fetch.get(),
                                    crypto::new_ssh_key});
    control_plane->start();
    return true;
  });
  chores = std::make_unique<net::LoopThread>("gw-chores");
  keep_certificates(options);
  agent = std::make_unique<net::LoopThread>("gw-agent");
  auto only_simulated = nodes_with_runtime(options.nodes, true);
  if (!only_simulated.empty()) {
    run_on(agent->loop(), [&] {
      simulated = std::make_unique<embedded::SimulatedNodes>(agent->loop(),
                                                             embedded::connect_directly(*server, *store, agent->loop()),
                                                             only_simulated, cli::this_system(kVersion));
      simulated->start();
      return true;
    });
  }
  server->documents().set_status_source([this] { return status(); });
  server->documents().set_backup([this](std::string path, sys::Completion<void> done) {
    chores->loop().post([this, path = std::move(path), done = std::move(done)] { done(store->backup(path)); });
  });
}

Result<void> EmbeddedCluster::Parts::start_agent(const cli::UpOptions& options) {
  const auto nodes = nodes_with_runtime(options.nodes, false);
  // One that an earlier server left behind must not go on with nodes that are not there any more.
  if (nodes.empty()) return end_agent(data, cli::PodsThen::kEnd);
  cli::AgentConfig config;
  config.data_dir = data.path();
  config.runtime = nodes.front().runtime;
  config.client_authority_pem = pki.authority_pem;
  for (const auto& node : nodes) {
    cli::AgentLogin login{url, pki.authority_pem, {}, {}};
    GW_TRY(login.identity, crypto::load_or_issue_node_identity(data.pki(), node.name, sys::system_clock().wall()));
    config.nodes.push_back({node, std::move(login), agent_listens.at(node.name)});
  }
  supervisor = std::make_unique<AgentSupervisor>(agent->loop(), data);
  return supervisor->start(config);
}

// Every node exists, says that it is Ready, and whoever speaks for it now can be asked for logs.
Result<void> EmbeddedCluster::Parts::wait_for_nodes() {
  const auto ready = [this] { return reachable_nodes(*store->root(), wanted_nodes, agent_listens); };
  for (auto waited = Duration::zero(); ready() < wanted_nodes.size(); waited += kLookForNodes) {
    if (auto why = why_agent_fails(kMostAgentFailures); !why.empty()) return internal_error(std::move(why));
    if (waited >= kStartTimeout) {
      const auto why = why_agent_fails(1);
      return internal_error(fmt::format("{} of {} nodes were Ready after {} s{}{}", ready(), wanted_nodes.size(),
                                        kStartTimeout.count(), why.empty() ? "" : "; ", why));
    }
    std::this_thread::sleep_for(kLookForNodes);
  }
  return {};
}

// Empty unless it has failed so often.
std::string EmbeddedCluster::Parts::why_agent_fails(unsigned times) const {
  if (!supervisor) return {};
  const auto failure = run_on(agent->loop(), [this] { return supervisor->failure(); });
  if (failure.times < times) return {};
  return fmt::format("the agent cannot start: {}; its log is {}", failure.why, data.agent_log_file());
}

json::Value EmbeddedCluster::Parts::certificate_ends() const {
  auto ends = certificates->ends();
  if (!ends) return json::Object();
  return json::Object{{"server", to_rfc3339(ends->server)},
                      {"admin", to_rfc3339(ends->admin)},
                      {"authority", to_rfc3339(ends->authority)}};
}

json::Value EmbeddedCluster::Parts::flight_report() const {
  if (!flight) return json::Object{{"name", "flight-recorder"}, {"state", "off"}, {"detail", ""}};
  const auto state = flight->status();
  auto detail = state.last == 0 ? std::string("no cycle yet")
                                : fmt::format("cycles {} to {}, {:.1f} MiB", state.first, state.last,
                                              static_cast<double>(state.bytes) / (1024.0 * 1024.0));
  if (state.skipped > 0) detail += fmt::format(", {} skipped", state.skipped);
  if (!state.error.empty()) detail += "; last error: " + state.error;
  return json::Object{
      {"name", "flight-recorder"}, {"state", state.error.empty() ? "running" : "failing"}, {"detail", detail}};
}

json::Value EmbeddedCluster::Parts::status() {
  auto root = store->root();
  auto state = store->status();
  auto lag = [](net::LoopThread& thread) {
    auto asked = sys::system_clock().mono();
    auto answered = std::make_shared<std::promise<MonoTime>>();
    auto answer = answered->get_future();
    thread.loop().post([answered] { answered->set_value(sys::system_clock().mono()); });
    if (answer.wait_for(std::chrono::seconds(1)) != std::future_status::ready) return std::int64_t(1'000'000);
    return std::int64_t(std::chrono::duration_cast<std::chrono::microseconds>(answer.get() - asked).count());
  };
  json::Array parts{json::Object{{"name", "apiserver"},
                                 {"state", "running"},
                                 {"detail", fmt::format("{} kinds, {} connections", server->registry()->kinds().size(),
                                                        http ? http->connections() : 0)}},
                    json::Object{{"name", "store"}, {"state", "running"}, {"detail", data.database()}}};
  auto report = run_on(control->loop(), [&] { return control_plane ? control_plane->report() : json::Array(); });
  parts.insert(parts.end(), report.begin(), report.end());
  parts.push_back(flight_report());
  run_on(agent->loop(), [&] {
    if (simulated) parts.push_back(simulated->report());
    if (supervisor) parts.push_back(supervisor->report());
    return true;
  });
  json::Array loops{json::Object{{"name", "api"}, {"lagMicroseconds", lag(*api)}},
                    json::Object{{"name", "control"}, {"lagMicroseconds", lag(*control)}},
                    json::Object{{"name", "agent"}, {"lagMicroseconds", lag(*agent)}}};
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(sys::system_clock().mono() - started).count();
  return json::Object{
      {"version", json::Object{{"gangway", kVersion}, {"kubernetes", kKubernetesVersion}, {"commit", kCommit}}},
      {"url", url},
      {"dataDir", data.path()},
      {"pid", getpid()},
      {"uptimeSeconds", seconds},
      {"memoryBytes", resident_bytes()},
      {"certificatesEnd", certificate_ends()},
      {"parts", std::move(parts)},
      {"nodes", json::Object{{"total", root->objects("nodes").size()}, {"ready", ready_nodes(*root)}}},
      {"store", json::Object{{"revision", state.published},
                             {"objects", state.objects},
                             {"pending", state.pending_writes},
                             {"diskBytes", state.disk_bytes},
                             {"commits", state.commits},
                             {"syncs", state.syncs}}},
      {"loops", std::move(loops)}};
}

EmbeddedCluster::EmbeddedCluster(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
EmbeddedCluster::~EmbeddedCluster() {
  stop(cli::PodsThen::kEnd);
}

const std::string& EmbeddedCluster::url() const {
  return parts_->url;
}

Result<std::unique_ptr<EmbeddedCluster>> EmbeddedCluster::start(const cli::UpOptions& options) {
  auto parts = std::make_unique<Parts>(cli::DataDir(options.data_dir));
  std::unique_ptr<EmbeddedCluster> cluster(new EmbeddedCluster(std::move(parts)));
  auto& p = *cluster->parts_;
  GW_CHECKED(p.data.create());
  GW_CHECKED(p.open_store());
  GW_CHECKED(p.make_identities(options));
  p.agent_listens = agent_addresses(options.nodes);
  GW_TRY(auto initial_objects, p.make_server());
  p.api_service = api_service_of(initial_objects);
  GW_CHECKED(p.make_initial_objects(std::move(initial_objects)));
  GW_CHECKED(p.listen(options));
  GW_CHECKED(p.write_kubeconfig(p.pki, options.kubeconfig));
  p.start_controllers(options);
  GW_CHECKED(p.start_agent(options));
  GW_CHECKED(p.wait_for_nodes());
  return cluster;
}

void EmbeddedCluster::stop(cli::PodsThen pods) {
  if (!parts_) return;
  auto& p = *parts_;
  // Pods end while the API is there to be told.
  if (p.supervisor) p.supervisor->stop(pods);
  p.supervisor.reset();
  if (p.http) p.http->stop_and_wait(kStopGrace);
  p.chores.reset();
  p.http.reset();
  p.net.clear();
  p.certificates.reset();
  if (p.agent) {
    run_on(p.agent->loop(), [&] {
      p.simulated.reset();
      return true;
    });
  }
  if (p.agent) p.agent->stop();
  if (p.control) {
    run_on(p.control->loop(), [&] {
      p.control_plane.reset();
      p.client.reset();
      return true;
    });
  }
  if (p.control) p.control->stop();
  p.server.reset();
  if (p.store) {
    run_on(p.api->loop(), [&] {
      p.store.reset();
      return true;
    });
  }
  p.api.reset();
  parts_.reset();
}

}  // namespace gangway
