#include "agent/endpoints/forward_channels.h"

#include <string>
#include <utility>

namespace gangway::agent {
namespace {

constexpr std::uint16_t kNormal = 1000;

}  // namespace

ForwardChannels::ForwardChannels(std::shared_ptr<Forwarding> forwarding, std::vector<std::uint16_t> ports,
                                 ChannelProtocol protocol)
    : forwarding_(std::move(forwarding)), ports_(std::move(ports)), protocol_(protocol), open_(ports_.size()) {}

void ForwardChannels::on_open(sys::WebSocketChannel& channel) {
  channel_ = &channel;
  forwarding_->open(*this);
  for (unsigned i = 0; i < ports_.size(); ++i) {
    const std::string name{static_cast<char>(ports_[i] & 0xffU), static_cast<char>(ports_[i] >> 8)};
    send(2 * i, name);
    send(2 * i + 1, name);
    forwarding_->connect(i, ports_[i]);
  }
}

void ForwardChannels::on_message(sys::WebSocketMessage message) {
  const auto decoded = decode_channel(protocol_, std::move(message));
  if (decoded && decoded->channel % 2 == 0) forwarding_->input(decoded->channel / 2, decoded->bytes);
}

void ForwardChannels::on_close() {
  channel_ = nullptr;
  forwarding_->drop();
}

void ForwardChannels::write(std::uint32_t connection, std::string_view bytes) {
  send(2 * connection, bytes);
}

std::size_t ForwardChannels::unsent() const {
  return channel_ != nullptr ? channel_->unsent() : 0;
}

void ForwardChannels::pause_input(bool paused) {
  if (channel_ != nullptr) channel_->pause(paused);
}

// Channels do not end by themselves: the WebSocket does, with the last of them.
void ForwardChannels::end(std::uint32_t connection) {
  forwarding_->close(connection);
  if (--open_ == 0 && channel_ != nullptr) channel_->close(kNormal, "");
}

void ForwardChannels::fail(std::uint32_t connection, std::string_view message) {
  send(2 * connection + 1, message);
  end(connection);
}

void ForwardChannels::send(unsigned channel, std::string_view bytes) {
  if (channel_ != nullptr) channel_->send(encode_channel(protocol_, channel, bytes));
}

}  // namespace gangway::agent
