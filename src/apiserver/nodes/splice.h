// Splice: two upgraded connections tied together, the client's and the agent's. Bytes pass both ways unread; who does
// not take them makes the other side wait; when one side ends, so does the other.
//
// Both connections belong to one loop, and so does this. It lives as long as one of its two halves does.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "client/transport.h"
#include "sys/event_loop.h"
#include "sys/http.h"

namespace gangway::apiserver {

class Splice final : public std::enable_shared_from_this<Splice> {
 public:
  // Keeps the transport of the agent's connection until both are done with it.
  Splice(sys::EventLoop& loop, std::unique_ptr<client::Transport> transport);
  ~Splice();
  Splice(const Splice&) = delete;
  Splice& operator=(const Splice&) = delete;

  client::Transport& transport() { return *transport_; }
  // The sessions of the two connections; each is made once. The agent's is opened first.
  std::unique_ptr<sys::ByteSession> agent_half();
  std::unique_ptr<sys::ByteSession> client_half();

 private:
  class Half;
  enum Side : std::size_t { kClient = 0, kAgent = 1 };
  struct End {
    sys::ByteChannel* channel = nullptr;  // while it is open
    bool over = false;
  };

  void open(Side side, sys::ByteChannel& channel);
  void pass(Side from, std::string_view bytes);
  void drained(Side side);
  void close(Side side);

  sys::EventLoop& loop_;
  std::shared_ptr<client::Transport> transport_;
  End ends_[2];
  std::string early_;  // what the agent sent before the client's connection was ready
};

}  // namespace gangway::apiserver
