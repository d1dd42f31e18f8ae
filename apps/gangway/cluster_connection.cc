#include "cluster_connection.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <future>

#include "cluster_address.h"
#include "run_on.h"
#include "sys/url.h"

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

client::HttpClientRequest with_body(std::string method, std::string target, std::string_view type,
                                    const json::Value& body) {
  client::HttpClientRequest request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.headers.add("Content-Type", std::string(type));
  request.body = json::serialize(body);
  return request;
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
  connection->source_ = address.source;
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

Result<json::Value> ClusterConnection::ask(client::HttpClientRequest request) {
  request.headers.add("Accept", "application/json");
  auto response = await<client::HttpClientResponse>(
      thread_.loop(), [&](auto done) { transport_->send(std::move(request), std::move(done)); });
  if (!response) return std::move(response.error()).within(server_);
  if (response->status < 200 || response->status > 299) return client::error_of(response->status, response->body);
  return json::parse(response->body);
}

Result<json::Value> ClusterConnection::get(const std::string& path) {
  client::HttpClientRequest request;
  request.target = path;
  return ask(std::move(request));
}

Result<json::Value> ClusterConnection::dry_run_create(const client::Resource& resource, const std::string& ns,
                                                      const json::Value& body) {
  return ask(with_body("POST", client::path_of(resource, {ns, ""}) + "?dryRun=All", "application/json", body));
}

Result<json::Value> ClusterConnection::create(const client::Resource& resource, const std::string& ns,
                                              const json::Value& body) {
  return ask(with_body("POST", client::path_of(resource, {ns, ""}), "application/json", body));
}

Result<json::Value> ClusterConnection::object(const client::Resource& resource, const api::ObjectName& name) {
  return get(client::path_of(resource, name));
}

Result<json::Value> ClusterConnection::patch(const client::Resource& resource, const api::ObjectName& name,
                                             const json::Value& changes) {
  return ask(with_body("PATCH", client::path_of(resource, name), "application/merge-patch+json", changes));
}

Result<void> ClusterConnection::remove(const client::Resource& resource, const api::ObjectName& name) {
  const json::Value options = json::Object{{"propagationPolicy", "Background"}};
  auto answer = ask(with_body("DELETE", client::path_of(resource, name), "application/json", options));
  if (!answer) return answer.error();
  return {};
}

// One list while its pages are under way.
struct ClusterConnection::Listing {
  std::string target;
  std::string more;
  std::vector<json::Value> items;
  std::function<void(Result<std::vector<json::Value>>)> done;

  // Takes a page in; true when it was the last.
  Result<bool> add(const std::string& body) {
    json::ParseLimits limits;
    limits.max_bytes = std::size_t{1} << 30;
    GW_TRY(json::Value page, json::parse(body, limits));
    std::string kind(json::string_at(page, {"kind"}));
    if (kind.ends_with("List")) kind.resize(kind.size() - 4);
    const std::string version(json::string_at(page, {"apiVersion"}));
    if (json::Value* list = json::find(page, {"items"}); list != nullptr && list->is_array()) {
      for (json::Value& item : list->get_array()) {
        // The items of a list leave out what the list says once for all of them.
        if (json::Object* object = item.if_object()) {
          if (!object->contains("kind")) (*object)["kind"] = kind;
          if (!object->contains("apiVersion")) (*object)["apiVersion"] = version;
        }
        items.push_back(std::move(item));
      }
    }
    more = json::string_at(page, {"metadata", "continue"});
    return more.empty();
  }
};

void ClusterConnection::next_page(const std::shared_ptr<Listing>& listing) {
  client::HttpClientRequest request;
  request.target = listing->target;
  if (!listing->more.empty()) request.target += "&continue=" + sys::percent_encode(listing->more);
  request.headers.add("Accept", "application/json");
  transport_->send(std::move(request), [this, listing](Result<client::HttpClientResponse> response) {
    if (!response) return listing->done(std::move(response.error()).within(server_));
    if (response->status != 200) return listing->done(client::error_of(response->status, response->body));
    auto last = listing->add(response->body);
    if (!last) return listing->done(std::move(last.error()));
    if (!*last) return next_page(listing);
    listing->done(std::move(listing->items));
  });
}

std::vector<Result<std::vector<json::Value>>> ClusterConnection::list_all(
    const std::vector<client::ListRequest>& requests) {
  constexpr int kPage = 2000;
  std::vector<std::promise<Result<std::vector<json::Value>>>> promises(requests.size());
  thread_.loop().post([&] {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      auto listing = std::make_shared<Listing>();
      listing->target = fmt::format("{}?limit={}", client::path_of(requests[i].resource, {requests[i].ns, ""}), kPage);
      if (!requests[i].label_selector.empty())
        listing->target += "&labelSelector=" + sys::percent_encode(requests[i].label_selector);
      if (!requests[i].field_selector.empty())
        listing->target += "&fieldSelector=" + sys::percent_encode(requests[i].field_selector);
      listing->done = [&promise = promises[i]](auto result) { promise.set_value(std::move(result)); };
      next_page(listing);
    }
  });
  std::vector<Result<std::vector<json::Value>>> answers;
  answers.reserve(promises.size());
  for (auto& promise : promises) answers.push_back(promise.get_future().get());
  return answers;
}

Result<std::vector<json::Value>> ClusterConnection::list(const client::ListRequest& request) {
  return std::move(list_all({request}).front());
}

Result<void> ClusterConnection::follow(const std::string& path, std::function<void(std::string_view)> on_data) {
  std::unique_ptr<client::BodySource> source;
  int status = 0;
  std::string refusal;
  auto ended = await<bool>(thread_.loop(), [&](auto done) {
    client::HttpClientRequest request;
    request.target = path;
    client::StreamCallbacks callbacks;
    callbacks.on_head = [&](const client::HttpClientResponse& head) { status = head.status; };
    callbacks.on_data = [&](std::string_view bytes) {
      if (status == 200) return on_data(bytes);
      refusal += bytes;
    };
    callbacks.on_end = [done = std::move(done)](Result<void> end) {
      if (!end) return done(std::move(end.error()));
      done(true);
    };
    source = transport_->stream(std::move(request), std::move(callbacks));
  });
  run_on(thread_.loop(), [&] {
    source.reset();
    return true;
  });
  if (!ended) return std::move(ended.error()).within(server_);
  if (status != 200) return client::error_of(status, refusal);
  return {};
}

}  // namespace gangway
