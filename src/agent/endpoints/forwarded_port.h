// ForwardedPort: one connection to a port of a pod, and the bytes on their way to it.
//
// It knows a connected socket and nothing of the protocol at the other side. Belongs to the agent's loop; dropping it
// closes the connection.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sys/event_loop.h"
#include "sys/file_descriptor.h"

namespace gangway::agent {

class ForwardedPort final : public std::enable_shared_from_this<ForwardedPort> {
 public:
  // No callback comes from inside a call, nor after the last reference is dropped.
  struct Callbacks {
    std::function<void(std::string_view bytes)> on_bytes;
    // The pod sends no more; an error when the connection broke.
    std::function<void(std::string error)> on_end;
    // All that was written is with the kernel, after unsent() was above zero.
    std::function<void()> on_drained;
  };
  ForwardedPort(sys::EventLoop& loop, sys::FileDescriptor socket, Callbacks callbacks);

  // Begins to read.
  void start();
  void write(std::string_view bytes);
  std::size_t unsent() const { return out_.size() - sent_; }
  // After what was written before.
  void end_write();
  void pause(bool paused);

 private:
  void on_readable();
  void flush();
  void update_watches();
  void fail();

  sys::EventLoop& loop_;
  sys::FileDescriptor socket_;
  Callbacks callbacks_;
  std::unique_ptr<sys::Subscription> read_watch_;
  std::unique_ptr<sys::Subscription> write_watch_;
  std::string out_;
  std::size_t sent_ = 0;
  bool paused_ = false;
  bool input_ended_ = false;
  bool end_wanted_ = false;
  bool write_ended_ = false;
  bool flush_pending_ = false;
};

}  // namespace gangway::agent
