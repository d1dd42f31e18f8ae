// AttachSession: a connection to a container's own streams, through conmon's socket.
//
// conmon sends packets of one byte (2: stdout, 3: stderr) and data, takes stdin as it comes, and cuts off who does not
// read; so output is read and held back here while the session is paused, up to a bound. Belongs to the agent's loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/oci/stream_pump.h"
#include "agent/runtime.h"
#include "base/result.h"
#include "sys/event_loop.h"
#include "sys/file_descriptor.h"

namespace gangway::agent::oci {

class AttachSession final : public ExecSession {
 public:
  // `folder` is the container's: conmon's socket and its control pipe are there.
  AttachSession(sys::EventLoop& loop, std::string folder, ExecSpec spec, ExecCallbacks callbacks);
  ~AttachSession() override;
  AttachSession(const AttachSession&) = delete;
  AttachSession& operator=(const AttachSession&) = delete;

  Result<void> connect();
  // The container has ended; what is still on its way is read first.
  void container_ended(int code);

  void write(std::string bytes) override;
  std::size_t unsent() const override { return stdin_.unsent(); }
  void close_stdin() override { stdin_.close(); }
  void resize(std::uint16_t columns, std::uint16_t rows) override;
  void pause(bool paused) override;
  void kill() override {}

 private:
  void read_packet();
  void deliver();
  void finish_when_read();

  sys::EventLoop& loop_;
  const std::string folder_;
  const ExecSpec spec_;
  ExecCallbacks callbacks_;
  sys::FileDescriptor socket_;
  std::unique_ptr<sys::Subscription> watch_;
  StreamWriter stdin_;
  std::deque<std::pair<int, std::string>> held_;
  std::size_t held_bytes_ = 0;
  bool paused_ = false;
  bool at_end_ = false;
  std::optional<int> code_;
  std::shared_ptr<void> alive_;
};

}  // namespace gangway::agent::oci
