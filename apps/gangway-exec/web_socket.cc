#include "web_socket.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <strings.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace gangway::exec {
namespace {

constexpr int kText = 1;
constexpr int kBinary = 2;
constexpr int kClose = 8;
constexpr int kPing = 9;
constexpr int kPong = 10;
constexpr int kLongestSilence = 15'000;  // milliseconds
constexpr std::uint64_t kLongestFrame = 16 * 1024 * 1024;
constexpr std::size_t kLongestHeader = 64 * 1024;

std::string base64(const unsigned char* bytes, int count) {
  unsigned char text[64];
  const int length = EVP_EncodeBlock(text, bytes, count);
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(length)};
}

// What a server that understood the question answers to this key: RFC 6455, 4.2.2.
std::string answer_to(const std::string& key) {
  const std::string both = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char hash[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(both.data()), both.size(), hash);
  return base64(hash, sizeof hash);
}

std::string header_value(const std::string& head, const char* name) {
  const std::size_t length = std::strlen(name);
  for (std::size_t at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at + 2)) {
    const char* line = head.c_str() + at + 2;
    if (strncasecmp(line, name, length) != 0 || line[length] != ':') continue;
    const std::size_t begin = head.find_first_not_of(' ', at + 2 + length + 1);
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
  return {};
}

}  // namespace

bool WebSocket::open(const std::string& host, const std::string& target, const std::string& token,
                     const std::string& protocol) {
  unsigned char random[16];
  if (RAND_bytes(random, sizeof random) != 1) return false;
  const std::string key = base64(random, sizeof random);
  if (!stream_.write(
          "GET " + target + " HTTP/1.1\r\nHost: " + host +
          "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key +
          "\r\nSec-WebSocket-Protocol: " + protocol + "\r\nAuthorization: Bearer " + token +
          "\r\nUser-Agent: gangway-exec\r\n\r\n")) {
    error_ = stream_.error();
    return false;
  }
  std::size_t end = std::string::npos;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (received_.size() > kLongestHeader || stream_.read(received_, kLongestSilence) <= 0) {
      error_ = "the server does not answer";
      return false;
    }
  }
  const std::string head = received_.substr(0, end + 2);
  received_.erase(0, end + 4);
  if (head.compare(0, 9, "HTTP/1.1 ") == 0) status_ = std::atoi(head.c_str() + 9);
  if (head.compare(0, 12, "HTTP/1.1 101") != 0) {
    if (received_.empty()) stream_.read(received_, 1000);
    error_ = head.substr(0, head.find("\r\n")) + ": " + received_;
    return false;
  }
  if (header_value(head, "Sec-WebSocket-Accept") != answer_to(key) ||
      header_value(head, "Sec-WebSocket-Protocol") != protocol) {
    error_ = "the server speaks another protocol than " + protocol;
    return false;
  }
  return true;
}

bool WebSocket::read_more() {
  while (true) {
    const int got = stream_.read(received_, kLongestSilence);
    if (got > 0) return true;
    if (got < 0) return false;
    // Whoever stands between the two ends must not take silence for absence.
    if (!send_control(kPing, "")) return false;
  }
}

bool WebSocket::take_frame(int& opcode, bool& is_last, std::string& payload) {
  const auto byte = [&](std::size_t at) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(received_[at]));
  };
  if (received_.size() < 2) return false;
  std::uint64_t length = byte(1) & 0x7f;
  std::size_t header = 2;
  const std::size_t more = length == 126 ? 2 : length == 127 ? 8 : 0;
  if (received_.size() < header + more) return false;
  if (more != 0) length = 0;
  for (std::size_t i = 0; i < more; ++i) length = length << 8 | byte(header++);
  if (length > kLongestFrame) {
    error_ = "a message is too long";
    return false;
  }
  if (received_.size() < header + length) return false;
  opcode = static_cast<int>(byte(0) & 0x0f);
  is_last = (byte(0) & 0x80) != 0;
  payload = received_.substr(header, length);
  received_.erase(0, header + length);
  return true;
}

// A client's frames are masked. Those of control have at most 125 bytes.
bool WebSocket::send_control(int opcode, const std::string& payload) {
  unsigned char mask[4];
  if (RAND_bytes(mask, sizeof mask) != 1) return false;
  std::string frame{static_cast<char>(0x80 | opcode), static_cast<char>(0x80 | payload.size())};
  frame.append(reinterpret_cast<const char*>(mask), sizeof mask);
  for (std::size_t i = 0; i < payload.size(); ++i)
    frame.push_back(static_cast<char>(static_cast<unsigned char>(payload[i]) ^ mask[i % 4]));
  return stream_.write(frame);
}

bool WebSocket::next(std::string& message) {
  message.clear();
  while (true) {
    int opcode = 0;
    bool is_last = false;
    std::string payload;
    while (!take_frame(opcode, is_last, payload))
      if (!error_.empty() || !read_more()) return false;
    if (opcode == kClose) {
      send_control(kClose, payload.substr(0, 2));
      return false;
    }
    if (opcode == kPing && !send_control(kPong, payload)) return false;
    if (opcode != kText && opcode != kBinary && opcode != 0) continue;
    message += payload;
    if (is_last) return true;
  }
}

}  // namespace gangway::exec
