// Socket: a connected, non-blocking TCP socket, plain or TLS. It never waits: each call does what it can and says what
// to wait for. TlsContext: the keys and rules that a TLS socket is made from.
//
// A Socket belongs to one loop. A TlsContext is immutable and shared by all loops.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sys/file_descriptor.h"
#include "sys/http.h"
#include "sys/tls.h"

struct ssl_st;
struct ssl_ctx_st;

namespace gangway::net {

class TlsContext {
 public:
  static Result<std::shared_ptr<const TlsContext>> for_server(const sys::TlsServerConfig& config);
  static Result<std::shared_ptr<const TlsContext>> for_client(const sys::TlsClientConfig& config);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

 private:
  friend class Socket;
  TlsContext(ssl_ctx_st* context, bool server) : context_(context), server_(server) {}
  ssl_ctx_st* context_;
  bool server_;
};

using sys::FileDescriptor;

class Socket {
 public:
  enum class Status : std::uint8_t {
    kOk,
    kWantRead,   // call again when the descriptor is readable
    kWantWrite,  // call again when it is writable
    kEnd,        // the peer sends no more
    kFailed,     // the connection is of no use any more
  };
  struct Io {
    Status status = Status::kOk;
    std::size_t bytes = 0;
  };

  explicit Socket(FileDescriptor fd);
  // A TLS socket; handshake() comes first. A client gives the name or address that the certificate must be for.
  Socket(FileDescriptor fd, const TlsContext& tls, const std::string& server_name = {});
  ~Socket();
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) = delete;

  int fd() const { return fd_.get(); }
  bool tls() const { return ssl_ != nullptr; }
  Status handshake();
  Io read(std::span<char> into);
  // Whether bytes wait inside the TLS layer, where no poll can see them.
  bool has_buffered() const;
  // After kWantWrite the next call must start with the same bytes.
  Io write(std::string_view bytes);
  // Tells the peer that we send no more.
  void shutdown_write();
  // The verified client certificate's subject, or why it was refused. Valid after the handshake.
  void describe_peer(sys::HttpPeer& peer) const;
  // Why the last call failed, for a log or an error.
  std::string last_error() const;

 private:
  Status failed(int result);

  FileDescriptor fd_;
  ssl_st* ssl_ = nullptr;
  bool dead_ = false;
  std::string error_;
};

}  // namespace gangway::net
