#include "cluster_connection.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <future>

#include "cli/data_dir.h"
#include "client/kubeconfig.h"
#include "run_on.h"

namespace gangway {
namespace {

// The first of the usual places that has one.
Result<std::string> kubeconfig_path(const std::string& chosen) {
  if (!chosen.empty()) return chosen;
  // kubectl takes a list of files here, and merges them; the first that exists is ours.
  if (const char* listed = std::getenv("KUBECONFIG"); listed != nullptr && *listed != '\0') {
    std::string_view rest = listed;
    while (!rest.empty()) {
      const std::size_t colon = rest.find(':');
      const std::string path(rest.substr(0, colon));
      if (!path.empty() && std::filesystem::exists(path)) return path;
      rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    }
    return bad_request(fmt::format("KUBECONFIG names no file that exists: {}", listed));
  }
  const char* home = std::getenv("HOME");
  const std::string usual = std::string(home == nullptr ? "" : home) + "/.kube/config";
  if (std::filesystem::exists(usual)) return usual;
  const std::string own = cli::DataDir(cli::DataDir::default_path()).kubeconfig();
  if (std::filesystem::exists(own)) return own;
  return bad_request("no cluster is known: give --kubeconfig FILE, set KUBECONFIG, or start one with `gangway up`");
}

// Waits for the one answer of something that is begun on the loop.
template <class T, class Begin>
Result<T> await(sys::EventLoop& loop, Begin begin) {
  std::promise<Result<T>> promise;
  auto answer = promise.get_future();
  loop.post([&] { begin([&promise](Result<T> result) { promise.set_value(std::move(result)); }); });
  return answer.get();
}

}  // namespace

void add_connection_flags(CLI::App& command, ConnectionFlags& flags) {
  command.add_option("--kubeconfig", flags.kubeconfig,
                     "The kubeconfig (default: $KUBECONFIG, ~/.kube/config, or that of `gangway up`)");
  command.add_option("--context", flags.context, "The context of the kubeconfig (default: its current one)");
  command.add_option("-n,--namespace", flags.ns, "The namespace (default: that of the context)");
}

Result<std::unique_ptr<ClusterConnection>> ClusterConnection::open(const ConnectionFlags& flags) {
  GW_TRY(const std::string path, kubeconfig_path(flags.kubeconfig));
  GW_TRY(const auto config, client::read_kubeconfig_file(path));
  auto login = client::login_for(config, flags.context);
  if (!login) return std::move(login.error()).within(path);
  std::unique_ptr<ClusterConnection> connection(new ClusterConnection());
  connection->ns_ = flags.ns.empty() ? login->ns : flags.ns;
  connection->server_ = login->cluster.server;
  net::HttpTransportOptions options;
  options.server = login->cluster.server;
  options.tls.ca_pem = login->cluster.ca_data;
  options.tls.identity = {login->user.certificate_data, login->user.key_data};
  options.tls.server_name = login->cluster.tls_server_name;
  options.tls.skip_verify = login->cluster.insecure_skip_tls_verify;
  if (!login->user.token.empty()) options.bearer_token = [token = login->user.token] { return token; };
  GW_CHECKED(run_on(connection->thread_.loop(), [&]() -> Result<void> {
    GW_TRY(connection->transport_, net::HttpTransport::create(std::move(options), connection->thread_.loop()));
    connection->client_ = std::make_unique<client::HttpClient>(*connection->transport_);
    return {};
  }));
  return connection;
}

ClusterConnection::~ClusterConnection() {
  run_on(thread_.loop(), [&] {
    client_.reset();
    transport_.reset();
    return true;
  });
}

Result<std::shared_ptr<cli::ListedObjects>> ClusterConnection::read(const std::vector<cli::Reading>& readings) {
  auto objects = await<std::shared_ptr<cli::ListedObjects>>(
      thread_.loop(), [&](auto done) { cli::read_cluster(*client_, readings, std::move(done)); });
  if (!objects) return std::move(objects.error()).within(server_);
  return objects;
}

Result<json::Value> ClusterConnection::dry_run_create(const client::Resource& resource, const std::string& ns,
                                                      const json::Value& body) {
  auto response = await<client::HttpClientResponse>(thread_.loop(), [&](auto done) {
    client::HttpClientRequest request;
    request.method = "POST";
    request.target = client::path_of(resource, {ns, ""}) + "?dryRun=All";
    request.headers.add("Accept", "application/json");
    request.headers.add("Content-Type", "application/json");
    request.body = json::serialize(body);
    transport_->send(std::move(request), std::move(done));
  });
  if (!response) return std::move(response.error()).within(server_);
  if (response->status < 200 || response->status > 299) return client::error_of(response->status, response->body);
  return json::parse(response->body);
}

}  // namespace gangway
