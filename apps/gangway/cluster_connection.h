// ClusterConnection: any cluster, as a kubeconfig names it, for commands that ask and wait for the answer.
//
// Blocking, and not for use on a loop: it has a loop and a thread of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cluster_reader.h"
#include "client/http_client.h"
#include "json/value.h"
#include "net/asio_loop.h"
#include "net/http_transport.h"

namespace CLI {
class App;
}

namespace gangway {

struct ConnectionFlags {
  std::string kubeconfig;  // empty: as find_cluster() finds one
  std::string context;     // empty: the current one
  std::string ns;          // empty: that of the context
};
// --kubeconfig, --context and -n/--namespace.
void add_connection_flags(CLI::App& command, ConnectionFlags& flags);

class ClusterConnection {
 public:
  static Result<std::unique_ptr<ClusterConnection>> open(const ConnectionFlags& flags);
  ~ClusterConnection();
  ClusterConnection(const ClusterConnection&) = delete;
  ClusterConnection& operator=(const ClusterConnection&) = delete;

  const std::string& ns() const { return ns_; }
  const std::string& server() const { return server_; }
  // Where it was found: the path of a kubeconfig, or other words where it was none.
  const std::string& source() const { return source_; }

  // For what goes on while a command runs. The client is for use on the loop only, and what uses it ends before this.
  sys::EventLoop& loop() { return thread_.loop(); }
  client::ApiClient& client() { return *client_; }

  Result<std::shared_ptr<cli::ListedObjects>> read(const std::vector<cli::Reading>& readings);
  // What stands at a path: "/version".
  Result<json::Value> get(const std::string& path);
  // The object as the server would store it, with all that it adds; nothing is stored.
  Result<json::Value> dry_run_create(const client::Resource& resource, const std::string& ns, const json::Value& body);

  // All lists at once, each as documents; one that fails says so in its own place.
  std::vector<Result<std::vector<json::Value>>> list_all(const std::vector<client::ListRequest>& requests);
  Result<std::vector<json::Value>> list(const client::ListRequest& request);
  Result<json::Value> object(const client::Resource& resource, const api::ObjectName& name);
  Result<json::Value> create(const client::Resource& resource, const std::string& ns, const json::Value& body);
  // A JSON merge patch.
  Result<json::Value> patch(const client::Resource& resource, const api::ObjectName& name, const json::Value& changes);
  // In the background: what belongs to it follows.
  Result<void> remove(const client::Resource& resource, const api::ObjectName& name);
  // Hands on the body as it comes, until it ends. `on_data` is called on another thread.
  Result<void> follow(const std::string& path, std::function<void(std::string_view)> on_data);

 private:
  struct Listing;
  ClusterConnection() : thread_("gw-client") {}

  Result<json::Value> ask(client::HttpClientRequest request);
  void next_page(const std::shared_ptr<Listing>& listing);

  std::string ns_;
  std::string server_;
  std::string source_;
  net::LoopThread thread_;
  std::unique_ptr<net::HttpTransport> transport_;
  std::unique_ptr<client::HttpClient> client_;
};

}  // namespace gangway
