// ExecChannels: an exec or attach over a WebSocket, whose messages begin with the number of a channel.
//
//   0 stdin   1 stdout   2 stderr   3 how it ended   4 the terminal's size   255 (v5): the channel named next is closed
//
// Belongs to the loop of its connection, which is the agent's.
#pragma once

#include <memory>
#include <string_view>

#include "agent/endpoints/remote_command.h"
#include "agent/streams/channel_protocol.h"
#include "sys/http.h"

namespace gangway::agent {

class ExecChannels final : public sys::WebSocketSession, public CommandClient {
 public:
  ExecChannels(Runtime& runtime, ExecSpec spec, ChannelProtocol protocol);

  void on_open(sys::WebSocketChannel& channel) override;
  void on_message(sys::WebSocketMessage message) override;
  void on_drained() override { command_->on_drained(); }
  void on_close() override;

  void write(int stream, std::string_view bytes) override;
  std::size_t unsent() const override;
  void pause_input(bool paused) override;
  void end(const json::Value& status) override;

 private:
  void send(unsigned channel, std::string_view bytes);

  const ChannelProtocol protocol_;
  const bool out_;
  const bool err_;
  std::shared_ptr<RemoteCommand> command_;
  sys::WebSocketChannel* channel_ = nullptr;
};

}  // namespace gangway::agent
