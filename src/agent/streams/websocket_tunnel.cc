#include "agent/streams/websocket_tunnel.h"

#include <string>

namespace gangway::agent {
namespace {

constexpr std::uint16_t kNormal = 1000;
// Peers read a message as a whole.
constexpr std::size_t kMaxMessage = 32 * 1024;

}  // namespace

void WebSocketTunnel::on_open(sys::WebSocketChannel& channel) {
  channel_ = &channel;
  inner_->on_open(*this);
}

void WebSocketTunnel::on_close() {
  inner_->on_close();
  channel_ = nullptr;
}

void WebSocketTunnel::send(std::string_view bytes) {
  while (channel_ != nullptr && !bytes.empty()) {
    const auto part = bytes.substr(0, kMaxMessage);
    bytes.remove_prefix(part.size());
    channel_->send({true, std::string(part)});
  }
}

void WebSocketTunnel::pause(bool paused) {
  if (channel_ != nullptr) channel_->pause(paused);
}

void WebSocketTunnel::close() {
  if (channel_ != nullptr) channel_->close(kNormal, "");
}

}  // namespace gangway::agent
