#include "net/http_transport.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "net/client_connection.h"

namespace gangway::net {
namespace {

Error unavailable(std::string message) {
  return Error{.reason = Reason::kServiceUnavailable, .message = std::move(message), .subject = {}, .causes = {}};
}

bool is_clean(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

bool may_repeat(const std::string& method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

Result<std::vector<SocketAddress>> resolve(const HttpEndpoint& endpoint, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (code != 0) return unavailable("cannot resolve " + endpoint.host + ": " + ::gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    SocketAddress address;
    std::memcpy(&address.address, at->ai_addr, at->ai_addrlen);
    address.size = at->ai_addrlen;
    addresses.push_back(address);
  }
  return addresses;
}

}  // namespace

Result<HttpEndpoint> parse_endpoint(const std::string& url) {
  const auto wrong = [&](const char* why) { return bad_request("server \"" + url + "\": " + why); };
  std::string_view rest = url;
  HttpEndpoint endpoint;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    endpoint.tls = false;
  } else {
    return wrong("must begin with https:// or http://");
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find_first_of("/?#@") != std::string_view::npos) return wrong("must be scheme, host and port only");

  std::string_view port;
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return wrong("the address lacks its closing bracket");
    endpoint.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (!rest.empty() && rest.front() != ':') return wrong("a colon must stand between address and port");
    if (!rest.empty()) port = rest.substr(1);
  } else {
    const std::size_t colon = rest.find(':');
    endpoint.host = rest.substr(0, colon);
    if (colon != std::string_view::npos) port = rest.substr(colon + 1);
  }
  if (endpoint.host.empty() || !is_clean(endpoint.host)) return wrong("the host is missing");
  endpoint.port = endpoint.tls ? 443 : 80;
  if (!port.empty()) {
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
    if (error != std::errc() || end != port.data() + port.size() || endpoint.port == 0)
      return wrong("the port is not a number from 1 to 65535");
  }
  return endpoint;
}

// The connections of one transport, and the exchanges that wait for one.
class HttpTransport::Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool(HttpTransportOptions options, HttpEndpoint endpoint, std::shared_ptr<const TlsContext> tls, sys::EventLoop& loop)
      : options_(std::move(options)), endpoint_(std::move(endpoint)), tls_(std::move(tls)), loop_(loop) {
    if (auto numeric = resolve(endpoint_, AI_NUMERICHOST)) addresses_ = std::move(*numeric);
    numeric_ = !addresses_.empty();
  }

  void submit(const std::shared_ptr<Exchange>& exchange);
  void abandon(const std::shared_ptr<Exchange>& exchange);
  void on_pause(const std::shared_ptr<Exchange>& exchange);
  void shut_down();

 private:
  Result<std::string> head_of(const client::HttpClientRequest& request) const;
  void place(const std::shared_ptr<Exchange>& exchange);
  std::shared_ptr<ClientConnection> take_idle();
  void look_up();
  void looked_up(Result<std::vector<SocketAddress>> found);
  void connect(const std::shared_ptr<Exchange>& exchange);
  Result<FileDescriptor> begin_connect(const SocketAddress& to) const;
  void on_free(const std::shared_ptr<ClientConnection>& connection);
  void on_lost(const std::shared_ptr<ClientConnection>& connection, const std::shared_ptr<Exchange>& exchange,
               Error error);
  void drop(std::shared_ptr<ClientConnection> connection);
  std::shared_ptr<ClientConnection> serving(const std::shared_ptr<Exchange>& exchange) const;
  void serve_waiting();

  HttpTransportOptions options_;
  HttpEndpoint endpoint_;
  std::shared_ptr<const TlsContext> tls_;
  sys::EventLoop& loop_;
  bool closed_ = false;
  bool numeric_ = false;
  std::vector<SocketAddress> addresses_;
  std::size_t next_address_ = 0;
  std::thread resolver_;
  bool resolving_ = false;
  std::size_t calls_ = 0;  // connections that serve, or may serve, calls
  std::unordered_set<std::shared_ptr<ClientConnection>> connections_;
  std::vector<std::shared_ptr<ClientConnection>> idle_;  // the one used last is at the end
  std::deque<std::shared_ptr<Exchange>> waiting_;
};

