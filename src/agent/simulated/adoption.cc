#include "agent/simulated/adoption.h"

#include "agent/pod/building.h"

namespace gangway::agent {

void adopt_from_record(SimulatedRuntime& runtime, const PodSpec& spec, const PodRecord& record) {
  if (record.has_sandbox) runtime.adopt_sandbox(record.pod.uid, record.addresses);
  for (const ContainerRecord& container : record.containers) {
    const PodContainer* own = spec.find(container.name);
    if (own == nullptr) continue;
    if (container.stage == ContainerRecord::Stage::kRunning)
      runtime.adopt_container(build_simulated(spec, *own, container), container.started_at);
    if (container.end && container.end->exit.code != 0) runtime.adopt_failure(spec.gang, container.end->exit.at);
  }
}

}  // namespace gangway::agent
