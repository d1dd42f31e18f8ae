#include "net/http_server.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <future>
#include <utility>

#include "base/check.h"
#include "net/http_shard.h"
#include "sys/log.h"

namespace gangway::net {
namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";

Error listen_error(const std::string& address, std::uint16_t port, const char* why) {
  return internal_error("cannot listen on " + address + " port " + std::to_string(port) + ": " + why);
}

// `free`: the address may be somebody's who comes later.
Result<FileDescriptor> listen_on(const std::string& address, std::uint16_t port, bool free) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int resolved = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (resolved != 0) return listen_error(address, port, ::gai_strerror(resolved));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);

  FileDescriptor fd(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return listen_error(address, port, std::strerror(errno));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (free) ::setsockopt(fd.get(), IPPROTO_IP, IP_FREEBIND, &on, sizeof on);
  if (::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd.get(), SOMAXCONN) != 0)
    return listen_error(address, port, std::strerror(errno));
  return fd;
}

// "127.0.0.1:4321", "[::1]:4321"
std::string address_text(const sockaddr_storage& address) {
  char host[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host);
    return std::string(host) + ":" + std::to_string(ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  ::inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host);
  return "[" + std::string(host) + "]:" + std::to_string(ntohs(v6.sin6_port));
}

std::uint16_t port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(address).sin_port
                                            : reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

}  // namespace

// Held by every task that is under way on a loop, so that it outlives them.
class HttpServer::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(HttpServerOptions options, sys::HttpHandler& handler, const std::shared_ptr<const TlsContext>& tls,
       std::vector<FileDescriptor> listeners, std::vector<sys::EventLoop*> loops);

  void start();
  void stop(Duration grace, sys::Task done);
  void use_tls(const std::shared_ptr<const TlsContext>& tls);
  std::uint16_t port() const { return port_; }
  std::size_t connections() const { return context_.connections; }

 private:
  // A socket that connections come in by.
  struct Listener {
    FileDescriptor fd;
    std::unique_ptr<sys::Subscription> watch;
  };
  void watch_listener(Listener& listener);
  void accept_some(Listener& listener);
  void accept_one(FileDescriptor fd, const sockaddr_storage& address);
  void begin_drain(Duration grace, sys::Task done);
  void shard_drained();
  sys::EventLoop& first() { return *loops_.front(); }

  HttpServerContext context_;
  std::vector<sys::EventLoop*> loops_;
  std::vector<Listener> listeners_;  // does not grow: tasks refer to its items
  std::uint16_t port_;
  std::size_t next_ = 0;
  bool stopping_ = false;
  std::size_t undrained_ = 0;
  sys::TimerId grace_ = sys::TimerId::kNone;
  sys::Task done_;
  std::vector<std::unique_ptr<HttpShard>> shards_;  // one a loop; the last to be made and the first to go
};

HttpServer::Core::Core(HttpServerOptions options, sys::HttpHandler& handler,
                       const std::shared_ptr<const TlsContext>& tls, std::vector<FileDescriptor> listeners,
                       std::vector<sys::EventLoop*> loops)
    : context_{std::move(options), handler}, loops_(std::move(loops)), port_(port_of(listeners.front().get())) {
  for (auto& fd : listeners) listeners_.push_back({std::move(fd), nullptr});
  for (auto* loop : loops_) shards_.push_back(std::make_unique<HttpShard>(context_, *loop, tls));
}

void HttpServer::Core::start() {
  first().post([self = shared_from_this()] {
    for (auto& listener : self->listeners_) self->watch_listener(listener);
  });
}

void HttpServer::Core::watch_listener(Listener& listener) {
  if (stopping_) return;
  listener.watch = first().watch_fd(listener.fd.get(), sys::EventLoop::FdEvent::kReadable,
                                    [this, &listener] { accept_some(listener); });
}

