#include "agent/streams/channel_protocol.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/base64.h"

namespace gangway::agent {
namespace {

constexpr ChannelProtocol kProtocols[] = {
    {.name = "v5.channel.k8s.io", .can_close = true},
    {.name = "v4.channel.k8s.io"},
    {.name = "v4.base64.channel.k8s.io", .base64 = true},
    {.name = "channel.k8s.io", .status_is_object = false},
    {.name = "base64.channel.k8s.io", .base64 = true, .status_is_object = false},
};

}  // namespace

std::optional<ChannelProtocol> choose_channel_protocol(std::string_view offered) {
  if (offered.find_first_not_of(" ,") == std::string_view::npos)
    return ChannelProtocol{.name = "", .status_is_object = false};
  while (!offered.empty()) {
    auto name = offered.substr(0, offered.find(','));
    offered.remove_prefix(std::min(offered.size(), name.size() + 1));
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    name = name.substr(0, name.find(' '));
    const auto* found = std::find_if(std::begin(kProtocols), std::end(kProtocols),
                                     [&](const ChannelProtocol& protocol) { return protocol.name == name; });
    if (found != std::end(kProtocols)) return *found;
  }
  return std::nullopt;
}

sys::WebSocketMessage encode_channel(const ChannelProtocol& protocol, unsigned channel, std::string_view bytes) {
  std::string data;
  data.reserve(bytes.size() + 1);
  data += static_cast<char>(protocol.base64 ? '0' + channel : channel);
  if (protocol.base64)
    data += base64_encode(bytes);
  else
    data += bytes;
  return {!protocol.base64, std::move(data)};
}

std::optional<ChannelMessage> decode_channel(const ChannelProtocol& protocol, sys::WebSocketMessage message) {
  if (message.data.empty()) return std::nullopt;
  ChannelMessage decoded;
  decoded.channel = static_cast<unsigned char>(message.data.front());
  decoded.bytes = std::move(message.data);
  decoded.bytes.erase(0, 1);
  if (!protocol.base64) return decoded;
  auto bytes = base64_decode(decoded.bytes);
  if (!bytes || decoded.channel < '0' || decoded.channel > '9') return std::nullopt;
  decoded.channel -= '0';
  decoded.bytes = std::move(*bytes);
  return decoded;
}

}  // namespace gangway::agent
