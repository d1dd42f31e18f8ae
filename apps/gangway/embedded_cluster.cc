#include "embedded_cluster.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <future>

#include "apiserver/bootstrap.h"
#include "apiserver/direct_client.h"
#include "apiserver/embedded_kinds.h"
#include "apiserver/kind_loader.h"
#include "apiserver/server.h"
#include "cli/data_dir.h"
#include "client/kubeconfig.h"
#include "control_plane.h"
#include "crypto/pki.h"
#include "crypto/tokens.h"
#include "json/value.h"
#include "net/asio_loop.h"
#include "net/http_server.h"
#include "store/sqlite_store.h"
#include "sys/log.h"
#include "version.h"

namespace gangway {
namespace {

constexpr std::string_view kIssuer = "https://kubernetes.default.svc.cluster.local";
constexpr auto kStopGrace = std::chrono::seconds(5);
constexpr auto kStartTimeout = std::chrono::seconds(60);

// Runs `task` on the loop and waits for its value. For start and stop only.
template <class Task>
auto run_on(sys::EventLoop& loop, Task task) {
  std::promise<decltype(task())> promise;
  auto value = promise.get_future();
  loop.post([&] { promise.set_value(task()); });
  return value.get();
}

apiserver::UserInfo server_user() {
  return {"system:apiserver", "", {"system:masters", "system:authenticated"}, {}};
}

crypto::PkiSpec names_of(const cli::UpOptions& options) {
  crypto::PkiSpec spec;
  spec.dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
                    "kubernetes.default.svc.cluster.local"};
  spec.ip_addresses = {"127.0.0.1", "10.96.0.1"};
  if (options.bind != "0.0.0.0" && options.bind != "127.0.0.1") spec.ip_addresses.push_back(options.bind);
  return spec;
}

controllers::NodeSystem this_system() {
  controllers::NodeSystem system;
  system.gangway_version = kVersion;
  utsname name{};
  if (uname(&name) == 0) {
    system.kernel_version = name.release;
    system.architecture = std::string_view(name.machine) == "aarch64" ? "arm64" : "amd64";
  }
  std::ifstream release("/etc/os-release");
  for (std::string line; std::getline(release, line);) {
    if (line.starts_with("PRETTY_NAME=\"") && line.size() > 14) system.os_image = line.substr(13, line.size() - 14);
  }
  return system;
}

std::size_t ready_nodes(const store::Root& root) {
  std::size_t ready = 0;
  for (const auto& version : root.objects("nodes")) {
    auto node = json::parse(*version.json);
    const auto* conditions = node ? json::find(*node, {"status", "conditions"}) : nullptr;
    if (!conditions || !conditions->is_array()) continue;
    for (const auto& condition : conditions->get_array()) {
      if (json::string_at(condition, {"type"}) == "Ready" && json::string_at(condition, {"status"}) == "True") ++ready;
    }
  }
  return ready;
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
  std::unique_ptr<apiserver::ApiServer> server;
  std::unique_ptr<net::LoopThread> control;
  std::unique_ptr<apiserver::DirectClient> client;
  std::unique_ptr<ControlPlane> control_plane;  // made and ended on the control loop
  std::vector<std::unique_ptr<net::LoopThread>> net;
  std::unique_ptr<net::HttpServer> http;
  std::unique_ptr<net::LoopThread> backups;  // copying a store takes long; nobody else should wait for it
  std::string url;
  MonoTime started = sys::system_clock().mono();
  std::size_t wanted_nodes = 0;

  Result<void> open_store();
  Result<void> make_identities(const cli::UpOptions& options);
  Result<std::vector<json::Value>> make_server();
  Result<void> make_initial_objects(std::vector<json::Value> objects);
  Result<void> listen(const cli::UpOptions& options);
  Result<void> write_kubeconfig(const cli::UpOptions& options) const;
  void start_controllers(const cli::UpOptions& options);
  Result<void> wait_for_nodes();
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
      .verify = verify, .issuer = std::string(kIssuer), .audiences = {std::string(kIssuer)}});
  tokens = std::make_unique<apiserver::TokenIssuer>(
      apiserver::TokenIssuer::Options{.sign = [this](std::string_view claims) { return signer->sign(claims); },
                                      .issuer = std::string(kIssuer),
                                      .audiences = {std::string(kIssuer)}});
  return {};
}

