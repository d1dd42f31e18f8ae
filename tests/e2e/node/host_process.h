// HostProcess: a process of this machine behind an ExecSession, with pipes or a terminal. For tests of the endpoints.
//
// It is never signalled: dropping its streams leaves it alone, as the seam demands. Belongs to one loop.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/runtime.h"
#include "sys/event_loop.h"
#include "sys/file_descriptor.h"

namespace gangway::test_node {

struct HostProcessSpec {
  std::vector<std::string> argv;
  bool stdin_open = false;
  bool terminal = false;
};

class HostProcess final : public std::enable_shared_from_this<HostProcess> {
 public:
  HostProcess(sys::EventLoop& loop, agent::ExecCallbacks callbacks) : loop_(loop), callbacks_(std::move(callbacks)) {}

  Result<void> start(const HostProcessSpec& spec);
  pid_t pid() const { return pid_; }

  void write(std::string_view bytes);
  std::size_t unsent() const { return input_.size(); }
  void close_stdin();
  void resize(std::uint16_t columns, std::uint16_t rows);
  void pause(bool paused);
  void kill() const;
  // Nobody hears of it any more; it goes on.
  void drop_streams();

 private:
  struct Output {
    int stream = 1;
    sys::FileDescriptor fd;
    std::unique_ptr<sys::Subscription> watch;
  };
  Result<void> start_with_pipes(const HostProcessSpec& spec);
  Result<void> start_with_terminal(const HostProcessSpec& spec);
  void add_output(int stream, sys::FileDescriptor fd);
  void watch_outputs();
  void on_readable(Output& output);
  void flush();
  void report_if_over();

  sys::EventLoop& loop_;
  agent::ExecCallbacks callbacks_;
  std::shared_ptr<HostProcess> keep_;  // once nobody listens
  pid_t pid_ = 0;
  std::unique_ptr<sys::Subscription> exit_;
  std::vector<std::unique_ptr<Output>> outputs_;
  sys::FileDescriptor stdin_;  // of a terminal: a second handle on it
  std::unique_ptr<sys::Subscription> stdin_watch_;
  std::string input_;
  bool terminal_ = false;
  bool close_wanted_ = false;
  bool paused_ = false;
  bool ended_ = false;
  bool told_ = false;
  int code_ = 0;
};

}  // namespace gangway::test_node