void HttpServer::Core::accept_some(Listener& listener) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    FileDescriptor fd(
        ::accept4(listener.fd.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.get() >= 0) {
      accept_one(std::move(fd), address);
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return;
    // Out of descriptors or memory: the listener stays readable, so looking again at once would only burn the loop.
    sys::log_warning("cannot accept a connection", {{"error", std::strerror(errno)}});
    listener.watch.reset();
    first().run_after(std::chrono::milliseconds(100),
                      [self = shared_from_this(), &listener] { self->watch_listener(listener); });
    return;
  }
}

void HttpServer::Core::accept_one(FileDescriptor fd, const sockaddr_storage& address) {
  if (++context_.connections > context_.options.max_connections) {
    --context_.connections;
    if (!context_.options.tls) [[maybe_unused]]
      const auto sent = ::send(fd.get(), kFull.data(), kFull.size(), MSG_NOSIGNAL);
    return;
  }
  const std::size_t index = next_++ % shards_.size();
  if (index == 0) return shards_[0]->adopt(std::move(fd), address_text(address));
  // A task must be copyable, a descriptor must not.
  loops_[index]->post([self = shared_from_this(), index, moved = std::make_shared<FileDescriptor>(std::move(fd)),
                       peer = address_text(address)] { self->shards_[index]->adopt(std::move(*moved), peer); });
}

void HttpServer::Core::use_tls(const std::shared_ptr<const TlsContext>& tls) {
  for (std::size_t i = 0; i < shards_.size(); ++i)
    loops_[i]->post([self = shared_from_this(), i, tls] { self->shards_[i]->use_tls(tls); });
}

void HttpServer::Core::stop(Duration grace, sys::Task done) {
  first().post([self = shared_from_this(), grace, done = std::move(done)] { self->begin_drain(grace, done); });
}

void HttpServer::Core::begin_drain(Duration grace, sys::Task done) {
  stopping_ = true;
  for (auto& listener : listeners_) {
    listener.watch.reset();
    listener.fd.reset();
  }
  done_ = std::move(done);
  undrained_ = shards_.size();
  const auto self = shared_from_this();
  for (std::size_t i = 0; i < shards_.size(); ++i)
    loops_[i]->post(
        [self, i] { self->shards_[i]->drain([self] { self->first().post([self] { self->shard_drained(); }); }); });
  grace_ = first().run_after(grace, [self] {
    for (std::size_t i = 0; i < self->shards_.size(); ++i)
      self->loops_[i]->post([self, i] { self->shards_[i]->close_all(); });
  });
}

void HttpServer::Core::shard_drained() {
  if (--undrained_ > 0) return;
  first().cancel(grace_);
  if (done_) std::exchange(done_, nullptr)();
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, std::vector<sys::EventLoop*> loops,
                                                      sys::HttpHandler& handler) {
  GW_CHECK(!loops.empty());
  std::shared_ptr<const TlsContext> tls;
  if (options.tls) {
    GW_TRY(tls, TlsContext::for_server(*options.tls));
  }
  std::vector<FileDescriptor> listeners;
  GW_TRY(FileDescriptor listener, listen_on(options.address, options.port, false));
  const auto port = port_of(listener.get());
  listeners.push_back(std::move(listener));
  for (const auto& address : options.more_addresses) {
    GW_TRY(FileDescriptor more, listen_on(address, port, true));
    listeners.push_back(std::move(more));
  }
  auto core = std::make_shared<Core>(std::move(options), handler, tls, std::move(listeners), std::move(loops));
  core->start();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(core)));
}

HttpServer::HttpServer(std::shared_ptr<Core> core) : core_(std::move(core)) {}
HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const {
  return core_->port();
}
std::size_t HttpServer::connections() const {
  return core_->connections();
}
Result<void> HttpServer::renew_identity(const sys::TlsServerConfig& tls) {
  GW_TRY(auto context, TlsContext::for_server(tls));
  core_->use_tls(context);
  return {};
}

void HttpServer::stop(Duration grace, sys::Task done) {
  core_->stop(grace, std::move(done));
}

void HttpServer::stop_and_wait(Duration grace) {
  const auto stopped = std::make_shared<std::promise<void>>();
  auto future = stopped->get_future();
  stop(grace, [stopped] { stopped->set_value(); });
  future.wait();
}

}  // namespace gangway::net
