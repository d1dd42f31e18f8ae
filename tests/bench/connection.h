// Connection: one keep-alive HTTPS connection of the load client, with one request at a time.
//
// Connecting blocks; after that the socket does not, and the owner polls it for reading. Belongs to one thread.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "response_reader.h"

namespace gangway::bench {

struct Target {
  std::string host;  // a numeric IPv4 address
  std::uint16_t port = 0;
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
};

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeContext>;

// The functions here end the program with a message when something fails: a load test has nothing to recover to.
TlsContext make_context(const Target& target);

class Connection {
 public:
  Connection(SSL_CTX* context, const Target& target);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd() const { return fd_; }
  // Sends a request; its response is then read by advance().
  void send(std::string_view request);
  // Reads what has arrived, up to the end of the response.
  void advance();
  const ResponseReader& response() const { return reader_; }

 private:
  int fd_ = -1;
  std::unique_ptr<SSL, FreeContext> ssl_;
  ResponseReader reader_;
};

[[noreturn]] void fail(const std::string& message);

}  // namespace gangway::bench
