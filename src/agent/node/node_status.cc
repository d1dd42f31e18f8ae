#include "agent/node/node_status.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/conditions.h"
#include "json/access.h"

namespace gangway::agent {
namespace {

constexpr std::int64_t kDefaultPods = 110;
constexpr std::size_t kMostImages = 50;

std::map<std::string, Quantity> with_pods(std::map<std::string, Quantity> capacity) {
  capacity.try_emplace("pods", Quantity::of(kDefaultPods));
  return capacity;
}

json::Object amounts_json(const std::map<std::string, Quantity>& amounts) {
  json::Object object;
  for (const auto& [name, amount] : amounts) object[name] = amount.to_string();
  return object;
}

json::Array declared_taints(const NodeSpec& node) {
  json::Array taints;
  for (const api::Taint& taint : node.taints) taints.push_back(api::to_json(taint));
  for (const std::string& role : node.roles) {
    if (role == "master" || role == "control-plane")
      taints.push_back(api::to_json({"node-role.kubernetes.io/" + role, "", "NoSchedule"}));
  }
  return taints;
}

// Ready and the three pressures, with the times that `object` has for those that have not changed.
json::Array conditions_of(json::Value object, const NodeCondition& condition, WallTime now) {
  const bool ready = condition.problem.empty();
  const api::Condition all[] = {
      {"MemoryPressure", "False", "KubeletHasSufficientMemory", "there is memory to spare"},
      {"DiskPressure", "False", "KubeletHasNoDiskPressure", "there is disk space to spare"},
      {"PIDPressure", "False", "KubeletHasSufficientPID", "there are process ids to spare"},
      {"Ready", ready ? "True" : "False", ready ? "KubeletReady" : "KubeletNotReady",
       ready ? "the node takes pods" : condition.problem},
  };
  for (const api::Condition& each : all) {
    api::set_condition(object, each, now);
    for (json::Value& item : json::find(object, {"status", "conditions"})->get_array()) {
      if (json::string_at(item, {"type"}) == each.type) item.get_object()["lastHeartbeatTime"] = to_rfc3339(now);
    }
  }
  return json::find(object, {"status", "conditions"})->get_array();
}

// Whether the conditions say what they should, whatever their times.
bool say_the_same(const json::Value& object, const json::Array& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const json::Value& each) {
    const json::Object* known = api::find_condition(object, json::string_at(each, {"type"}));
    if (known == nullptr) return false;
    const json::Value found = *known;
    return json::string_at(found, {"status"}) == json::string_at(each, {"status"}) &&
           json::string_at(found, {"message"}) == json::string_at(each, {"message"});
  });
}

json::Array images_json(std::vector<NodeImage> images) {
  std::sort(images.begin(), images.end(), [](const NodeImage& a, const NodeImage& b) {
    return std::tie(b.bytes, a.names) < std::tie(a.bytes, b.names);
  });
  if (images.size() > kMostImages) images.resize(kMostImages);
  json::Array list;
  for (const NodeImage& image : images) {
    list.push_back(
        json::Object{{"names", json::Array(image.names.begin(), image.names.end())}, {"sizeBytes", image.bytes}});
  }
  return list;
}

// All of it but the conditions.
json::Object facts_of(const NodeSpec& node, const NodeSystem& system, const NodeCondition& condition) {
  json::Array addresses;
  if (!node.address.empty()) addresses.push_back(json::Object{{"type", "InternalIP"}, {"address", node.address}});
  addresses.push_back(json::Object{{"type", "Hostname"}, {"address", node.name}});
  json::Object facts{{"capacity", amounts_json(with_pods(node.capacity))},
                     {"allocatable", amounts_json(allocatable_of(node))},
                     {"addresses", std::move(addresses)},
                     {"nodeInfo", json::Object{{"architecture", system.architecture},
                                               {"operatingSystem", system.operating_system},
                                               {"kernelVersion", system.kernel_version},
                                               {"osImage", system.os_image},
                                               {"containerRuntimeVersion", system.container_runtime},
                                               {"kubeletVersion", "v1.33.13-gangway." + system.gangway_version},
                                               {"kubeProxyVersion", ""},
                                               {"machineID", system.machine_id},
                                               {"systemUUID", system.machine_id},
                                               {"bootID", system.boot_id}}}};
  if (condition.port != 0)
    facts["daemonEndpoints"] =
        json::Object{{"kubeletEndpoint", json::Object{{"Port", static_cast<std::int64_t>(condition.port)}}}};
  if (!condition.images.empty()) facts["images"] = images_json(condition.images);
  return facts;
}

}  // namespace

