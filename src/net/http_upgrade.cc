// HttpConnection: how it stops being one. A WebSocket, or whatever the handler and the client agreed on.
#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "net/http_shard.h"
#include "net/websocket.h"
#include "net/websocket_adapter.h"

namespace gangway::net {

void HttpConnection::start_websocket(sys::HttpResponse&& response) {
  if (websocket_key_.empty()) return answer_error(400, "BadRequest", "the request is not a WebSocket handshake");
  response.headers.add("Upgrade", "websocket");
  response.headers.add("Connection", "Upgrade");
  response.headers.add("Sec-WebSocket-Accept", websocket_accept(websocket_key_));
  if (!response.websocket_protocol.empty())
    response.headers.add("Sec-WebSocket-Protocol", std::move(response.websocket_protocol));
  response.upgrade =
      std::make_unique<WebSocketAdapter>(std::move(response.websocket), shard_.options().max_websocket_message);
  start_upgrade(std::move(response));
}

void HttpConnection::start_upgrade(sys::HttpResponse&& response) {
  std::string& head = shard_.text_scratch();
  head = "HTTP/1.1 101 Switching Protocols\r\n";
  append_headers(head, response.headers);
  head.append("\r\n");
  out_.append(head);
  hand_over(std::move(response.upgrade));
}

void HttpConnection::hand_over(std::unique_ptr<sys::ByteSession> session) {
  state_ = State::kUpgraded;
  keep_alive_ = false;
  // One descriptor has one watch for each direction, and they are the RawConnection's from now on.
  read_watch_.reset();
  write_watch_.reset();
  RawConnection::Options options;
  options.max_unsent = shard_.options().max_pending_write;
  options.linger = shard_.options().linger_timeout;
  raw_ = std::make_shared<RawConnection>(shard_.loop(), std::move(socket_), std::exchange(out_, {}), std::move(session),
                                         options, [this] { close(); });
  // By post: this may be the middle of reading a block, whose rest is what the peer sent early.
  shard_.loop().post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->state_ != State::kUpgraded) return;
    // A session that fails at once lets the connection go.
    const auto raw = self->raw_;
    raw->start(std::exchange(self->input_, {}));
    // A shutdown that began while the handler was at work has not seen this session.
    if (self->shard_.draining()) raw->shut_down();
  });
}

}  // namespace gangway::net
