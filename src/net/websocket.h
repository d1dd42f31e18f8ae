// WebSocket frames (RFC 6455) to and from bytes. No sockets and no waiting: this is what the fuzzer feeds.
// A reader belongs to one connection and its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::net {

enum class WebSocketOpcode : std::uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10,
};

// Close codes that we send of our own accord.
constexpr std::uint16_t kWebSocketNormal = 1000;
constexpr std::uint16_t kWebSocketGoingAway = 1001;
constexpr std::uint16_t kWebSocketProtocolError = 1002;
constexpr std::uint16_t kWebSocketBadData = 1007;
constexpr std::uint16_t kWebSocketTooBig = 1009;

// A whole message, or a control frame.
struct WebSocketEvent {
  WebSocketOpcode opcode = WebSocketOpcode::kBinary;
  std::string data;
};

class WebSocketReader {
 public:
  // A server takes only masked frames, a client only unmasked ones.
  WebSocketReader(bool masked, std::size_t max_message) : masked_(masked), max_message_(max_message) {}

  // Takes all of `bytes`, appends what became complete, and returns 0 or the close code of a violation, after which
  // nothing more may be fed.
  std::uint16_t feed(std::string_view bytes, std::vector<WebSocketEvent>& events);

 private:
  struct Frame {
    bool final = false;
    WebSocketOpcode opcode = WebSocketOpcode::kContinuation;
    std::uint64_t remaining = 0;
    std::uint8_t mask[4] = {0, 0, 0, 0};
    std::size_t mask_at = 0;
  };

  bool header_complete() const;
  std::uint16_t begin_frame();
  void take_payload(std::string_view payload);
  std::uint16_t end_frame(std::vector<WebSocketEvent>& events);

  bool masked_;
  std::size_t max_message_;
  std::string header_;
  bool in_payload_ = false;
  Frame frame_;
  bool in_message_ = false;
  WebSocketOpcode message_opcode_ = WebSocketOpcode::kBinary;
  std::string message_;
  std::string control_;
};

// Appends one unmasked final frame.
void append_websocket_frame(std::string& out, WebSocketOpcode opcode, std::string_view payload);
// Appends one final frame masked with `mask`, as clients must.
void append_masked_websocket_frame(std::string& out, WebSocketOpcode opcode, std::string_view payload,
                                   std::uint32_t mask);
// The payload of a close frame.
std::string websocket_close_payload(std::uint16_t code, std::string_view reason);
// Sec-WebSocket-Accept for a Sec-WebSocket-Key.
std::string websocket_accept(std::string_view key);

}  // namespace gangway::net
