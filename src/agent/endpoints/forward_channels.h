// ForwardChannels: port-forward over the channels of a WebSocket (v4.channel.k8s.io), as browsers and the Python client
// do it. Each port has two channels, data and errors; a first message on each names the port. One connection a port.
//
// Belongs to the loop of its connection, which is the agent's.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "agent/endpoints/forwarding.h"
#include "agent/streams/channel_protocol.h"
#include "sys/http.h"

namespace gangway::agent {

class ForwardChannels final : public sys::WebSocketSession, public ForwardClient {
 public:
  ForwardChannels(std::shared_ptr<Forwarding> forwarding, std::vector<std::uint16_t> ports, ChannelProtocol protocol);

  void on_open(sys::WebSocketChannel& channel) override;
  void on_message(sys::WebSocketMessage message) override;
  void on_drained() override { forwarding_->on_drained(); }
  void on_close() override;

  void write(std::uint32_t connection, std::string_view bytes) override;
  std::size_t unsent() const override;
  void pause_input(bool paused) override;
  void end(std::uint32_t connection) override;
  void fail(std::uint32_t connection, std::string_view message) override;

 private:
  void send(unsigned channel, std::string_view bytes);

  std::shared_ptr<Forwarding> forwarding_;
  const std::vector<std::uint16_t> ports_;
  const ChannelProtocol protocol_;
  std::size_t open_;
  sys::WebSocketChannel* channel_ = nullptr;
};

}  // namespace gangway::agent
