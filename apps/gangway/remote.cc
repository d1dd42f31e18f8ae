#include "remote.h"

#include <fmt/format.h>

#include <future>

#include "client/kubeconfig.h"
#include "net/asio_loop.h"
#include "net/http_transport.h"

namespace gangway {

Result<json::Value> ask_server(const cli::DataDir& data, const std::string& path, const json::Value* body) {
  if (!data.running()) {
    Error error;
    error.reason = Reason::kNotFound;
    error.message = fmt::format("no cluster is running on {}; start one with `gangway up`", data.path());
    return error;
  }
  GW_TRY(auto config, client::read_kubeconfig_file(data.kubeconfig()));
  GW_TRY(auto login, client::login_for(config));
  net::HttpTransportOptions options;
  options.server = login.cluster.server;
  options.tls.ca_pem = login.cluster.ca_data;
  options.tls.identity = {login.user.certificate_data, login.user.key_data};

  net::LoopThread thread("gw-client");
  std::promise<Result<client::HttpClientResponse>> promise;
  auto answer = promise.get_future();
  std::unique_ptr<net::HttpTransport> transport;
  thread.loop().post([&] {
    auto created = net::HttpTransport::create(std::move(options), thread.loop());
    if (!created) return promise.set_value(created.error());
    transport = std::move(*created);
    client::HttpClientRequest request;
    request.target = path;
    request.timeout = std::chrono::seconds(body ? 600 : 10);
    if (body) {
      request.method = "POST";
      request.headers.add("Content-Type", "application/json");
      request.body = json::serialize(*body);
    }
    transport->send(std::move(request),
                    [&](Result<client::HttpClientResponse> response) { promise.set_value(std::move(response)); });
  });
  auto response = answer.get();
  std::promise<void> ended;
  thread.loop().post([&] {
    transport.reset();
    ended.set_value();
  });
  ended.get_future().wait();
  if (!response) return std::move(response.error()).within(login.cluster.server);
  GW_TRY(auto answer_body, json::parse(response->body));
  if (response->status == 200) return answer_body;
  auto message = json::string_at(answer_body, {"message"});
  return internal_error(message.empty() ? fmt::format("{} answered {}", path, response->status) : std::string(message));
}

}  // namespace gangway
