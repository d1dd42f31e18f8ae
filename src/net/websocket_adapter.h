// WebSocketAdapter: a WebSocketSession on a connection that carries bytes. Frames, pings and the closing handshake are
// done here; the session sees messages. Belongs to one connection and its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/websocket.h"
#include "sys/http.h"

namespace gangway::net {

class WebSocketAdapter final : public sys::ByteSession, public sys::WebSocketChannel {
 public:
  // The server's end: frames that come must be masked, those that go are not.
  WebSocketAdapter(std::unique_ptr<sys::WebSocketSession> session, std::size_t max_message);

  void on_open(sys::ByteChannel& channel) override;
  void on_bytes(std::string_view bytes) override;
  void on_drained() override;
  void on_shutdown() override;
  void on_close() override;

  void send(const sys::WebSocketMessage& message) override;
  std::size_t unsent() const override;
  void pause(bool paused) override;
  void close(std::uint16_t code, std::string_view reason) override;

 private:
  void send_frame(WebSocketOpcode opcode, std::string_view payload);
  void take(WebSocketEvent event);

  std::unique_ptr<sys::WebSocketSession> session_;
  WebSocketReader frames_;
  sys::ByteChannel* channel_ = nullptr;
  bool close_sent_ = false;
};

}  // namespace gangway::net
