#include "net/http_shard.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace gangway::net {
namespace {

constexpr std::size_t kReadScratch = 64 * 1024;

void set_option(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof value);
}

void tune(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // A watch's client may vanish without a word; the kernel asks for it, so that the watch ends in about a minute.
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

// Deadlines are looked at often enough that none is missed by more than a quarter of itself.
Duration tick_period(const HttpServerOptions& options) {
  const Duration shortest = std::min({options.handshake_timeout, options.header_timeout, options.body_timeout,
                                      options.idle_timeout, options.stall_timeout, options.linger_timeout});
  return std::clamp<Duration>(shortest / 4, std::chrono::milliseconds(5), std::chrono::seconds(1));
}

}  // namespace

HttpShard::HttpShard(HttpServerContext& context, sys::EventLoop& loop, std::shared_ptr<const TlsContext> tls)
    : context_(context),
      loop_(loop),
      tls_(std::move(tls)),
      read_scratch_(kReadScratch),
      tick_period_(tick_period(context.options)) {}

HttpShard::~HttpShard() {
  close_all();
}

void HttpShard::adopt(FileDescriptor fd, std::string peer_address) {
  if (draining_) {
    --context_.connections;
    return;
  }
  tune(fd.get());
  auto socket = tls_ ? Socket(std::move(fd), *tls_) : Socket(std::move(fd));
  const auto connection = std::make_shared<HttpConnection>(*this, std::move(socket), std::move(peer_address));
  connections_.insert(connection);
  connection->start();
  schedule_tick();
}

void HttpShard::drain(sys::Task on_empty) {
  draining_ = true;
  on_empty_ = std::move(on_empty);
  const std::vector<std::shared_ptr<HttpConnection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->drain();
  if (connections_.empty()) report_empty();
}

void HttpShard::close_all() {
  const std::vector<std::shared_ptr<HttpConnection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->close();
}

std::string_view HttpShard::date() {
  const std::time_t second = std::chrono::floor<std::chrono::seconds>(loop_.clock().wall()).time_since_epoch().count();
  if (second == date_second_ && !date_.empty()) return date_;
  date_second_ = second;
  std::tm parts{};
  ::gmtime_r(&second, &parts);
  char text[64];
  date_.assign(text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts));
  return date_;
}

void HttpShard::wake(std::shared_ptr<HttpConnection> connection) {
  woken_.push_back(std::move(connection));
  if (woken_.size() == 1) loop_.post([this] { run_wakes(); });
}

void HttpShard::run_wakes() {
  const auto woken = std::exchange(woken_, {});
  for (const auto& connection : woken) connection->on_wake();
}

void HttpShard::forget(HttpConnection& connection) {
  if (connections_.erase(connection.shared_from_this()) == 0) return;
  --context_.connections;
  if (connections_.empty()) report_empty();
}

// By post: tasks of ours that still wait in the loop run before it, and nothing of ours runs after it.
void HttpShard::report_empty() {
  if (tick_ != sys::TimerId::kNone) loop_.cancel(std::exchange(tick_, sys::TimerId::kNone));
  if (on_empty_) loop_.post(std::exchange(on_empty_, nullptr));
}

void HttpShard::schedule_tick() {
  if (tick_ != sys::TimerId::kNone || connections_.empty()) return;
  tick_ = loop_.run_after(tick_period_, [this] { tick(); });
}

void HttpShard::tick() {
  tick_ = sys::TimerId::kNone;
  const MonoTime now = this->now();
  const std::vector<std::shared_ptr<HttpConnection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->check_deadlines(now);
  schedule_tick();
}

}  // namespace gangway::net
