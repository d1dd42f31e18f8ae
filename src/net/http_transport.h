// HttpTransport: client::Transport over TCP and TLS, with connections kept alive between requests.
//
// Belongs to one loop. Requests that are safe to repeat are sent again once when a kept connection turns out dead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "client/transport.h"
#include "sys/tls.h"

namespace gangway::net {

struct HttpTransportOptions {
  std::string server;  // "https://127.0.0.1:6443", "http://[::1]:8080"
  sys::TlsClientConfig tls;
  // Asked for each request, because tokens in files are replaced; may be empty.
  std::function<std::string()> bearer_token;
  std::size_t max_connections = 64;  // for calls; each stream has one of its own
  std::size_t max_response_bytes = 512 * 1024 * 1024;
  Duration connect_timeout = std::chrono::seconds(10);
  Duration idle_timeout = std::chrono::seconds(60);
};

struct HttpEndpoint {
  bool tls = true;
  std::string host;
  std::uint16_t port = 0;
};
Result<HttpEndpoint> parse_endpoint(const std::string& url);

class HttpTransport final : public client::Transport {
 public:
  static Result<std::unique_ptr<HttpTransport>> create(HttpTransportOptions options, sys::EventLoop& loop);
  // On the loop, or when the loop does not run. Callbacks that are due do not come any more.
  ~HttpTransport() override;
  HttpTransport(const HttpTransport&) = delete;
  HttpTransport& operator=(const HttpTransport&) = delete;

  void send(client::HttpClientRequest request, sys::Completion<client::HttpClientResponse> done) override;
  [[nodiscard]] std::unique_ptr<client::BodySource> stream(client::HttpClientRequest request,
                                                           client::StreamCallbacks callbacks) override;
  void upgrade(client::HttpClientRequest request, std::unique_ptr<sys::ByteSession> session,
               sys::Completion<client::HttpClientResponse> done) override;

 private:
  class Pool;
  explicit HttpTransport(std::shared_ptr<Pool> pool);
  std::shared_ptr<Pool> pool_;
};

}  // namespace gangway::net