Result<std::string> HttpTransport::Pool::head_of(const client::HttpClientRequest& request) const {
  if (request.target.empty() || request.target.front() != '/' || !is_clean(request.target) ||
      request.target.find(' ') != std::string::npos)
    return bad_request("\"" + request.target + "\" is not a request target");
  const bool v6 = endpoint_.host.find(':') != std::string::npos;
  std::string head = request.method + " " + request.target + " HTTP/1.1\r\nHost: " + (v6 ? "[" : "") + endpoint_.host +
                     (v6 ? "]:" : ":") + std::to_string(endpoint_.port) + "\r\n";
  for (const auto& [name, value] : request.headers.entries()) {
    if (!is_clean(name) || !is_clean(value)) return bad_request("header " + name + " has a line break in it");
    head.append(name).append(": ").append(value).append("\r\n");
  }
  if (options_.bearer_token) {
    const std::string token = options_.bearer_token();
    if (!is_clean(token)) return bad_request("the bearer token has a line break in it");
    if (!token.empty()) head.append("Authorization: Bearer ").append(token).append("\r\n");
  }
  if (!request.body.empty() || !may_repeat(request.method))
    head.append("Content-Length: ").append(std::to_string(request.body.size())).append("\r\n");
  return head + "\r\n";
}

void HttpTransport::Pool::submit(const std::shared_ptr<Exchange>& exchange) {
  auto head = head_of(exchange->request);
  if (!head) {
    loop_.post([exchange, error = head.error()] { exchange->fail(error); });
    return;
  }
  exchange->head = std::move(*head);
  exchange->loop = &loop_;
  if (exchange->request.timeout > Duration::zero())
    exchange->timer = loop_.run_after(exchange->request.timeout, [weak = weak_from_this(), exchange] {
      const auto self = weak.lock();
      if (!self || exchange->over) return;
      Error late = unavailable("no answer from " + self->options_.server + " in time");
      late.reason = Reason::kTimeout;
      self->abandon(exchange);
      exchange->fail(std::move(late));
    });
  // By post, so that even a failure that shows at once arrives after the call has returned.
  loop_.post([weak = weak_from_this(), exchange] {
    if (const auto self = weak.lock()) self->place(exchange);
  });
}

std::shared_ptr<ClientConnection> HttpTransport::Pool::take_idle() {
  const MonoTime oldest = loop_.clock().mono() - options_.idle_timeout;
  while (!idle_.empty()) {
    const auto connection = idle_.back();
    idle_.pop_back();
    if (connection->free_since() >= oldest) return connection;
    drop(connection);
  }
  return nullptr;
}

void HttpTransport::Pool::place(const std::shared_ptr<Exchange>& exchange) {
  if (closed_ || exchange->over) return;
  if (const auto kept = take_idle()) {
    kept->for_stream = exchange->streaming;
    if (exchange->streaming) --calls_;
    return kept->begin(exchange);
  }
  if (!exchange->streaming && calls_ >= options_.max_connections) return waiting_.push_back(exchange);
  if (addresses_.empty()) {
    waiting_.push_back(exchange);
    return look_up();
  }
  connect(exchange);
}

// getaddrinfo() blocks, so it has a thread of its own; there is at most one.
void HttpTransport::Pool::look_up() {
  if (std::exchange(resolving_, true)) return;
  if (resolver_.joinable()) resolver_.join();
  resolver_ = std::thread([weak = weak_from_this(), endpoint = endpoint_, loop = &loop_] {
    auto found = std::make_shared<Result<std::vector<SocketAddress>>>(resolve(endpoint, 0));
    loop->post([weak, found] {
      if (const auto self = weak.lock()) self->looked_up(std::move(*found));
    });
  });
}

