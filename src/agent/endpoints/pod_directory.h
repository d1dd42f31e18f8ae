// PodDirectory: what the endpoints ask the agent about its pods. The answers are values of this moment.
//
// Belongs to the agent's loop.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/runtime_types.h"
#include "api/object.h"
#include "base/time.h"

namespace gangway::agent {

struct ServedContainer {
  std::string name;
  // The run whose state is shown: one that goes on, or one that has ended and was not followed by another.
  std::optional<ContainerId> current = {};
  bool running = false;
  std::optional<WallTime> started_at = {};
  // The run before: what lastState shows.
  std::optional<ContainerId> last = {};
  std::string waiting_reason = {};  // while there is no current run: "ContainerCreating", "CrashLoopBackOff"
};

struct ServedPod {
  PodIdentity identity;
  std::vector<ServedContainer> containers = {};  // those that have a status; init and ephemeral containers too
  std::optional<WallTime> started_at = {};
  api::Version object = {};  // with the status that the agent last reported
};

class PodDirectory {
 public:
  virtual ~PodDirectory() = default;
  virtual std::vector<ServedPod> pods(std::string_view node) const = 0;
  virtual std::optional<ServedPod> find(std::string_view node, std::string_view ns, std::string_view name) const = 0;
  // Whether the run has not ended yet.
  virtual bool is_running(const ContainerId& container) const = 0;
};

}  // namespace gangway::agent
