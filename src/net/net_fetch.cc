#include "net/net_fetch.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "net/http_transport.h"
#include "sys/file_descriptor.h"

namespace gangway::net {
namespace {

constexpr std::size_t kLongestBody = 64 * 1024;
constexpr std::size_t kLongestAnswer = 16 * 1024 * 1024;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

Result<SocketAddress> address_of(const std::string& host, std::uint16_t port) {
  SocketAddress address;
  auto* four = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* six = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    address.length = sizeof(sockaddr_in);
    return address;
  }
  if (inet_pton(AF_INET6, host.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    address.length = sizeof(sockaddr_in6);
    return address;
  }
  return bad_request(fmt::format("\"{}\" is not an address", host));
}

Error dial_error(const std::string& host, std::uint16_t port, std::string_view why) {
  Error error;
  error.reason = Reason::kServiceUnavailable;
  error.message = fmt::format("dial tcp {}:{}: {}", host, port, why);
  return error;
}

// A connection that is being made, and the time that is left for it.
struct Dial {
  sys::FileDescriptor socket;
  std::unique_ptr<sys::Subscription> watch;
  sys::TimerId timer = sys::TimerId::kNone;
  sys::Completion<void> done;
};

void finish(sys::EventLoop& loop, const std::shared_ptr<Dial>& dial, Result<void> result) {
  if (!dial->done) return;
  loop.cancel(dial->timer);
  // By post: the watch may be what calls us, and goes before its descriptor.
  loop.post([dial, told = std::exchange(dial->done, nullptr), result = std::move(result)] {
    dial->watch.reset();
    dial->socket.reset();
    told(result);
  });
}

}  // namespace

void NetFetch::fetch(sys::FetchRequest request, sys::Completion<sys::FetchAnswer> done) {
  HttpTransportOptions options;
  const bool six = request.host.find(':') != std::string::npos;
  options.server = fmt::format("{}://{}{}{}:{}", request.tls ? "https" : "http", six ? "[" : "", request.host,
                               six ? "]" : "", request.port);
  options.tls.skip_verify = true;
  options.max_connections = 1;
  options.max_response_bytes = kLongestAnswer;
  options.connect_timeout = request.timeout;
  auto created = HttpTransport::create(std::move(options), loop_);
  if (!created) {
    loop_.post([done = std::move(done), error = created.error()] { done(error); });
    return;
  }
  std::shared_ptr<HttpTransport> transport = std::move(*created);
  client::HttpClientRequest call;
  call.method = request.method;
  call.target = request.path;
  for (auto& [name, value] : request.headers) call.headers.add(std::move(name), std::move(value));
  call.body = std::move(request.body);
  call.timeout = request.timeout;
  HttpTransport& used = *transport;
  used.send(std::move(call), [transport = std::move(transport), done = std::move(done),
                              &loop = loop_](Result<client::HttpClientResponse> response) mutable {
    // The transport goes after its own callback.
    loop.post([transport = std::move(transport)] {});
    if (!response) return done(response.error());
    sys::FetchAnswer answer;
    answer.status = response->status;
    answer.location = std::string(response->headers.get("Location"));
    answer.body = response->body.substr(0, kLongestBody);
    done(std::move(answer));
  });
}

void NetFetch::connect(std::string host, std::uint16_t port, Duration timeout, sys::Completion<void> done) {
  const auto address = address_of(host, port);
  auto dial = std::make_shared<Dial>();
  dial->done = std::move(done);
  if (!address) return finish(loop_, dial, address.error());
  dial->socket =
      sys::FileDescriptor(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (dial->socket.get() < 0) return finish(loop_, dial, dial_error(host, port, std::strerror(errno)));
  const int result =
      ::connect(dial->socket.get(), reinterpret_cast<const sockaddr*>(&address->storage), address->length);
  if (result == 0) return finish(loop_, dial, {});
  if (errno != EINPROGRESS) return finish(loop_, dial, dial_error(host, port, std::strerror(errno)));
  dial->watch =
      loop_.watch_fd(dial->socket.get(), sys::EventLoop::FdEvent::kWritable, [dial, host, port, &loop = loop_] {
        int error = 0;
        socklen_t size = sizeof(error);
        if (::getsockopt(dial->socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
        finish(loop, dial, error == 0 ? Result<void>() : Result<void>(dial_error(host, port, std::strerror(error))));
      });
  dial->timer = loop_.run_after(
      timeout, [dial, host, port, &loop = loop_] { finish(loop, dial, dial_error(host, port, "i/o timeout")); });
}

}  // namespace gangway::net
