// HTTP as values, so that the API server and the kubelet endpoints need no sockets. src/net carries it over TLS.
//
// A handler runs on the net loop that owns the connection and answers on that same loop, once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sys/event_loop.h"

namespace gangway::sys {

// Header names compare without case.
bool same_header(std::string_view a, std::string_view b);

class HttpHeaders {
 public:
  void add(std::string name, std::string value) { entries_.emplace_back(std::move(name), std::move(value)); }
  // The first value, or "".
  std::string_view get(std::string_view name) const;
  std::vector<std::string_view> all(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& entries() const { return entries_; }

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

// Who is at the other end, as far as TLS knows: the subject of a verified client certificate, or nothing.
struct HttpPeer {
  std::string common_name;                 // empty: no client certificate
  std::vector<std::string> organizations;  // groups
  std::string address;                     // "127.0.0.1:4321"
  std::string certificate_error;           // why the certificate that was offered does not count
};

struct HttpRequest {
  std::string method;
  std::string target;  // path and query, as sent
  HttpHeaders headers;
  std::string body;
  HttpPeer peer;
};

// A piece of a body; shared, so that one object's bytes are sent to a hundred watchers without a copy.
using Buffer = std::shared_ptr<const std::string>;
Buffer make_buffer(std::string bytes);

// A body that goes on: watches, followed logs. The connection pulls, so a slow reader costs a cursor, not a queue.
class BodyStream {
 public:
  virtual ~BodyStream() = default;
  enum class State : std::uint8_t {
    kMore,  // there is more right now
    kWait,  // nothing more until the waker runs
    kEnd,   // that was all; the connection may be reused
  };
  // Appends what is ready to `out`, about `max_bytes` at most. Each call's buffers go out as one chunk.
  virtual State read(std::vector<Buffer>& out, std::size_t max_bytes) = 0;
  // The connection's waker. The stream runs it, on the connection's loop, when a read after kWait may give more.
  virtual void set_waker(Task waker) = 0;
  // Whether the reader may take nothing for as long as it likes (a pager that shows a log); others are cut off.
  virtual bool may_stall() const { return false; }
};

// The connection under a session that has left HTTP behind. Valid from on_open to on_close, on the connection's loop.
class ByteChannel {
 public:
  virtual ~ByteChannel() = default;
  virtual void send(std::string_view bytes) = 0;
  // What the peer has not taken yet. Who sees much of it waits for on_drained before sending more.
  virtual std::size_t unsent() const = 0;
  // While paused nothing is read, so that the peer has to wait.
  virtual void pause(bool paused) = 0;
  // Closes once all is sent. Nothing more is heard of the peer.
  virtual void close() = 0;
};

// What happens on such a connection, whichever end opened it.
class ByteSession {
 public:
  virtual ~ByteSession() = default;
  virtual void on_open(ByteChannel& channel) = 0;
  virtual void on_bytes(std::string_view bytes) = 0;
  // All is sent, after unsent() was above zero.
  virtual void on_drained() {}
  // The server ends soon, and the connection with it.
  virtual void on_shutdown() = 0;
  // Last of all, once for every on_open.
  virtual void on_close() = 0;
};

struct WebSocketMessage {
  bool binary = true;
  std::string data;
};

// As ByteChannel and ByteSession, in whole messages.
class WebSocketChannel {
 public:
  virtual ~WebSocketChannel() = default;
  virtual void send(const WebSocketMessage& message) = 0;
  virtual std::size_t unsent() const = 0;
  virtual void pause(bool paused) = 0;
  virtual void close(std::uint16_t code, std::string_view reason) = 0;
};

class WebSocketSession {
 public:
  virtual ~WebSocketSession() = default;
  virtual void on_open(WebSocketChannel& channel) = 0;
  virtual void on_message(WebSocketMessage message) = 0;
  virtual void on_drained() {}
  virtual void on_close() = 0;
};

struct HttpResponse {
  int status = 200;
  HttpHeaders headers;                          // without Content-Length and Transfer-Encoding
  std::vector<Buffer> body;                     // sent in order
  std::unique_ptr<BodyStream> stream;           // when set, follows `body` in chunked encoding
  std::unique_ptr<WebSocketSession> websocket;  // when set (status 101), the connection becomes a WebSocket
  std::string websocket_protocol;               // the subprotocol that was chosen
  std::unique_ptr<ByteSession> upgrade;         // when set (status 101), it becomes what `headers` say
};

// Takes the response over. Called once.
using Respond = std::function<void(HttpResponse&&)>;

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  virtual void handle(HttpRequest request, EventLoop& here, Respond respond) = 0;
};

}  // namespace gangway::sys
