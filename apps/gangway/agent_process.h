// AgentProcess: the agent of this machine, wired from its parts.
//
//   gw-agent loop:  HttpTransport a node ─► NodeAgent ─► MachineRuntime
//                   HttpServer a node ─► NodeEndpoints
//
// start() and stop() belong to the main thread; everything else happens on the loop.
#pragma once

#include <memory>

#include "base/result.h"
#include "cli/agent_config.h"

namespace gangway {

class AgentProcess {
 public:
  static Result<std::unique_ptr<AgentProcess>> start(cli::AgentConfig config);
  ~AgentProcess();

  // Stops all pods, which run again with the next agent, and waits for their end.
  void stop_pods();

 private:
  struct Parts;
  explicit AgentProcess(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace gangway
