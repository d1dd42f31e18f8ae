// RemoteCommand: one exec or attach, between a process of the runtime and a client, whatever protocol the client
// speaks.
//
// Each side makes the other wait: a client that does not read stops the process's output, a process that does not read
// stops the client's input. When the client is lost the process goes on. Belongs to the agent's loop; kept by the
// client's session.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "agent/runtime.h"
#include "json/value.h"

namespace gangway::agent {

// The client's end. It outlives neither its connection nor drop().
class CommandClient {
 public:
  virtual ~CommandClient() = default;
  virtual void write(int stream, std::string_view bytes) = 0;
  virtual std::size_t unsent() const = 0;
  // Whether input is to wait.
  virtual void pause_input(bool paused) = 0;
  // Last of all: a metav1.Status that says how it ended.
  virtual void end(const json::Value& status) = 0;
};

class RemoteCommand final : public std::enable_shared_from_this<RemoteCommand> {
 public:
  RemoteCommand(Runtime& runtime, ExecSpec spec);

  void start(CommandClient& client);
  // The client is gone.
  void drop();

  // From the client.
  void input(std::string_view bytes);
  void end_input();
  // {"Width":80,"Height":24}; anything else is passed over.
  void resize(std::string_view text);
  void on_drained();

 private:
  void finish(const json::Value& status);

  Runtime& runtime_;
  ExecSpec spec_;
  CommandClient* client_ = nullptr;
  std::shared_ptr<ExecSession> session_;
  bool output_paused_ = false;
  bool input_paused_ = false;
};

// How a command ended, as kubectl reads it.
json::Value exit_status(int code);
json::Value failure_status(std::string_view message);

}  // namespace gangway::agent
