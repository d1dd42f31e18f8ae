// Forwarding: the connections of one client to the ports of one pod, by number; whatever protocol the client speaks.
//
// Each side makes the other wait. Belongs to the agent's loop; kept by the client's session.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "agent/endpoints/forwarded_port.h"
#include "agent/runtime.h"
#include "sys/event_loop.h"

namespace gangway::agent {

// The client's end of its connections.
class ForwardClient {
 public:
  virtual ~ForwardClient() = default;
  virtual void write(std::uint32_t connection, std::string_view bytes) = 0;
  virtual std::size_t unsent() const = 0;
  virtual void pause_input(bool paused) = 0;
  // The pod sends no more.
  virtual void end(std::uint32_t connection) = 0;
  // It cannot be reached, or broke: what to tell the user.
  virtual void fail(std::uint32_t connection, std::string_view message) = 0;
};

class Forwarding final : public std::enable_shared_from_this<Forwarding> {
 public:
  Forwarding(Runtime& runtime, sys::EventLoop& loop, PodIdentity pod);

  void open(ForwardClient& client) { client_ = &client; }
  // The client is gone.
  void drop();

  void connect(std::uint32_t connection, std::uint16_t port);
  void input(std::uint32_t connection, std::string_view bytes);
  void end_input(std::uint32_t connection);
  // Of no use to the client any more.
  void close(std::uint32_t connection);
  void on_drained();

 private:
  struct Connection {
    std::uint16_t port = 0;
    std::shared_ptr<ForwardedPort> socket;  // null until it is connected
    std::string early;                      // what came before that
    bool early_end = false;
    bool pod_ended = false;
    bool client_ended = false;
  };
  void connected(std::uint32_t connection, Result<int> socket);
  void on_bytes(std::uint32_t connection, std::string_view bytes);
  void on_end(std::uint32_t connection, const std::string& error);
  void fail(std::uint32_t connection, std::string_view reason);
  void balance();
  void forget_if_over(std::uint32_t connection);

  Runtime& runtime_;
  sys::EventLoop& loop_;
  const PodIdentity pod_;
  ForwardClient* client_ = nullptr;
  std::map<std::uint32_t, Connection> connections_;
  bool input_paused_ = false;
  bool output_paused_ = false;
};

}  // namespace gangway::agent