std::map<std::string, Quantity> allocatable_of(const NodeSpec& node) {
  auto amounts = with_pods(node.capacity);
  for (const auto& [name, amount] : node.reserved) {
    auto at = amounts.find(name);
    if (at == amounts.end()) continue;
    // More reserved than there is leaves nothing, not a debt.
    at->second = at->second < amount ? Quantity::of(0, at->second.format()) : at->second - amount;
  }
  return amounts;
}

json::Value declaration_of(const NodeSpec& node) {
  json::Object labels;
  for (const auto& [key, value] : node.labels) labels[key] = value;
  for (const std::string& role : node.roles) labels["node-role.kubernetes.io/" + role] = "";
  return json::Object{{"labels", std::move(labels)}, {"taints", declared_taints(node)}};
}

std::map<std::string, std::string> fixed_labels(const NodeSpec& node, const NodeSystem& system) {
  return {{"kubernetes.io/hostname", node.name},
          {"kubernetes.io/arch", system.architecture},
          {"kubernetes.io/os", system.operating_system},
          {"beta.kubernetes.io/arch", system.architecture},
          {"beta.kubernetes.io/os", system.operating_system}};
}

json::Value new_node(const NodeSpec& node, const NodeSystem& system, const NodeCondition& condition, bool declared,
                     WallTime now) {
  json::Value declaration = declaration_of(node);
  json::Object labels = declaration.at("labels").get_object();
  for (const auto& [key, value] : fixed_labels(node, system)) labels[key] = value;
  json::Object metadata{{"name", node.name}, {"labels", std::move(labels)}};
  if (declared) metadata["annotations"] = json::Object{{kDeclared, json::serialize(declaration)}};
  json::Object spec;
  if (const json::Array& taints = declaration.at("taints").get_array(); !taints.empty()) spec["taints"] = taints;
  json::Object status = facts_of(node, system, condition);
  status["conditions"] = conditions_of(json::Object(), condition, now);
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Node"},
                      {"metadata", std::move(metadata)},
                      {"spec", std::move(spec)},
                      {"status", std::move(status)}};
}

std::optional<json::Object> status_patch(const json::Value& object, const NodeSpec& node, const NodeSystem& system,
                                         const NodeCondition& condition, bool heartbeat, WallTime now) {
  const json::Object& status = json::members_at(object, {"status"});
  json::Object patch;
  for (const auto& entry : facts_of(node, system, condition)) {
    const json::Value* current = status.if_contains(entry.key());
    if (current == nullptr || !json::equal(*current, entry.value())) patch[entry.key()] = entry.value();
  }
  // A merge patch would keep resources that are there no more.
  for (const char* key : {"capacity", "allocatable"}) {
    json::Value* amounts = patch.if_contains(key);
    if (amounts == nullptr) continue;
    for (const auto& entry : json::members_at(object, {"status", key}))
      if (!amounts->get_object().contains(entry.key())) amounts->get_object()[entry.key()] = nullptr;
  }
  json::Array conditions = conditions_of(object, condition, now);
  if (heartbeat || !say_the_same(object, conditions)) patch["conditions"] = std::move(conditions);
  if (patch.empty()) return std::nullopt;
  return patch;
}

json::Object label_patch(const json::Value& object, const NodeSpec& node, const NodeSystem& system) {
  const json::Object& labels = json::members_at(object, {"metadata", "labels"});
  json::Object patch;
  for (const auto& [key, value] : fixed_labels(node, system)) {
    const json::Value* current = labels.if_contains(key);
    if (current == nullptr || *current != json::Value(value)) patch[key] = value;
  }
  return patch;
}

}  // namespace gangway::agent
