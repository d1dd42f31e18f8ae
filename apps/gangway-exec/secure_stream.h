// SecureStream: one TLS connection to an address, whose certificate must be of a given authority. Blocking.
#pragma once

#include <openssl/ssl.h>

#include <string>

namespace gangway::exec {

class SecureStream {
 public:
  SecureStream() = default;
  ~SecureStream();
  SecureStream(const SecureStream&) = delete;
  SecureStream& operator=(const SecureStream&) = delete;

  // `host` is an IP address. False, with the reason in error(), when there is no connection to whom it should be.
  bool connect(const std::string& host, const std::string& port, const std::string& authority_file);
  bool write(const std::string& bytes);
  // Appends what has come. 1: something has, 0: nothing within `milliseconds`, -1: there is no more.
  int read(std::string& into, int milliseconds);

  const std::string& error() const { return error_; }

 private:
  bool open_socket(const std::string& host, const std::string& port);
  bool fail(const std::string& what);

  int socket_ = -1;
  SSL_CTX* context_ = nullptr;
  SSL* session_ = nullptr;
  std::string error_;
};

}  // namespace gangway::exec
