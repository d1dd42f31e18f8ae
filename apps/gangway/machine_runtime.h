// What runs the pods of an agent on this machine, with all it stands on: containers with their network, or nothing.
// The one place that chooses. Lives on the agent's loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/pod/pod_spec.h"
#include "agent/records.h"
#include "agent/runtime.h"
#include "cli/agent_config.h"
#include "cli/up_options.h"
#include "client/api_client.h"
#include "sys/event_loop.h"

namespace gangway {

class MachineRuntime {
 public:
  virtual ~MachineRuntime() = default;
  virtual agent::Runtime& runtime() = 0;
  virtual agent::Records& records() = 0;
  // Tells the runtime what a pod's status says ran, where that is the only record. Nothing otherwise.
  virtual void adopt(const agent::PodSpec&, const agent::PodRecord&) {}
  // Begins what keeps the machine's network in step with the cluster.
  virtual void start() {}
};

// `api`: with the rights of a node. Blocks for a moment: it tries what the machine can do.
Result<std::unique_ptr<MachineRuntime>> make_machine_runtime(sys::EventLoop& loop, const cli::AgentConfig& config,
                                                             client::ApiClient& api);

// Decides for each node that leaves it open whether containers run there or pods are simulated, and says why not. An
// error when a node asks for what this machine cannot do. Blocking.
Result<void> choose_runtimes(cli::UpOptions& options);

// Takes away what containers of this data directory left on the machine, when no agent runs: containers, mounts,
// namespaces, bridge, rules. Nothing when there is nothing. Blocking.
Result<void> clean_machine(const std::string& data_dir);

}  // namespace gangway
