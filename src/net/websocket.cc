#include "net/websocket.h"

#include <openssl/sha.h>

#include <algorithm>

#include "base/base64.h"
#include "base/utf8.h"

namespace gangway::net {
namespace {

constexpr std::size_t kMaxControl = 125;

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

bool is_control(WebSocketOpcode opcode) {
  return static_cast<unsigned>(opcode) >= 8;
}

bool known(unsigned opcode) {
  return opcode <= 2 || (opcode >= 8 && opcode <= 10);
}

// RFC 6455, 7.4: which codes a peer may put into a close frame.
bool legal_close(unsigned code) {
  return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) ||
         (code >= 3000 && code <= 4999);
}

std::uint16_t check_close(std::string_view payload) {
  if (payload.empty()) return 0;
  if (payload.size() == 1) return kWebSocketProtocolError;
  if (!legal_close(byte_at(payload, 0) << 8 | byte_at(payload, 1))) return kWebSocketProtocolError;
  return valid_utf8(payload.substr(2)) ? 0 : kWebSocketBadData;
}

void append_frame_header(std::string& out, WebSocketOpcode opcode, std::size_t size, unsigned mask_bit) {
  out.push_back(static_cast<char>(0x80U | static_cast<unsigned>(opcode)));
  if (size < 126) {
    out.push_back(static_cast<char>(mask_bit | size));
    return;
  }
  const int length_bytes = size <= 0xffff ? 2 : 8;
  out.push_back(static_cast<char>(mask_bit | (length_bytes == 2 ? 126U : 127U)));
  for (int i = length_bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(size >> (8 * i) & 0xffU));
}

}  // namespace

bool WebSocketReader::header_complete() const {
  if (header_.size() < 2) return false;
  const unsigned length = byte_at(header_, 1) & 0x7fU;
  std::size_t size = 2;
  if (length == 126) size += 2;
  if (length == 127) size += 8;
  if ((byte_at(header_, 1) & 0x80U) != 0) size += 4;
  return header_.size() == size;
}

std::uint16_t WebSocketReader::begin_frame() {
  const unsigned first = byte_at(header_, 0);
  const unsigned second = byte_at(header_, 1);
  if ((first & 0x70U) != 0 || !known(first & 0x0fU)) return kWebSocketProtocolError;
  if (((second & 0x80U) != 0) != masked_) return kWebSocketProtocolError;
  frame_ = {};
  frame_.final = (first & 0x80U) != 0;
  frame_.opcode = static_cast<WebSocketOpcode>(first & 0x0fU);

  const unsigned short_length = second & 0x7fU;
  const std::size_t length_bytes = short_length == 126 ? 2 : short_length == 127 ? 8 : 0;
  if (length_bytes == 0) frame_.remaining = short_length;
  for (std::size_t i = 0; i < length_bytes; ++i) frame_.remaining = frame_.remaining << 8 | byte_at(header_, 2 + i);
  if (masked_)
    for (std::size_t i = 0; i < 4; ++i)
      frame_.mask[i] = static_cast<std::uint8_t>(byte_at(header_, 2 + length_bytes + i));

  if (is_control(frame_.opcode)) {
    if (!frame_.final || frame_.remaining > kMaxControl) return kWebSocketProtocolError;
    control_.clear();
  } else {
    // A message begins with its type and goes on with continuations.
    if (in_message_ != (frame_.opcode == WebSocketOpcode::kContinuation)) return kWebSocketProtocolError;
    if (!in_message_) message_opcode_ = frame_.opcode;
    in_message_ = true;
    if (frame_.remaining > max_message_ - message_.size()) return kWebSocketTooBig;
  }
  header_.clear();
  in_payload_ = true;
  return 0;
}

void WebSocketReader::take_payload(std::string_view payload) {
  std::string& into = is_control(frame_.opcode) ? control_ : message_;
  const std::size_t start = into.size();
  into.append(payload);
  if (masked_)
    for (std::size_t i = start; i < into.size(); ++i)
      into[i] = static_cast<char>(static_cast<unsigned char>(into[i]) ^ frame_.mask[frame_.mask_at++ & 3U]);
  frame_.remaining -= payload.size();
}

std::uint16_t WebSocketReader::end_frame(std::vector<WebSocketEvent>& events) {
  in_payload_ = false;
  if (is_control(frame_.opcode)) {
    if (frame_.opcode == WebSocketOpcode::kClose)
      if (const std::uint16_t violation = check_close(control_); violation != 0) return violation;
    events.push_back({frame_.opcode, std::move(control_)});
    control_.clear();
    return 0;
  }
  if (!frame_.final) return 0;
  if (message_opcode_ == WebSocketOpcode::kText && !valid_utf8(message_)) return kWebSocketBadData;
  events.push_back({message_opcode_, std::move(message_)});
  message_.clear();
  in_message_ = false;
  return 0;
}

std::uint16_t WebSocketReader::feed(std::string_view bytes, std::vector<WebSocketEvent>& events) {
  while (!bytes.empty()) {
    if (!in_payload_) {
      header_.push_back(bytes.front());
      bytes.remove_prefix(1);
      if (!header_complete()) continue;
      if (const std::uint16_t violation = begin_frame(); violation != 0) return violation;
    } else {
      const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(frame_.remaining, bytes.size()));
      take_payload(bytes.substr(0, take));
      bytes.remove_prefix(take);
    }
    if (in_payload_ && frame_.remaining == 0)
      if (const std::uint16_t violation = end_frame(events); violation != 0) return violation;
  }
  return 0;
}

void append_websocket_frame(std::string& out, WebSocketOpcode opcode, std::string_view payload) {
  append_frame_header(out, opcode, payload.size(), 0);
  out.append(payload);
}

void append_masked_websocket_frame(std::string& out, WebSocketOpcode opcode, std::string_view payload,
                                   std::uint32_t mask) {
  append_frame_header(out, opcode, payload.size(), 0x80U);
  for (int i = 3; i >= 0; --i) out.push_back(static_cast<char>(mask >> (8 * i) & 0xffU));
  for (std::size_t i = 0; i < payload.size(); ++i)
    out.push_back(static_cast<char>(byte_at(payload, i) ^ (mask >> (8 * (3 - i % 4)) & 0xffU)));
}

std::string websocket_close_payload(std::uint16_t code, std::string_view reason) {
  std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xffU)};
  payload.append(reason.substr(0, kMaxControl - 2));
  // Cutting may have split a character.
  while (!valid_utf8(std::string_view(payload).substr(2))) payload.pop_back();
  return payload;
}

std::string websocket_accept(std::string_view key) {
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return base64_encode({reinterpret_cast<const char*>(digest), sizeof digest});
}

}  // namespace gangway::net
