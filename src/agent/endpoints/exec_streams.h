// ExecStreams: an exec or attach over SPDY (v4.channel.k8s.io): one stream each for stdin, stdout, stderr, the
// terminal's size and how it ended. The command starts when the client has opened all that its request announced.
//
// Belongs to the loop of its connection, which is the agent's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "agent/endpoints/remote_command.h"
#include "agent/streams/spdy_session.h"
#include "sys/event_loop.h"

namespace gangway::agent {

class ExecStreams final : public SpdyHandler, public CommandClient {
 public:
  ExecStreams(Runtime& runtime, ExecSpec spec, sys::EventLoop& loop);
  ~ExecStreams() override;

  void on_open(SpdySession& session) override;
  bool on_stream(std::uint32_t stream, const SpdyHeaders& headers) override;
  void on_data(std::uint32_t stream, std::string_view bytes) override;
  void on_end(std::uint32_t stream) override;
  void on_reset(std::uint32_t stream) override { on_end(stream); }
  void on_drained() override { command_->on_drained(); }
  void on_close() override;

  void write(int stream, std::string_view bytes) override;
  std::size_t unsent() const override;
  void pause_input(bool paused) override;
  void end(const json::Value& status) override;

 private:
  std::uint32_t stream(std::string_view type) const;
  void start();

  sys::EventLoop& loop_;
  const std::size_t expected_;
  std::shared_ptr<RemoteCommand> command_;
  SpdySession* session_ = nullptr;
  std::map<std::string, std::uint32_t, std::less<>> streams_;  // by type
  bool started_ = false;
  std::string early_input_;
  bool input_ended_ = false;
  std::string size_;  // what has come of the terminal's next size
  sys::TimerId timer_ = sys::TimerId::kNone;
};

}  // namespace gangway::agent
