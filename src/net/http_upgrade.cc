// HttpConnection: as a WebSocket.
#include <fmt/format.h>

#include <exception>
#include <iterator>
#include <utility>

#include "net/http_shard.h"
#include "sys/log.h"

namespace gangway::net {
namespace {

constexpr std::uint16_t kInternalError = 1011;

}  // namespace

void HttpConnection::start_websocket(sys::HttpResponse&& response) {
  if (websocket_key_.empty()) return answer_error(400, "BadRequest", "the request is not a WebSocket handshake");
  std::string& head = shard_.text_scratch();
  head.clear();
  fmt::format_to(std::back_inserter(head),
                 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Accept: {}\r\n",
                 websocket_accept(websocket_key_));
  if (!response.websocket_protocol.empty())
    fmt::format_to(std::back_inserter(head), "Sec-WebSocket-Protocol: {}\r\n", response.websocket_protocol);
  head.append("\r\n");
  out_.append(head);
  state_ = State::kWebSocket;
  keep_alive_ = false;
  frames_ = std::make_unique<WebSocketReader>(true, shard_.options().max_websocket_message);
  session_ = std::move(response.websocket);
  flush();
  if (state_ != State::kWebSocket) return;

  const auto weak = weak_from_this();
  const auto send = [weak](sys::WebSocketSession::Message message) {
    const auto self = weak.lock();
    if (!self || self->state_ != State::kWebSocket || self->close_sent_) return;
    self->send_frame(message.binary ? WebSocketOpcode::kBinary : WebSocketOpcode::kText, message.data);
  };
  const auto end = [weak](std::uint16_t code, const std::string& reason) {
    if (const auto self = weak.lock()) self->close_websocket(code, reason);
  };
  try {
    session_->on_open(send, end);
  } catch (const std::exception& e) {
    sys::log_error("a WebSocket session failed to open", {{"error", e.what()}});
    close_websocket(kInternalError, "internal error");
  }
  // A shutdown that began while the handler was at work has not seen this session.
  if (shard_.draining()) return close_websocket(kWebSocketGoingAway, "the server shuts down");
  if (!advancing_ && state_ == State::kWebSocket && !input_.empty()) take_frames(std::exchange(input_, {}));
}

void HttpConnection::take_frames(std::string_view bytes) {
  std::vector<WebSocketEvent> events;
  const std::uint16_t violation = frames_->feed(bytes, events);
  for (auto& event : events) {
    if (state_ != State::kWebSocket) return;
    switch (event.opcode) {
      case WebSocketOpcode::kPing:
        send_frame(WebSocketOpcode::kPong, event.data);
        break;
      case WebSocketOpcode::kPong:
        break;
      case WebSocketOpcode::kClose:
        if (!std::exchange(close_sent_, true)) send_frame(WebSocketOpcode::kClose, event.data);
        end_session();
        if (state_ == State::kWebSocket) linger();
        return;
      default:
        if (close_sent_ || !session_) break;
        try {
          session_->on_message({event.opcode == WebSocketOpcode::kBinary, std::move(event.data)});
        } catch (const std::exception& e) {
          sys::log_error("a WebSocket session failed", {{"error", e.what()}});
          close_websocket(kInternalError, "internal error");
        }
    }
  }
  if (violation == 0 || state_ != State::kWebSocket) return;
  close_websocket(violation, "");
  // What follows a violation cannot be understood, not even as an answer to our close.
  end_session();
  if (state_ == State::kWebSocket) linger();
}

void HttpConnection::send_frame(WebSocketOpcode opcode, std::string_view payload) {
  std::string& frame = shard_.text_scratch();
  frame.clear();
  append_websocket_frame(frame, opcode, payload);
  out_.append(frame);
  // The caller may be inside a callback of its session, which a failing write would end: writing is for the next turn.
  request_wake();
}

void HttpConnection::close_websocket(std::uint16_t code, std::string_view reason) {
  if (state_ != State::kWebSocket || std::exchange(close_sent_, true)) return;
  const auto self = shared_from_this();
  send_frame(WebSocketOpcode::kClose, websocket_close_payload(code, reason));
  deadline_ = shard_.now() + shard_.options().linger_timeout;
}

void HttpConnection::end_session() {
  // on_close() may let go of what keeps the session's world alive, so the session is ours alone by then.
  const auto session = std::move(session_);
  if (!session) return;
  try {
    session->on_close();
  } catch (const std::exception& e) {
    sys::log_error("a WebSocket session failed to close", {{"error", e.what()}});
  }
}

}  // namespace gangway::net
