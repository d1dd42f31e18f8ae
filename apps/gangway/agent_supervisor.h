// AgentSupervisor: keeps the agent of this machine running beside the server. The agent is a process of its own that
// outlives the server; one that an earlier server left behind is replaced, and its pods do not notice.
//
//   start ─► running ── ended ─► started again, after a pause that grows
//   stop  ─► told to stop its pods (SIGUSR2), or to leave them (SIGTERM) ─► ended
//
// start() and stop() belong to the main thread and block; the rest happens on the loop.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/agent_config.h"
#include "cli/data_dir.h"
#include "cli/server_process.h"
#include "json/value.h"
#include "sys/event_loop.h"

namespace gangway {

class AgentSupervisor {
 public:
  AgentSupervisor(sys::EventLoop& loop, cli::DataDir data);
  ~AgentSupervisor();
  AgentSupervisor(const AgentSupervisor&) = delete;
  AgentSupervisor& operator=(const AgentSupervisor&) = delete;

  Result<void> start(const cli::AgentConfig& config);
  void stop(cli::PodsThen pods);
  // How often in a row it ended soon after it was started, and why it did the last time, in its own words. On the loop.
  struct Failure {
    unsigned times = 0;
    std::string why;
  };
  Failure failure() const;
  // {name, state, detail}; on the loop.
  json::Object report() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Ends the agent of a data directory, if one runs, and waits for that: its pods go on, or end with it.
Result<void> end_agent(const cli::DataDir& data, cli::PodsThen pods);

}  // namespace gangway