Result<std::vector<json::Value>> EmbeddedCluster::Parts::make_server() {
  GW_TRY(auto kinds, apiserver::load_builtin_kinds(apiserver::embedded_kinds()));
  auto registry = apiserver::Registry::of(std::move(kinds.kinds), std::move(kinds.schemas));
  server = std::make_unique<apiserver::ApiServer>(apiserver::ApiServer::Parts{
      *store, api->loop(), sys::system_clock(), sys::system_entropy(), metrics, registry, *authenticator, *tokens,
      apiserver::ServerVersion{std::string(kKubernetesVersion), std::string(kCommit), std::string(kBuildDate)}});
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

Result<void> EmbeddedCluster::Parts::write_kubeconfig(const cli::UpOptions& options) const {
  client::Kubeconfig config;
  config.clusters.push_back({.name = "gangway", .server = url, .ca_data = pki.authority_pem, .tls_server_name = ""});
  config.users.push_back({.name = "gangway-admin",
                          .certificate_data = pki.admin.certificate_pem,
                          .key_data = pki.admin.key_pem,
                          .token = ""});
  config.contexts.push_back({.name = "gangway", .cluster = "gangway", .user = "gangway-admin", .ns = ""});
  config.current_context = "gangway";
  GW_CHECKED(client::write_kubeconfig_file(data.kubeconfig(), config));
  if (options.kubeconfig.empty()) return {};
  return client::write_kubeconfig_file(options.kubeconfig, config);
}

void EmbeddedCluster::Parts::start_controllers(const cli::UpOptions& options) {
  wanted_nodes = options.nodes.size();
  run_on(control->loop(), [&] {
    control_plane = std::make_unique<ControlPlane>(
        ControlPlaneParts{*server, *store, control->loop(), pki.authority_pem, options.nodes, this_system()});
    control_plane->start();
    return true;
  });
  server->documents().set_status_source([this] { return status(); });
  backups = std::make_unique<net::LoopThread>("gw-backup");
  server->documents().set_backup([this](std::string path, sys::Completion<void> done) {
    backups->loop().post([this, path = std::move(path), done = std::move(done)] { done(store->backup(path)); });
  });
}

// Every node exists and says that it is Ready.
Result<void> EmbeddedCluster::Parts::wait_for_nodes() {
  auto promise = std::make_shared<std::promise<void>>();
  auto all_ready = promise->get_future();
  auto waiting = std::make_shared<std::unique_ptr<sys::Subscription>>();
  control->loop().post([this, promise, waiting] {
    auto check = [this, promise, waiting] {
      if (!*waiting || ready_nodes(*store->root()) < wanted_nodes) return;
      promise->set_value();
      waiting->reset();
    };
    *waiting = store->on_publish(control->loop(), check);
    control->loop().post(check);
  });
  if (all_ready.wait_for(kStartTimeout) == std::future_status::ready) return {};
  return internal_error(fmt::format("{} of {} nodes were Ready after {} s", ready_nodes(*store->root()), wanted_nodes,
                                    kStartTimeout.count()));
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
  json::Array loops{json::Object{{"name", "api"}, {"lagMicroseconds", lag(*api)}},
                    json::Object{{"name", "control"}, {"lagMicroseconds", lag(*control)}}};
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(sys::system_clock().mono() - started).count();
  return json::Object{
      {"version", json::Object{{"gangway", kVersion}, {"kubernetes", kKubernetesVersion}, {"commit", kCommit}}},
      {"url", url},
      {"dataDir", data.path()},
      {"pid", getpid()},
      {"uptimeSeconds", seconds},
      {"memoryBytes", resident_bytes()},
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
  stop();
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
  GW_TRY(auto initial_objects, p.make_server());
  GW_CHECKED(p.make_initial_objects(std::move(initial_objects)));
  GW_CHECKED(p.listen(options));
  GW_CHECKED(p.write_kubeconfig(options));
  p.start_controllers(options);
  GW_CHECKED(p.wait_for_nodes());
  return cluster;
}

void EmbeddedCluster::stop() {
  if (!parts_) return;
  auto& p = *parts_;
  if (p.http) p.http->stop_and_wait(kStopGrace);
  p.http.reset();
  p.backups.reset();
  p.net.clear();
  if (p.control) {
    run_on(p.control->loop(), [&] {
      p.control_plane.reset();
      p.client.reset();
      return true;
    });
  }
  p.control.reset();
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
