// StreamReader and StreamWriter: the two directions of a session's streams, between descriptors and callbacks.
//
// Both belong to the loop's thread and to one session, which outlives what it was called from.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "sys/event_loop.h"
#include "sys/file_descriptor.h"

namespace gangway::agent::oci {

class StreamReader {
 public:
  explicit StreamReader(sys::EventLoop& loop) : loop_(loop) {}
  // `on_bytes` gets what is read; `on_end` is called once, when there will be no more.
  void open(sys::FileDescriptor fd, std::function<void(std::string)> on_bytes, std::function<void()> on_end);
  // While paused nothing is read.
  void pause(bool paused);
  // Reads what is there now, and no more than that: what others may still write does not hold the caller up.
  void drain();
  bool ended() const { return !fd_; }

 private:
  void listen();
  void read_some(std::size_t at_most);

  sys::EventLoop& loop_;
  sys::FileDescriptor fd_;
  std::function<void(std::string)> on_bytes_;
  std::function<void()> on_end_;
  std::unique_ptr<sys::Subscription> watch_;
  bool paused_ = false;
};

class StreamWriter {
 public:
  explicit StreamWriter(sys::EventLoop& loop) : loop_(loop) {}
  // `fd` is not owned: a terminal's is also read. `on_drained` after unsent() was above zero; `on_closed` after
  // close(), when everything was written or nobody reads any more.
  void open(int fd, std::function<void()> on_drained, std::function<void()> on_closed);
  // What is written before open() waits for it.
  void write(std::string bytes);
  void close();
  // Drops what waits.
  void abandon();
  std::size_t unsent() const { return waiting_.size(); }

 private:
  void flush();
  void finish();

  sys::EventLoop& loop_;
  int fd_ = -1;
  std::function<void()> on_drained_;
  std::function<void()> on_closed_;
  std::unique_ptr<sys::Subscription> watch_;
  std::string waiting_;
  bool closing_ = false;
  bool done_ = false;
};

}  // namespace gangway::agent::oci
