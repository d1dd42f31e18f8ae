// AgentPods: the pods of an Agent, as the endpoints see them. Belongs to the agent's loop.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "agent/agent.h"
#include "agent/endpoints/pod_directory.h"
#include "agent/pod/pod_record.h"

namespace gangway::agent {

class AgentPods final : public PodDirectory {
 public:
  explicit AgentPods(const Agent& agent) : agent_(agent) {}
  std::vector<ServedPod> pods(std::string_view node) const override;
  std::optional<ServedPod> find(std::string_view node, std::string_view ns, std::string_view name) const override;
  bool is_running(const ContainerId& container) const override;

 private:
  const Agent& agent_;
};

// Which runs there are is the record's to say; whether the last one counts as over, or as waiting for the next, is what
// the pod's status shows to everybody. Pure.
ServedPod served_pod(const PodRecord& record, const api::Version& object);

}  // namespace gangway::agent
