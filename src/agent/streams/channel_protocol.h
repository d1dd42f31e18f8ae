// Channels in a WebSocket: each message begins with the number of the channel that it belongs to. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sys/http.h"

namespace gangway::agent {

// A dialect of the protocol, by the name that is negotiated.
struct ChannelProtocol {
  std::string_view name;
  bool base64 = false;           // text messages: the channel is a digit, the rest is base64
  bool status_is_object = true;  // else channel 3 has a plain message, and nothing on success
  bool can_close = false;
};
// The first of those that a client offers (a header's value, comma-separated) that we speak. The oldest clients offer
// nothing, and get the oldest dialect.
std::optional<ChannelProtocol> choose_channel_protocol(std::string_view offered);

sys::WebSocketMessage encode_channel(const ChannelProtocol& protocol, unsigned channel, std::string_view bytes);

struct ChannelMessage {
  unsigned channel = 0;
  std::string bytes;
};
// None when the message belongs to no channel.
std::optional<ChannelMessage> decode_channel(const ChannelProtocol& protocol, sys::WebSocketMessage message);

}  // namespace gangway::agent
