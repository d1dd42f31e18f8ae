// ExecProcess: a process that was started in a running container, and its streams.
//
//   spawn gangway-init --exec ── "failed" ─► on_failure
//        │ "started PID"
//        ▼
//   output, input, resize ── "exited CODE" ─► what is left of the output ─► on_exit
//
// It lives until the process and its streams have ended, whoever still listens: a session that was lost must neither
// signal the process nor close the pipe it writes to. ExecHandle is what the caller holds. Belongs to the agent's loop.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/oci/stream_pump.h"
#include "agent/runtime.h"
#include "base/result.h"
#include "sys/event_loop.h"
#include "sys/file_descriptor.h"

namespace gangway::agent::oci {

struct ExecRequest {
  std::string init;                  // the path of gangway-init on the machine
  std::vector<std::string> runtime;  // {"/usr/sbin/runc", "--root", "…"}
  std::string runtime_id;
  std::string folder;  // where the pid file and the console's socket may be made
  ExecSpec spec;
};

class ExecProcess : public std::enable_shared_from_this<ExecProcess> {
 public:
  ExecProcess(sys::EventLoop& loop, ExecRequest request, ExecCallbacks callbacks);
  ~ExecProcess();
  ExecProcess(const ExecProcess&) = delete;
  ExecProcess& operator=(const ExecProcess&) = delete;

  // `on_gone` when nothing of it is left.
  Result<void> start(std::function<void()> on_gone);

  void write(std::string bytes) { stdin_.write(std::move(bytes)); }
  std::size_t unsent() const { return stdin_.unsent(); }
  void close_stdin() { stdin_.close(); }
  void resize(std::uint16_t columns, std::uint16_t rows);
  void pause(bool paused);
  void kill();
  // Nobody listens any more. Output is read and dropped from now on.
  void abandon();

 private:
  Result<void> start_with_pipes();
  Result<void> start_with_terminal();
  Result<void> spawn_shim(std::vector<std::string> options, std::vector<int> streams);
  void accept_terminal();
  void on_status(std::string_view line);
  void on_bytes(int stream, std::string bytes);
  void on_stream_end();
  void finish_when_read();
  void go_when_ended();

  sys::EventLoop& loop_;
  const ExecRequest request_;
  ExecCallbacks callbacks_;
  std::function<void()> on_gone_;
  bool listened_ = true;

  StreamWriter stdin_;
  StreamReader out_;
  StreamReader err_;
  StreamReader status_;
  std::string status_line_;
  sys::FileDescriptor stdin_end_;  // the pipe's
  sys::FileDescriptor terminal_;   // to resize; `out_` has its own
  sys::FileDescriptor console_;    // where runc sends the terminal
  sys::FileDescriptor folder_;     // what the console's path is short by
  std::string console_path_;
  std::unique_ptr<sys::Subscription> console_watch_;
  std::unique_ptr<sys::Subscription> shim_exit_;

  pid_t pid_ = 0;  // zero until it was started, and again when it has ended
  bool kill_wanted_ = false;
  bool paused_ = false;
  std::pair<std::uint16_t, std::uint16_t> size_{0, 0};
  std::vector<std::pair<int, std::string>> early_;  // output before we know that this is the process's own
  bool started_ = false;
  std::optional<int> code_;
  bool answered_ = false;
};

class ExecHandle final : public ExecSession {
 public:
  explicit ExecHandle(std::shared_ptr<ExecProcess> process) : process_(std::move(process)) {}
  ~ExecHandle() override { process_->abandon(); }
  ExecHandle(const ExecHandle&) = delete;
  ExecHandle& operator=(const ExecHandle&) = delete;

  void write(std::string bytes) override { process_->write(std::move(bytes)); }
  std::size_t unsent() const override { return process_->unsent(); }
  void close_stdin() override { process_->close_stdin(); }
  void resize(std::uint16_t columns, std::uint16_t rows) override { process_->resize(columns, rows); }
  void pause(bool paused) override { process_->pause(paused); }
  void kill() override { process_->kill(); }

 private:
  std::shared_ptr<ExecProcess> process_;
};

}  // namespace gangway::agent::oci
