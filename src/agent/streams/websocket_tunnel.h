// WebSocketTunnel: a connection that carries bytes, inside the binary messages of a WebSocket. kubectl sends the SPDY
// of a port-forward this way, so that proxies on the way see nothing but a WebSocket.
//
// Belongs to the loop of its connection.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "sys/http.h"

namespace gangway::agent {

class WebSocketTunnel final : public sys::WebSocketSession, public sys::ByteChannel {
 public:
  explicit WebSocketTunnel(std::unique_ptr<sys::ByteSession> inner) : inner_(std::move(inner)) {}

  void on_open(sys::WebSocketChannel& channel) override;
  void on_message(sys::WebSocketMessage message) override { inner_->on_bytes(message.data); }
  void on_drained() override { inner_->on_drained(); }
  void on_close() override;

  void send(std::string_view bytes) override;
  std::size_t unsent() const override { return channel_ != nullptr ? channel_->unsent() : 0; }
  void pause(bool paused) override;
  void close() override;

 private:
  std::unique_ptr<sys::ByteSession> inner_;
  sys::WebSocketChannel* channel_ = nullptr;
};

}  // namespace gangway::agent
