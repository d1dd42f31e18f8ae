// AgentLife: one life of an agent's process, on a machine that outlives it.
#pragma once

#include <memory>

#include "agent/node_agent.h"
#include "sim/machine.h"
#include "sim/sim_client.h"

namespace gangway::sim {

class AgentLife {
 public:
  AgentLife(Wire& wire, Gate& gate, Machine& machine, unsigned number, agent::NodeSpec spec);
  ~AgentLife();

  testing::SimProcess& process() { return process_; }

 private:
  void begin(Wire& wire, Gate& gate, Machine& machine, const agent::NodeSpec& spec);

  testing::SimProcess process_;
  testing::SimLoop& loop_;
  std::unique_ptr<sys::Fetch> fetch_;
  std::unique_ptr<SimClient> client_;
  std::unique_ptr<agent::Runtime> runtime_;
  std::unique_ptr<agent::NodeAgent> agent_;
};

// Who a node's agent is to the server.
std::string node_user(const std::string& node);

}  // namespace gangway::sim
