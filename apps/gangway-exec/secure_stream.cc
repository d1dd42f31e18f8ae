#include "secure_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace gangway::exec {
namespace {

constexpr int kChunk = 16 * 1024;

// Long enough that a packet lost on the way does not end a training job, short enough that a dead server is noticed.
void keep_alive(int socket) {
  const int on = 1;
  const int idle = 30;
  const int interval = 10;
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

SecureStream::~SecureStream() {
  if (session_ != nullptr) SSL_free(session_);
  if (context_ != nullptr) SSL_CTX_free(context_);
  if (socket_ >= 0) close(socket_);
}

bool SecureStream::fail(const std::string& what) {
  const unsigned long code = ERR_peek_last_error();
  error_ = what + ": " + (code != 0 ? ERR_reason_error_string(code) : std::strerror(errno));
  return false;
}

bool SecureStream::open_socket(const std::string& host, const std::string& port) {
  sockaddr_in6 six{};
  sockaddr_in four{};
  const auto number = htons(static_cast<in_port_t>(std::atoi(port.c_str())));
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = number;
    socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&four), sizeof four) != 0) return fail("connect to " + host);
  } else if (inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = number;
    socket_ = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&six), sizeof six) != 0) return fail("connect to " + host);
  } else {
    error_ = "not an IP address: " + host;
    return false;
  }
  keep_alive(socket_);
  return true;
}

bool SecureStream::connect(const std::string& host, const std::string& port, const std::string& authority_file) {
  if (!open_socket(host, port)) return false;
  context_ = SSL_CTX_new(TLS_client_method());
  if (context_ == nullptr) return fail("TLS");
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  if (SSL_CTX_load_verify_locations(context_, authority_file.c_str(), nullptr) != 1)
    return fail("read " + authority_file);
  session_ = SSL_new(context_);
  if (session_ == nullptr) return fail("TLS");
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_), host.c_str()) != 1) return fail("TLS");
  SSL_set_fd(session_, socket_);
  return SSL_connect(session_) == 1 || fail("TLS with " + host);
}

bool SecureStream::write(const std::string& bytes) {
  return SSL_write(session_, bytes.data(), static_cast<int>(bytes.size())) > 0 || fail("write");
}

int SecureStream::read(std::string& into, int milliseconds) {
  if (SSL_pending(session_) == 0) {
    pollfd wanted{socket_, POLLIN, 0};
    const int ready = poll(&wanted, 1, milliseconds);
    if (ready == 0 || (ready < 0 && errno == EINTR)) return 0;
    if (ready < 0) return -1;
  }
  char chunk[kChunk];
  const int count = SSL_read(session_, chunk, sizeof chunk);
  if (count <= 0) return -1;
  into.append(chunk, static_cast<std::size_t>(count));
  return 1;
}

}  // namespace gangway::exec
