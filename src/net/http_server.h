// HttpServer: carries HTTP/1.1 and WebSockets over TLS (or plain TCP) to a sys::HttpHandler.
//
// It is given the loops it runs on. Connections are accepted on the first and handed to all of them in turn; a
// connection, its requests, its streams and its sessions stay on one loop. No input from the network ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/http_parser.h"
#include "sys/event_loop.h"
#include "sys/http.h"
#include "sys/tls.h"

namespace gangway::net {

struct HttpServerOptions {
  std::string address = "127.0.0.1";  // IPv4 or IPv6
  std::uint16_t port = 0;             // 0: any free one
  // Listened on too, at the same port. They need not be the machine's yet: connections come when they are.
  std::vector<std::string> more_addresses;
  std::optional<sys::TlsServerConfig> tls;

  HttpLimits limits;
  std::size_t max_connections = 4096;
  std::size_t max_websocket_message = 1024 * 1024;
  // What a WebSocket may have waiting to be sent before its peer counts as dead.
  std::size_t max_pending_write = 16 * 1024 * 1024;

  Duration handshake_timeout = std::chrono::seconds(10);
  Duration header_timeout = std::chrono::seconds(15);
  Duration body_timeout = std::chrono::seconds(60);
  Duration idle_timeout = std::chrono::seconds(180);
  // A peer that takes nothing for this long while we have something for it is cut off.
  Duration stall_timeout = std::chrono::seconds(30);
  // How long we go on reading after the last answer, so that the peer gets to see it.
  Duration linger_timeout = std::chrono::seconds(2);
};

class HttpServer {
 public:
  // Listens at once. The loops and the handler must outlive the server.
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, std::vector<sys::EventLoop*> loops,
                                                   sys::HttpHandler& handler);
  // Requires: stop() has called back, or the loops do not run any more.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  std::size_t connections() const;

  // Who the server is to connections from now on; those that are open stay as they are. Requires: it was started with
  // TLS. From any thread.
  Result<void> renew_identity(const sys::TlsServerConfig& tls);

  // Stops accepting, ends streams and WebSockets, lets requests finish for up to `grace`, then closes everything.
  // `done` runs on the first loop. From any thread, once.
  void stop(Duration grace, sys::Task done);
  // The same, waiting for the end. Not from a task of one of the loops.
  void stop_and_wait(Duration grace);

 private:
  class Core;
  explicit HttpServer(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace gangway::net
