#include "cluster_connection.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <future>

#include "cluster_address.h"
#include "run_on.h"

namespace gangway {
namespace {

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
  GW_TRY(ClusterAddress address, find_cluster(flags.kubeconfig, flags.context));
  std::unique_ptr<ClusterConnection> connection(new ClusterConnection());
  connection->ns_ = flags.ns.empty() ? address.ns : flags.ns;
  connection->server_ = address.transport.server;
  GW_CHECKED(run_on(connection->thread_.loop(), [&]() -> Result<void> {
    GW_TRY(connection->transport_,
           net::HttpTransport::create(std::move(address.transport), connection->thread_.loop()));
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

Result<json::Value> ClusterConnection::get(const std::string& path) {
  auto response = await<client::HttpClientResponse>(thread_.loop(), [&](auto done) {
    client::HttpClientRequest request;
    request.target = path;
    request.headers.add("Accept", "application/json");
    transport_->send(std::move(request), std::move(done));
  });
  if (!response) return std::move(response.error()).within(server_);
  if (response->status < 200 || response->status > 299) return client::error_of(response->status, response->body);
  return json::parse(response->body);
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
