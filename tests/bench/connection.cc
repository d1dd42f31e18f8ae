#include "connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gangway::bench {
namespace {

// A record is 16 KB at most; several in one read make system calls rare where bodies are long.
constexpr std::size_t kReadBytes = 128 * 1024;

[[noreturn]] void fail_tls(const std::string& what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  fail(what + ": " + text.data());
}

void wait_until_writable(int fd) {
  pollfd entry{fd, POLLOUT, 0};
  if (::poll(&entry, 1, 60'000) <= 0) fail("the server did not take a request within a minute");
}

}  // namespace

void fail(const std::string& message) {
  std::fprintf(stderr, "load_client: %s\n", message.c_str());
  std::exit(1);
}

TlsContext make_context(const Target& target) {
  TlsContext context(SSL_CTX_new(TLS_client_method()));
  auto* c = context.get();
  if (SSL_CTX_load_verify_locations(c, target.ca_file.c_str(), nullptr) != 1) fail_tls(target.ca_file);
  if (SSL_CTX_use_certificate_file(c, target.certificate_file.c_str(), SSL_FILETYPE_PEM) != 1)
    fail_tls(target.certificate_file);
  if (SSL_CTX_use_PrivateKey_file(c, target.key_file.c_str(), SSL_FILETYPE_PEM) != 1) fail_tls(target.key_file);
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(c, SSL_MODE_AUTO_RETRY | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(c, 1);
  SSL_CTX_set_default_read_buffer_len(c, kReadBytes);
  return context;
}

Connection::Connection(SSL_CTX* context, const Target& target) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(target.port);
  if (::inet_pton(AF_INET, target.host.c_str(), &address.sin_addr) != 1) fail(target.host + " is not an IPv4 address");
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail("cannot connect to port " + std::to_string(target.port) + ": " + std::strerror(errno));
  }
  int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ssl_.reset(SSL_new(context));
  SSL_set_fd(ssl_.get(), fd_);
  if (SSL_connect(ssl_.get()) != 1) fail_tls("TLS handshake");
  ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK);
}

Connection::~Connection() {
  if (fd_ >= 0) ::close(fd_);
}

void Connection::send(std::string_view request) {
  reader_.reset();
  while (true) {
    int written = SSL_write(ssl_.get(), request.data(), static_cast<int>(request.size()));
    if (written == static_cast<int>(request.size())) return;
    if (SSL_get_error(ssl_.get(), written) != SSL_ERROR_WANT_WRITE) fail_tls("the connection broke while sending");
    wait_until_writable(fd_);
  }
}

void Connection::advance() {
  static thread_local std::array<char, kReadBytes> buffer;
  while (!reader_.complete()) {
    int got = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (got <= 0) {
      if (SSL_get_error(ssl_.get(), got) == SSL_ERROR_WANT_READ) return;
      fail_tls("the server closed the connection in the middle of a response");
    }
    if (!reader_.feed({buffer.data(), static_cast<std::size_t>(got)})) fail("the server answered with bad HTTP");
  }
}

}  // namespace gangway::bench