void HttpTransport::Pool::looked_up(Result<std::vector<SocketAddress>> found) {
  resolving_ = false;
  if (closed_) return;
  auto waiting = std::exchange(waiting_, {});
  if (found) addresses_ = std::move(*found);
  for (const auto& exchange : waiting) {
    if (found)
      place(exchange);
    else
      exchange->fail(found.error());
  }
}

Result<FileDescriptor> HttpTransport::Pool::begin_connect(const SocketAddress& to) const {
  FileDescriptor fd(::socket(to.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (fd.get() >= 0) ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (fd.get() < 0 ||
      (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to.address), to.size) != 0 && errno != EINPROGRESS))
    return unavailable("cannot connect to " + options_.server + ": " + std::strerror(errno));
  return fd;
}

void HttpTransport::Pool::connect(const std::shared_ptr<Exchange>& exchange) {
  auto fd = begin_connect(addresses_[next_address_ % addresses_.size()]);
  if (!fd) {
    ++next_address_;
    return exchange->fail(fd.error());
  }
  const std::string& name = options_.tls.server_name.empty() ? endpoint_.host : options_.tls.server_name;
  auto socket = tls_ ? Socket(std::move(*fd), *tls_, name) : Socket(std::move(*fd));
  ClientConnection::Events events;
  events.on_free = [this](const auto& connection) { on_free(connection); };
  events.on_lost = [this](const auto& connection, const auto& lost, Error error) {
    on_lost(connection, lost, std::move(error));
  };
  const auto connection =
      std::make_shared<ClientConnection>(loop_, std::move(socket), options_.max_response_bytes, std::move(events));
  connections_.insert(connection);
  connection->for_stream = exchange->streaming;
  if (!exchange->streaming) ++calls_;
  connection->begin(exchange);
  connection->open(options_.connect_timeout);
}

void HttpTransport::Pool::on_free(const std::shared_ptr<ClientConnection>& connection) {
  if (std::exchange(connection->for_stream, false)) ++calls_;
  idle_.push_back(connection);
  serve_waiting();
}

// By value: the caller's may be the one in the set.
void HttpTransport::Pool::drop(std::shared_ptr<ClientConnection> connection) {
  connection->close();
  if (connections_.erase(connection) == 0) return;
  std::erase(idle_, connection);
  if (!connection->for_stream) --calls_;
}

void HttpTransport::Pool::on_lost(const std::shared_ptr<ClientConnection>& connection,
                                  const std::shared_ptr<Exchange>& exchange, Error error) {
  const auto self = shared_from_this();
  drop(connection);
  if (!connection->connected()) ++next_address_;
  if (exchange && !exchange->over) {
    // A name may have addresses that nobody listens on; each gets its chance.
    const bool next_address = !connection->connected() && ++exchange->failed_connects < addresses_.size();
    const bool was_stale = connection->served() > 0 && connection->untouched() && may_repeat(exchange->request.method);
    if (next_address || (was_stale && !std::exchange(exchange->retried, true))) {
      place(exchange);
    } else {
      // The addresses of a name may have changed.
      if (!connection->connected() && !numeric_) addresses_.clear();
      exchange->fail(std::move(error).within("cannot reach " + options_.server));
    }
  }
  serve_waiting();
}

void HttpTransport::Pool::serve_waiting() {
  const auto self = shared_from_this();
  while (!closed_ && !resolving_ && !waiting_.empty() && (!idle_.empty() || calls_ < options_.max_connections)) {
    const auto next = waiting_.front();
    waiting_.pop_front();
    place(next);
  }
}

std::shared_ptr<ClientConnection> HttpTransport::Pool::serving(const std::shared_ptr<Exchange>& exchange) const {
  const auto found = std::find_if(connections_.begin(), connections_.end(),
                                  [&](const auto& connection) { return connection->exchange() == exchange; });
  return found != connections_.end() ? *found : nullptr;
}

