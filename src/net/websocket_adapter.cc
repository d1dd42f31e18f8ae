#include "net/websocket_adapter.h"

#include <exception>
#include <utility>
#include <vector>

#include "sys/log.h"

namespace gangway::net {
namespace {

constexpr std::uint16_t kInternalError = 1011;

}  // namespace

WebSocketAdapter::WebSocketAdapter(std::unique_ptr<sys::WebSocketSession> session, std::size_t max_message)
    : session_(std::move(session)), frames_(true, max_message) {}

void WebSocketAdapter::on_open(sys::ByteChannel& channel) {
  channel_ = &channel;
  session_->on_open(*this);
}

void WebSocketAdapter::on_bytes(std::string_view bytes) {
  std::vector<WebSocketEvent> events;
  const std::uint16_t violation = frames_.feed(bytes, events);
  for (auto& event : events) {
    if (close_sent_) return;
    take(std::move(event));
  }
  if (violation != 0) close(violation, "");
}

void WebSocketAdapter::take(WebSocketEvent event) {
  switch (event.opcode) {
    case WebSocketOpcode::kPing:
      return send_frame(WebSocketOpcode::kPong, event.data);
    case WebSocketOpcode::kPong:
      return;
    case WebSocketOpcode::kClose:
      close_sent_ = true;
      send_frame(WebSocketOpcode::kClose, event.data);
      return channel_->close();
    default:
      break;
  }
  try {
    session_->on_message({event.opcode == WebSocketOpcode::kBinary, std::move(event.data)});
  } catch (const std::exception& e) {
    sys::log_error("a WebSocket session failed", {{"error", e.what()}});
    close(kInternalError, "internal error");
  }
}

void WebSocketAdapter::on_drained() {
  if (!close_sent_) session_->on_drained();
}

void WebSocketAdapter::on_shutdown() {
  close(kWebSocketGoingAway, "the server shuts down");
}

void WebSocketAdapter::on_close() {
  close_sent_ = true;
  session_->on_close();
  channel_ = nullptr;
}

void WebSocketAdapter::send(const sys::WebSocketMessage& message) {
  if (close_sent_) return;
  send_frame(message.binary ? WebSocketOpcode::kBinary : WebSocketOpcode::kText, message.data);
}

std::size_t WebSocketAdapter::unsent() const {
  return channel_ != nullptr ? channel_->unsent() : 0;
}

void WebSocketAdapter::pause(bool paused) {
  if (channel_ != nullptr) channel_->pause(paused);
}

void WebSocketAdapter::close(std::uint16_t code, std::string_view reason) {
  if (std::exchange(close_sent_, true)) return;
  send_frame(WebSocketOpcode::kClose, websocket_close_payload(code, reason));
  // The peer's own close frame is awaited while the connection lingers, and not looked at.
  channel_->close();
}

void WebSocketAdapter::send_frame(WebSocketOpcode opcode, std::string_view payload) {
  std::string frame;
  append_websocket_frame(frame, opcode, payload);
  channel_->send(frame);
}

}  // namespace gangway::net
