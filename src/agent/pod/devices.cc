#include "agent/pod/devices.h"

namespace gangway::agent {
namespace {

// The most GPUs that the pod holds at once are not the sum of all containers: init containers run one after the other
// and hand theirs on. Sidecars and containers keep theirs to the end.
bool keeps_its_own(const PodContainer& container) {
  return container.role != ContainerRole::kInit;
}

}  // namespace

std::optional<std::map<std::string, std::vector<unsigned>>> assign_gpus(const PodSpec& pod, unsigned gpus,
                                                                        const std::set<unsigned>& in_use) {
  std::vector<unsigned> free;
  for (unsigned index = 0; index < gpus; ++index) {
    if (!in_use.contains(index)) free.push_back(index);
  }
  std::map<std::string, std::vector<unsigned>> assigned;
  std::size_t next = 0;
  for (const PodContainer& container : pod.containers) {
    const std::size_t wanted = gpus_of(container);
    if (wanted == 0) continue;
    if (free.size() - next < wanted) return std::nullopt;
    auto& own = assigned[container.name];
    for (std::size_t i = 0; i < wanted; ++i) own.push_back(free[next + i]);
    if (keeps_its_own(container)) next += wanted;
  }
  return assigned;
}

}  // namespace gangway::agent
