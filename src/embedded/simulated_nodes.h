// SimulatedNodes: the agent of the nodes that are only simulated, in the server's process. The same Agent that runs
// real pods elsewhere, on a runtime that only keeps the time. Lives on the loop it is given.
#pragma once

#include <memory>
#include <vector>

#include "agent/node/node_spec.h"
#include "embedded/control_plane.h"
#include "json/value.h"
#include "sys/event_loop.h"

namespace gangway::embedded {

class SimulatedNodes {
 public:
  // On the loop, as are the end and report(). `connect` gives clients of this loop.
  SimulatedNodes(sys::EventLoop& loop, const Connect& connect, const std::vector<agent::NodeSpec>& nodes,
                 const agent::NodeSystem& system);
  ~SimulatedNodes();

  void start();
  // {name, state, detail}
  json::Object report() const;

 private:
  struct Members;
  std::unique_ptr<Members> members_;
};

}  // namespace gangway::embedded
