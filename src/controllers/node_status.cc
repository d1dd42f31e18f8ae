#include "controllers/node_status.h"

#include <string_view>
#include <utility>

#include "controllers/conditions.h"

namespace gangway::controllers {
namespace {

constexpr std::int64_t kDefaultPods = 110;

std::map<std::string, Quantity> with_pods(std::map<std::string, Quantity> capacity) {
  capacity.try_emplace("pods", Quantity::of(kDefaultPods));
  return capacity;
}

json::Object to_json(const std::map<std::string, Quantity>& amounts) {
  json::Object object;
  for (const auto& [name, amount] : amounts) object[name] = amount.to_string();
  return object;
}

std::map<std::string, Quantity> allocatable(std::map<std::string, Quantity> capacity,
                                            const std::map<std::string, Quantity>& reserved) {
  for (const auto& [name, amount] : reserved) {
    auto at = capacity.find(name);
    if (at == capacity.end()) continue;
    // More reserved than there is leaves nothing, not a debt.
    at->second = at->second < amount ? Quantity::of(0, at->second.format()) : at->second - amount;
  }
  return capacity;
}

}  // namespace

json::Array healthy_conditions(json::Array conditions, WallTime now) {
  const Condition all[] = {
      {"MemoryPressure", "False", "KubeletHasSufficientMemory", "there is memory to spare"},
      {"DiskPressure", "False", "KubeletHasNoDiskPressure", "there is disk space to spare"},
      {"PIDPressure", "False", "KubeletHasSufficientPID", "there are process ids to spare"},
      {"Ready", "True", "KubeletReady", "the node takes pods"},
  };
  for (const Condition& condition : all) {
    set_condition(conditions, condition, now);
    for (json::Value& item : conditions) {
      if (json::string_at(item, {"type"}) == condition.type) item.get_object()["lastHeartbeatTime"] = to_rfc3339(now);
    }
  }
  return conditions;
}

json::Object node_status(const NodeSpec& node, const NodeSystem& system, json::Array conditions, WallTime now) {
  const auto capacity = with_pods(node.capacity);
  json::Array addresses;
  if (!node.address.empty()) addresses.push_back(json::Object{{"type", "InternalIP"}, {"address", node.address}});
  addresses.push_back(json::Object{{"type", "Hostname"}, {"address", node.name}});
  const std::string version = "v1.33.13-gangway." + system.gangway_version;
  return {{"capacity", to_json(capacity)},
          {"allocatable", to_json(allocatable(capacity, node.reserved))},
          {"addresses", std::move(addresses)},
          {"conditions", healthy_conditions(std::move(conditions), now)},
          {"nodeInfo", json::Object{{"architecture", system.architecture},
                                    {"operatingSystem", system.operating_system},
                                    {"kernelVersion", system.kernel_version},
                                    {"osImage", system.os_image},
                                    {"containerRuntimeVersion", system.container_runtime},
                                    {"kubeletVersion", version},
                                    {"kubeProxyVersion", ""},
                                    {"machineID", system.machine_id},
                                    {"systemUUID", system.machine_id},
                                    {"bootID", system.boot_id}}}};
}

}  // namespace gangway::controllers
