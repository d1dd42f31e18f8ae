// For tests: the connection under a session, as a record of what the session did with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sys/http.h"

namespace gangway::testing {

class RecordedBytes final : public sys::ByteChannel {
 public:
  void send(std::string_view bytes) override { sent += bytes; }
  std::size_t unsent() const override { return backlog; }
  void pause(bool on) override { paused = on; }
  void close() override { closed = true; }

  std::string sent;
  std::size_t backlog = 0;
  bool paused = false;
  bool closed = false;
};

class RecordedMessages final : public sys::WebSocketChannel {
 public:
  void send(const sys::WebSocketMessage& message) override { sent.push_back(message); }
  std::size_t unsent() const override { return backlog; }
  void pause(bool on) override { paused = on; }
  void close(std::uint16_t code, std::string_view) override { closed = code; }

  // What was sent on one channel, put together.
  std::string on(char channel) const {
    std::string out;
    for (const auto& message : sent)
      if (!message.data.empty() && message.data.front() == channel) out += message.data.substr(1);
    return out;
  }

  std::vector<sys::WebSocketMessage> sent;
  std::size_t backlog = 0;
  bool paused = false;
  std::uint16_t closed = 0;
};

}  // namespace gangway::testing
