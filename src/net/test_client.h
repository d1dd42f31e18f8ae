// For tests: a blocking client that sends any bytes and waits for an answer with a deadline, and a server beside it.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "crypto/certificates.h"
#include "net/asio_loop.h"
#include "net/http_server.h"
#include "net/socket.h"

namespace gangway::net {

constexpr auto kPatience = std::chrono::seconds(20);

inline bool wait_until(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// An authority with a server and a client of its own, valid now.
struct TestKeys {
  sys::TlsIdentity authority, server, client;

  static TestKeys make() {
    const WallTime now = sys::system_clock().wall();
    const WallTime begin = now - std::chrono::hours(1);
    const WallTime end = now + std::chrono::hours(1);
    TestKeys keys;
    keys.authority = crypto::new_authority("test authority", begin, end).value();
    keys.server = crypto::issue(keys.authority, {.use = crypto::CertificateUse::kServer,
                                                 .common_name = "test server",
                                                 .organizations = {},
                                                 .dns_names = {"localhost"},
                                                 .ip_addresses = {"127.0.0.1"},
                                                 .not_before = begin,
                                                 .not_after = end})
                      .value();
    keys.client = crypto::issue(keys.authority, {.use = crypto::CertificateUse::kClient,
                                                 .common_name = "alice",
                                                 .organizations = {"dev", "ops"},
                                                 .dns_names = {},
                                                 .ip_addresses = {},
                                                 .not_before = begin,
                                                 .not_after = end})
                      .value();
    return keys;
  }
};

class TestClient {
 public:
  explicit TestClient(std::uint16_t port, const TlsContext* tls = nullptr) : socket_(connect(port, tls)) {
    // The loop in send() and receive() finishes the handshake.
    while (tls != nullptr && wait(socket_.handshake())) {
    }
  }

  // False when the server does not take it any more.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const Socket::Io io = socket_.write(bytes);
      if (io.status == Socket::Status::kOk)
        bytes.remove_prefix(io.bytes);
      else if (!wait(io.status))
        return false;
    }
    return true;
  }

  // Reads until `enough` holds for all that came, the server closes, or patience ends.
  std::string receive_until(const std::function<bool(const std::string&)>& enough) {
    while (!enough(received_) && !closed_) {
      char block[65536];
      const Socket::Io io = socket_.read(block);
      if (io.status == Socket::Status::kOk)
        received_.append(block, io.bytes);
      else if (!wait(io.status))
        closed_ = true;
    }
    return received_;
  }
  std::string receive_until(std::string_view end) {
    return receive_until([end](const std::string& all) { return all.find(end) != std::string::npos; });
  }
  std::string receive_until_closed() {
    return receive_until([](const std::string&) { return false; });
  }
  // Forgets what came so far.
  void forget() { received_.clear(); }
  bool closed() const { return closed_; }
  bool timed_out() const { return timed_out_; }
  int fd() const { return socket_.fd(); }
  void shutdown_write() { socket_.shutdown_write(); }

 private:
  static Socket connect(std::uint16_t port, const TlsContext* tls) {
    FileDescriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    static_cast<void>(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
    ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
    return tls != nullptr ? Socket(std::move(fd), *tls, "localhost") : Socket(std::move(fd));
  }

  // True when it is worth trying again.
  bool wait(Socket::Status status) {
    if (status != Socket::Status::kWantRead && status != Socket::Status::kWantWrite) return false;
    pollfd poll{socket_.fd(), static_cast<short>(status == Socket::Status::kWantRead ? POLLIN : POLLOUT), 0};
    timed_out_ = ::poll(&poll, 1, std::chrono::milliseconds(kPatience).count()) != 1;
    return !timed_out_;
  }

  Socket socket_;
  std::string received_;
  bool closed_ = false;
  bool timed_out_ = false;
};

class FunctionHandler final : public sys::HttpHandler {
 public:
  using Function = std::function<void(sys::HttpRequest, sys::EventLoop&, sys::Respond)>;
  explicit FunctionHandler(Function function) : function_(std::move(function)) {}
  void handle(sys::HttpRequest request, sys::EventLoop& here, sys::Respond respond) override {
    function_(std::move(request), here, std::move(respond));
  }

 private:
  Function function_;
};

// A server on two loops with a handler of the test's choice.
class TestServer {
 public:
  explicit TestServer(FunctionHandler::Function function, HttpServerOptions options = {})
      : handler_(std::move(function)),
        server_(HttpServer::start(std::move(options), {&first_.loop(), &second_.loop()}, handler_).value()) {}
  ~TestServer() { stop(); }
  void stop(Duration grace = Duration::zero()) {
    if (!std::exchange(stopped_, true)) server_->stop_and_wait(grace);
  }
  std::uint16_t port() const { return server_->port(); }
  HttpServer& server() { return *server_; }

 private:
  FunctionHandler handler_;
  LoopThread first_{"test-net-0"};
  LoopThread second_{"test-net-1"};
  std::unique_ptr<HttpServer> server_;
  bool stopped_ = false;
};

inline sys::HttpResponse text_response(std::string text, int status = 200) {
  sys::HttpResponse response;
  response.status = status;
  response.body.push_back(sys::make_buffer(std::move(text)));
  return response;
}

}  // namespace gangway::net
