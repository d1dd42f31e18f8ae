#include "agent/pod/admission.h"

#include <fmt/format.h>

#include "agent/pod/devices.h"

namespace gangway::agent {
namespace {

std::int64_t amount(const api::Amounts& amounts, std::string_view name) {
  const auto at = amounts.find(name);
  return at == amounts.end() ? 0 : at->second;
}

Refusal out_of(std::string_view resource, std::int64_t requested, std::int64_t used, std::int64_t capacity) {
  return {fmt::format("OutOf{}", resource),
          fmt::format("Pod was rejected: Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}",
                      resource, requested, used, capacity)};
}

// Those whose names users know first, so that a pod that misses several gives the same one everywhere.
std::vector<std::string> in_order(const api::Amounts& requests) {
  std::vector<std::string> names{"cpu", "memory", "ephemeral-storage"};
  for (const auto& [name, requested] : requests) {
    if (name != "cpu" && name != "memory" && name != "ephemeral-storage") names.push_back(name);
  }
  return names;
}

}  // namespace

std::optional<Refusal> judge(const PodSpec& pod, const NodeRoom& room) {
  if (room.node != nullptr && !pod.nodes.matches(*room.node))
    return Refusal{"NodeAffinity",
                   "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node "
                   "affinity/selector"};
  const std::int64_t pods = amount(room.used, "pods");
  const std::int64_t most = amount(room.allocatable, "pods");
  if (pods + 1 > most) return out_of("pods", 1, pods, most);
  for (const std::string& name : in_order(pod.requests)) {
    const std::int64_t requested = amount(pod.requests, name);
    const std::int64_t used = amount(room.used, name);
    // A node that says nothing about its disk does not ration it.
    if (requested == 0 || (name == "ephemeral-storage" && !room.allocatable.contains(name))) continue;
    const std::int64_t capacity = amount(room.allocatable, name);
    if (requested > capacity - used) return out_of(name, requested, used, capacity);
  }
  // Requests may fit and devices not, while those of a pod that has ended are still held.
  if (!assign_gpus(pod, room.gpus, room.gpus_in_use)) {
    return out_of(kGpuResource, amount(pod.requests, kGpuResource), static_cast<std::int64_t>(room.gpus_in_use.size()),
                  room.gpus);
  }
  return std::nullopt;
}

}  // namespace gangway::agent
