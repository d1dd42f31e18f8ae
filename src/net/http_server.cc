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

Error listen_error(const HttpServerOptions& options, const char* why) {
  return internal_error("cannot listen on " + options.address + " port " + std::to_string(options.port) + ": " + why);
}

Result<FileDescriptor> listen_on(const HttpServerOptions& options) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int resolved = ::getaddrinfo(options.address.c_str(), std::to_string(options.port).c_str(), &hints, &found);
  if (resolved != 0) return listen_error(options, ::gai_strerror(resolved));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);

  FileDescriptor fd(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return listen_error(options, std::strerror(errno));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd.get(), SOMAXCONN) != 0)
    return listen_error(options, std::strerror(errno));
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
  Core(HttpServerOptions options, sys::HttpHandler& handler, std::shared_ptr<const TlsContext> tls,
       FileDescriptor listener, std::vector<sys::EventLoop*> loops);

  void start();
  void stop(Duration grace, sys::Task done);
  std::uint16_t port() const { return port_; }
  std::size_t connections() const { return context_.connections; }

 private:
  void watch_listener();
  void accept_some();
  void accept_one(FileDescriptor fd, const sockaddr_storage& address);
  void begin_drain(Duration grace, sys::Task done);
  void shard_drained();
  sys::EventLoop& first() { return *loops_.front(); }

  HttpServerContext context_;
  std::vector<sys::EventLoop*> loops_;
  FileDescriptor listener_;
  std::uint16_t port_;
  std::unique_ptr<sys::Subscription> listening_;
  std::size_t next_ = 0;
  bool stopping_ = false;
  std::size_t undrained_ = 0;
  sys::TimerId grace_ = sys::TimerId::kNone;
  sys::Task done_;
  std::vector<std::unique_ptr<HttpShard>> shards_;  // one a loop; the last to be made and the first to go
};

HttpServer::Core::Core(HttpServerOptions options, sys::HttpHandler& handler, std::shared_ptr<const TlsContext> tls,
                       FileDescriptor listener, std::vector<sys::EventLoop*> loops)
    : context_{std::move(options), handler, std::move(tls)},
      loops_(std::move(loops)),
      listener_(std::move(listener)),
      port_(port_of(listener_.get())) {
  for (auto* loop : loops_) shards_.push_back(std::make_unique<HttpShard>(context_, *loop));
}

void HttpServer::Core::start() {
  first().post([self = shared_from_this()] { self->watch_listener(); });
}

void HttpServer::Core::watch_listener() {
  if (stopping_) return;
  listening_ = first().watch_fd(listener_.get(), sys::EventLoop::FdEvent::kReadable, [this] { accept_some(); });
}

void HttpServer::Core::accept_some() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    FileDescriptor fd(
        ::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.get() >= 0) {
      accept_one(std::move(fd), address);
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return;
    // Out of descriptors or memory: the listener stays readable, so looking again at once would only burn the loop.
    sys::log_warning("cannot accept a connection", {{"error", std::strerror(errno)}});
    listening_.reset();
    first().run_after(std::chrono::milliseconds(100), [self = shared_from_this()] { self->watch_listener(); });
    return;
  }
}

void HttpServer::Core::accept_one(FileDescriptor fd, const sockaddr_storage& address) {
  if (++context_.connections > context_.options.max_connections) {
    --context_.connections;
    if (!context_.tls) [[maybe_unused]]
      const auto sent = ::send(fd.get(), kFull.data(), kFull.size(), MSG_NOSIGNAL);
    return;
  }
  const std::size_t index = next_++ % shards_.size();
  if (index == 0) return shards_[0]->adopt(std::move(fd), address_text(address));
  // A task must be copyable, a descriptor must not.
  loops_[index]->post([self = shared_from_this(), index, moved = std::make_shared<FileDescriptor>(std::move(fd)),
                       peer = address_text(address)] { self->shards_[index]->adopt(std::move(*moved), peer); });
}

void HttpServer::Core::stop(Duration grace, sys::Task done) {
  first().post([self = shared_from_this(), grace, done = std::move(done)] { self->begin_drain(grace, done); });
}

void HttpServer::Core::begin_drain(Duration grace, sys::Task done) {
  stopping_ = true;
  listening_.reset();
  listener_.reset();
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
  GW_TRY(FileDescriptor listener, listen_on(options));
  auto core =
      std::make_shared<Core>(std::move(options), handler, std::move(tls), std::move(listener), std::move(loops));
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
