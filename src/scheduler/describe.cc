#include "scheduler/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/quantity.h"

namespace gangway::scheduler {
namespace {

using planning::GangId;
using planning::kNone;
using planning::PodId;
using planning::Snapshot;

constexpr std::size_t kGangsNamed = 4;

std::string text_of(planning::Taint::Effect effect) {
  switch (effect) {
    case planning::Taint::Effect::kNoSchedule:
      return "NoSchedule";
    case planning::Taint::Effect::kPreferNoSchedule:
      return "PreferNoSchedule";
    case planning::Taint::Effect::kNoExecute:
      return "NoExecute";
  }
  return "";
}

std::vector<std::string> names_of(const Snapshot& snapshot, const std::vector<planning::NodeId>& nodes) {
  std::vector<std::string> names;
  for (const planning::NodeId node : nodes) names.push_back(snapshot.nodes[node].name);
  return names;
}

json::Array array_of(const std::vector<std::string>& texts) {
  json::Array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

std::string plural(std::int64_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

// Pods of one gang that are to end.
struct Ended {
  std::vector<PodId> pods;
  std::int64_t gpus = 0;
  bool is_whole = false;
  bool is_waiting = false;
};

std::map<std::string, std::pair<GangId, Ended>> by_gang(const Snapshot& snapshot, const EndPods& step) {
  std::map<std::string, std::pair<GangId, Ended>> gangs;
  for (const PodId id : step.pods) {
    const planning::Pod& pod = snapshot.pods[id];
    auto& [gang, ended] = gangs[full_name(snapshot.gangs[pod.gang])];
    gang = pod.gang;
    ended.pods.push_back(id);
    ended.gpus += gpus_of(snapshot, pod);
    ended.is_waiting = pod.node == kNone;
  }
  for (auto& [name, entry] : gangs)
    entry.second.is_whole = entry.second.pods.size() == snapshot.gangs[entry.first].members.size();
  return gangs;
}

std::string ended_text(const Snapshot& snapshot, const std::string& name, const Ended& ended) {
  const std::string size = size_text(ended.gpus, ended.pods.size());
  if (ended.is_waiting) return fmt::format("{} ({}), which is before it in line", name, size);
  if (ended.is_whole) return fmt::format("{} ({})", name, size);
  std::vector<std::string> pods;
  for (const PodId pod : ended.pods) pods.push_back(snapshot.pods[pod].name);
  return fmt::format("{} of {} ({})", fmt::join(pods, ", "), name, size);
}

class Words {
 public:
  Words(const Snapshot& snapshot, const Asker& asker) : snapshot_(snapshot), gang_(snapshot.gangs[asker.gang]) {}

  std::string operator()(const CreateMembers& step) const {
    return fmt::format("create {} more {}: the gang has {} of {} pods", step.count,
                       step.count == 1 ? "member" : "members", gang_.min_members - step.count, gang_.min_members);
  }
  std::string operator()(const Uncordon& step) const {
    return fmt::format("uncordon {} {}", step.nodes.size() == 1 ? "node" : "nodes",
                       fmt::join(names_of(snapshot_, step.nodes), ", "));
  }
  std::string operator()(const RestoreNodes& step) const {
    std::vector<std::string> parts;
    for (const planning::NodeId id : step.nodes) {
      std::vector<std::string> taints;
      for (const planning::Taint& taint : snapshot_.nodes[id].traits->taints)
        if (is_condition_of_node(taint)) taints.push_back(taint.key.substr(taint.key.find('/') + 1));
      std::sort(taints.begin(), taints.end());
      taints.erase(std::unique(taints.begin(), taints.end()), taints.end());
      parts.push_back(fmt::format("{} ({})", snapshot_.nodes[id].name, fmt::join(taints, ", ")));
    }
    return fmt::format("bring back {} {}", parts.size() == 1 ? "node" : "nodes", fmt::join(parts, ", "));
  }
  std::string operator()(const Tolerate& step) const {
    return fmt::format("tolerate taint {}{}:{}", step.taint.key,
                       step.taint.value.empty() ? std::string() : "=" + step.taint.value, text_of(step.taint.effect));
  }
  std::string operator()(const DropNodeSelector& step) const {
    return fmt::format("remove nodeSelector {}={}", step.key, step.value);
  }
  std::string operator()(const DropNodeAffinity&) const { return "remove the required node affinity"; }
  std::string operator()(const DropPodAffinity&) const { return "remove the required pod affinity"; }
  std::string operator()(const DropPodAntiAffinity&) const { return "remove the required pod anti-affinity"; }
  std::string operator()(const DropSpread& step) const {
    return fmt::format("remove the topology spread constraint on {}", step.topology_key);
  }
  std::string operator()(const DropHostPorts&) const { return "remove the host ports"; }
  std::string operator()(const DropMinResources&) const { return "remove minResources of the PodGroup"; }
  std::string operator()(const SayDuration& step) const {
    return fmt::format("say that it runs no longer than {} (annotation gangway.dev/expected-duration)",
                       human_duration(step.duration));
  }
  std::string operator()(const EndPods& step) const {
    std::vector<std::string> parts;
    std::vector<std::string> ahead;
    for (const auto& [name, entry] : by_gang(snapshot_, step))
      (entry.second.is_waiting ? ahead : parts).push_back(ended_text(snapshot_, name, entry.second));
    if (parts.size() > kGangsNamed) {
      const std::size_t more = parts.size() - kGangsNamed;
      parts.resize(kGangsNamed);
      parts.push_back(fmt::format("{} others", more));
    }
    if (ahead.size() > 1) ahead = {fmt::format("the {} that are before it in line", ahead.size())};
    parts.insert(parts.end(), ahead.begin(), ahead.end());
    return fmt::format("delete or wait for {}", fmt::join(parts, " and "));
  }
  std::string operator()(const LowerRequest& step) const {
    const std::string& name = snapshot_.resources.name_of(step.resource);
    if (step.to == 0) return fmt::format("remove the request for {}: no node has any", name);
    return fmt::format("lower requests {} from {} to {}", name, amount_text(step.resource, step.from),
                       amount_text(step.resource, step.to));
  }
  std::string operator()(const LowerMinMembers& step) const {
    return fmt::format("lower minMember of the PodGroup from {} to {}", step.from, step.to);
  }
  std::string operator()(const RaisePriority& step) const {
    if (step.priority_class.empty())
      return fmt::format("use a priority class above {} (none that exists will do: make one)", step.value - 1);
    return fmt::format("use priority class {} ({})", step.priority_class, step.value);
  }
  std::string operator()(const AllowPreemption&) const {
    return "let it preempt others (preemptionPolicy: PreemptLowerPriority)";
  }
  std::string operator()(const AddNodes& step) const {
    planning::Request devices;
    for (planning::ResourceId r = planning::kFirstExtended; r < step.allocatable.size(); ++r)
      if (step.allocatable[r] > 0) devices.emplace_back(r, step.allocatable[r]);
    if (devices.empty()) devices = {{planning::kCpu, planning::amount_of(step.allocatable, planning::kCpu)}};
    return fmt::format("add {} with {}{}", plural(step.count, "node"), request_text(snapshot_.resources, devices),
                       step.like == kNone ? std::string() : " like " + snapshot_.nodes[step.like].name);
  }

 private:
  const Snapshot& snapshot_;
  const planning::Gang& gang_;
};

class Document {
 public:
  Document(const Snapshot& snapshot, const Asker& asker) : snapshot_(snapshot), asker_(asker) {}

  json::Object operator()(const CreateMembers& step) const {
    const planning::Gang& gang = snapshot_.gangs[asker_.gang];
    return {{"kind", "create-members"}, {"count", step.count}, {"minMember", gang.min_members}};
  }
  json::Object operator()(const Uncordon& step) const {
    return {{"kind", "uncordon"}, {"nodes", array_of(names_of(snapshot_, step.nodes))}};
  }
  json::Object operator()(const RestoreNodes& step) const {
    return {{"kind", "restore-nodes"}, {"nodes", array_of(names_of(snapshot_, step.nodes))}};
  }
  json::Object operator()(const Tolerate& step) const {
    return {{"kind", "tolerate"},
            {"key", step.taint.key},
            {"value", step.taint.value},
            {"effect", text_of(step.taint.effect)}};
  }
  json::Object operator()(const DropNodeSelector& step) const {
    return {{"kind", "remove-node-selector"}, {"key", step.key}, {"value", step.value}};
  }
  json::Object operator()(const DropNodeAffinity&) const { return {{"kind", "remove-node-affinity"}}; }
  json::Object operator()(const DropPodAffinity&) const { return {{"kind", "remove-pod-affinity"}}; }
  json::Object operator()(const DropPodAntiAffinity&) const { return {{"kind", "remove-pod-anti-affinity"}}; }
  json::Object operator()(const DropSpread& step) const {
    return {{"kind", "remove-topology-spread"}, {"topologyKey", step.topology_key}};
  }
  json::Object operator()(const DropHostPorts&) const { return {{"kind", "remove-host-ports"}}; }
  json::Object operator()(const DropMinResources&) const { return {{"kind", "remove-min-resources"}}; }
  json::Object operator()(const SayDuration& step) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(step.duration).count();
    return {{"kind", "say-duration"}, {"seconds", seconds}};
  }
  json::Object operator()(const EndPods& step) const {
    json::Array gangs;
    for (const auto& [name, entry] : by_gang(snapshot_, step)) {
      const planning::Gang& gang = snapshot_.gangs[entry.first];
      json::Array pods;
      for (const PodId pod : entry.second.pods) pods.emplace_back(snapshot_.pods[pod].name);
      gangs.push_back(json::Object{{"kind", gang.is_plain ? "Pod" : "PodGroup"},
                                   {"namespace", gang.ns},
                                   {"name", gang.name},
                                   {"gpus", entry.second.gpus},
                                   {"isWaiting", entry.second.is_waiting},
                                   {"pods", std::move(pods)}});
    }
    return {{"kind", "end-others"}, {"others", std::move(gangs)}};
  }
  json::Object operator()(const LowerRequest& step) const {
    return {{"kind", "lower-request"},
            {"resource", snapshot_.resources.name_of(step.resource)},
            {"from", amount_text(step.resource, step.from)},
            {"to", amount_text(step.resource, step.to)}};
  }
  json::Object operator()(const LowerMinMembers& step) const {
    return {{"kind", "lower-min-member"}, {"from", step.from}, {"to", step.to}};
  }
  json::Object operator()(const RaisePriority& step) const {
    json::Object object{{"kind", "raise-priority"}, {"value", step.value}};
    if (!step.priority_class.empty()) object["priorityClassName"] = step.priority_class;
    return object;
  }
  json::Object operator()(const AllowPreemption&) const { return {{"kind", "allow-preemption"}}; }
  json::Object operator()(const AddNodes& step) const {
    json::Object allocatable;
    for (planning::ResourceId r = 0; r < step.allocatable.size(); ++r)
      if (step.allocatable[r] > 0) allocatable[snapshot_.resources.name_of(r)] = amount_text(r, step.allocatable[r]);
    json::Object object{{"kind", "add-nodes"}, {"count", step.count}, {"allocatable", std::move(allocatable)}};
    if (step.like != kNone) object["like"] = snapshot_.nodes[step.like].name;
    return object;
  }

 private:
  const Snapshot& snapshot_;
  const Asker& asker_;
};

}  // namespace

std::string amount_text(planning::ResourceId resource, std::int64_t amount) {
  if (resource == planning::kCpu) return Quantity::of_milli(amount).canonical();
  if (resource == planning::kMemory || resource == planning::kEphemeralStorage)
    return Quantity::of(amount, Quantity::Format::kBinarySi).canonical();
  return std::to_string(amount);
}

std::string request_text(const planning::ResourceNames& names, const planning::Request& request) {
  std::vector<std::string> parts;
  for (const bool devices : {true, false})
    for (const auto& [id, amount] : request)
      if (id != planning::kPods && (id >= planning::kFirstExtended) == devices)
        parts.push_back(amount_text(id, amount) + " " + names.name_of(id));
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

std::int64_t gpus_of(const Snapshot& snapshot, const planning::Pod& pod) {
  std::int64_t gpus = 0;
  for (const auto& [id, amount] : pod.shape->request)
    if (snapshot.resources.is_gpu(id)) gpus += amount;
  return gpus;
}

std::string size_text(std::int64_t gpus, std::size_t pods) {
  return gpus > 0 ? plural(gpus, "GPU") : plural(static_cast<std::int64_t>(pods), "pod");
}

std::string text_of(const Snapshot& snapshot, const Asker& asker, const Step& step) {
  return std::visit(Words(snapshot, asker), step);
}

json::Value to_json(const Snapshot& snapshot, const Asker& asker, const Step& step) {
  return std::visit(Document(snapshot, asker), step);
}

}  // namespace gangway::scheduler