void HttpTransport::Pool::on_pause(const std::shared_ptr<Exchange>& exchange) {
  if (const auto connection = serving(exchange)) connection->on_pause();
}

void HttpTransport::Pool::abandon(const std::shared_ptr<Exchange>& exchange) {
  std::erase(waiting_, exchange);
  // The rest of the answer is still to come, so the connection is of no use to anybody else.
  if (const auto connection = serving(exchange)) drop(connection);
  serve_waiting();
}

void HttpTransport::Pool::shut_down() {
  closed_ = true;
  for (const auto& exchange : std::exchange(waiting_, {})) exchange->cancel();
  for (const auto& connection : std::exchange(connections_, {})) {
    if (const auto exchange = connection->exchange()) exchange->cancel();
    connection->close();
  }
  idle_.clear();
  if (resolver_.joinable()) resolver_.join();
}

namespace {

class StreamHandle final : public client::BodySource {
 public:
  StreamHandle(std::shared_ptr<Exchange> exchange, std::function<void()> abandon, std::function<void()> on_pause)
      : exchange_(std::move(exchange)), abandon_(std::move(abandon)), on_pause_(std::move(on_pause)) {}
  ~StreamHandle() override {
    if (exchange_->over) return;
    exchange_->cancel();
    abandon_();
  }
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;
  void pause(bool paused) override {
    if (std::exchange(exchange_->paused, paused) != paused && !exchange_->over) on_pause_();
  }

 private:
  std::shared_ptr<Exchange> exchange_;
  std::function<void()> abandon_;
  std::function<void()> on_pause_;
};

}  // namespace

Result<std::unique_ptr<HttpTransport>> HttpTransport::create(HttpTransportOptions options, sys::EventLoop& loop) {
  GW_TRY(HttpEndpoint endpoint, parse_endpoint(options.server));
  std::shared_ptr<const TlsContext> tls;
  if (endpoint.tls) {
    GW_TRY(tls, TlsContext::for_client(options.tls));
  }
  auto pool = std::make_shared<Pool>(std::move(options), std::move(endpoint), std::move(tls), loop);
  return std::unique_ptr<HttpTransport>(new HttpTransport(std::move(pool)));
}

HttpTransport::HttpTransport(std::shared_ptr<Pool> pool) : pool_(std::move(pool)) {}
HttpTransport::~HttpTransport() {
  pool_->shut_down();
}

void HttpTransport::send(client::HttpClientRequest request, sys::Completion<client::HttpClientResponse> done) {
  auto exchange = std::make_shared<Exchange>();
  exchange->request = std::move(request);
  exchange->done = std::move(done);
  pool_->submit(exchange);
}

std::unique_ptr<client::BodySource> HttpTransport::stream(client::HttpClientRequest request,
                                                          client::StreamCallbacks callbacks) {
  auto exchange = std::make_shared<Exchange>();
  exchange->request = std::move(request);
  exchange->streaming = true;
  exchange->callbacks = std::move(callbacks);
  pool_->submit(exchange);
  return std::make_unique<StreamHandle>(
      exchange,
      [weak = std::weak_ptr(pool_), exchange] {
        if (const auto pool = weak.lock()) pool->abandon(exchange);
      },
      [weak = std::weak_ptr(pool_), exchange] {
        if (const auto pool = weak.lock()) pool->on_pause(exchange);
      });
}

void HttpTransport::upgrade(client::HttpClientRequest request, std::unique_ptr<sys::ByteSession> session,
                            sys::Completion<client::HttpClientResponse> done) {
  auto exchange = std::make_shared<Exchange>();
  exchange->request = std::move(request);
  exchange->session = std::move(session);
  exchange->done = std::move(done);
  pool_->submit(exchange);
}

}  // namespace gangway::net
