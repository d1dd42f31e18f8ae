#include "scheduler/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "planning/schedule/schedule.h"

namespace gangway::scheduler {
namespace {

using planning::Gang;
using planning::GangId;
using planning::kNone;
using planning::NodeId;
using planning::Pod;
using planning::PodId;
using planning::PodShape;
using planning::Snapshot;

constexpr const char* kCordon = "node.kubernetes.io/unschedulable";
// One trial costs time in proportion to the cluster; all of them together should stay within a second or two.
constexpr std::int64_t kWork = 2'000'000;
constexpr std::int64_t kFewestTrials = 40;
constexpr std::int64_t kMostTrials = 400;

std::int64_t trials_for(const Snapshot& snapshot) {
  const auto size = static_cast<std::int64_t>(snapshot.nodes.size() + snapshot.pods.size() + 1);
  return std::clamp(kWork / size, kFewestTrials, kMostTrials);
}

// Makes a change on a copy; pods that had one shape share the new one, as planners expect.
class Application {
 public:
  Application(Snapshot& snapshot, const Asker& asker) : snapshot_(snapshot), asker_(asker) {}

  void operator()(const CreateMembers& step) {
    const std::vector<PodId> members = snapshot_.gangs[asker_.gang].members;
    if (members.empty()) return;
    for (std::int64_t i = 0; i < step.count; ++i) {
      Pod pod = snapshot_.pods[members.back()];
      pod.name = fmt::format("{}-new-{}", snapshot_.gangs[asker_.gang].name, i);
      pod.uid = pod.name;
      pod.node = kNone;
      pod.is_gated = false;
      pod.is_terminating = false;
      snapshot_.gangs[asker_.gang].members.push_back(static_cast<PodId>(snapshot_.pods.size()));
      snapshot_.pods.push_back(std::move(pod));
    }
  }
  void operator()(const Uncordon& step) {
    for (const NodeId node : step.nodes) {
      planning::NodeTraits traits = *snapshot_.nodes[node].traits;
      traits.is_unschedulable = false;
      std::erase_if(traits.taints, [](const planning::Taint& taint) { return taint.key == kCordon; });
      set_traits(node, std::move(traits));
    }
  }
  void operator()(const RestoreNodes& step) {
    for (const NodeId node : step.nodes) {
      planning::NodeTraits traits = *snapshot_.nodes[node].traits;
      std::erase_if(traits.taints, is_condition_of_node);
      set_traits(node, std::move(traits));
    }
  }
  void operator()(const Tolerate& step) {
    each_shape([&](PodShape& shape) {
      shape.tolerations.push_back({.key = step.taint.key, .value = step.taint.value, .effect = step.taint.effect});
    });
  }
  void operator()(const DropNodeSelector& step) {
    each_shape([&](PodShape& shape) {
      for (planning::NodeSelector& selector : shape.required) {
        if (!is_node_selector(asker_, selector)) continue;
        std::erase_if(selector.terms[0].labels, [&](const planning::Requirement& label) {
          return label.key == step.key && label.values == std::vector<std::string>{step.value};
        });
      }
      std::erase_if(shape.required, [](const planning::NodeSelector& selector) {
        return selector.terms.size() == 1 && selector.terms[0].labels.empty() && selector.terms[0].names.empty();
      });
    });
  }
  void operator()(const DropNodeAffinity&) {
    each_shape([&](PodShape& shape) {
      std::erase_if(shape.required, [&](const auto& selector) { return !is_node_selector(asker_, selector); });
    });
  }
  void operator()(const DropPodAffinity&) {
    each_shape([](PodShape& shape) { shape.affinity.clear(); });
  }
  void operator()(const DropPodAntiAffinity&) {
    each_shape([](PodShape& shape) { shape.anti_affinity.clear(); });
  }
  void operator()(const DropSpread& step) {
    each_shape([&](PodShape& shape) {
      std::erase_if(shape.spread, [&](const planning::SpreadConstraint& constraint) {
        return constraint.is_required && constraint.topology_key == step.topology_key;
      });
    });
  }
  void operator()(const DropHostPorts&) {
    each_shape([](PodShape& shape) { shape.ports.clear(); });
  }
  void operator()(const DropMinResources&) { snapshot_.gangs[asker_.gang].min_resources.clear(); }
  void operator()(const SayDuration& step) {
    for (const PodId pod : waiting_members(snapshot_, asker_.gang))
      snapshot_.pods[pod].ends = snapshot_.now + step.duration;
  }
  void operator()(const EndPods& step) {
    for (const PodId pod : step.pods) remove(pod);
  }
  void operator()(const LowerRequest& step) {
    each_shape([&](PodShape& shape) {
      for (auto& [resource, amount] : shape.request)
        if (resource == step.resource) amount = std::min(amount, step.to);
      std::erase_if(shape.request, [](const auto& entry) { return entry.second <= 0; });
    });
  }
  void operator()(const LowerMinMembers& step) { snapshot_.gangs[asker_.gang].min_members = step.to; }
  void operator()(const RaisePriority& step) {
    for (const PodId pod : waiting_members(snapshot_, asker_.gang)) {
      snapshot_.pods[pod].priority = step.value;
      snapshot_.pods[pod].never_preempts = false;
    }
  }
  void operator()(const AllowPreemption&) {
    for (const PodId pod : waiting_members(snapshot_, asker_.gang)) snapshot_.pods[pod].never_preempts = false;
  }
  void operator()(const AddNodes& step) {
    for (std::int64_t i = 0; i < step.count; ++i) {
      planning::Node node;
      node.name = fmt::format("new-node-{}", i);
      node.hostname = node.name;
      planning::NodeTraits traits;
      if (step.like != kNone) traits = *snapshot_.nodes[step.like].traits;
      traits.is_unschedulable = false;
      std::erase_if(traits.taints, is_condition_of_node);
      node.traits = std::make_shared<const planning::NodeTraits>(std::move(traits));
      node.allocatable = step.allocatable;
      snapshot_.nodes.push_back(std::move(node));
    }
  }

 private:
  void set_traits(NodeId node, planning::NodeTraits traits) {
    snapshot_.nodes[node].traits = std::make_shared<const planning::NodeTraits>(std::move(traits));
  }

  template <class Change>
  void each_shape(const Change& change) {
    std::map<const PodShape*, std::shared_ptr<const PodShape>> changed;
    for (const PodId pod : waiting_members(snapshot_, asker_.gang)) {
      auto& shape = changed[snapshot_.pods[pod].shape.get()];
      if (!shape) {
        PodShape copy = *snapshot_.pods[pod].shape;
        change(copy);
        shape = std::make_shared<const PodShape>(std::move(copy));
      }
      snapshot_.pods[pod].shape = shape;
    }
  }

  void remove(PodId pod) {
    const GangId id = snapshot_.pods[pod].gang;
    snapshot_.pods[pod] = {};
    for (Gang& gang : snapshot_.gangs) {
      if (!gang.ticket) continue;
      std::erase(gang.ticket->victims, pod);
      std::erase_if(gang.ticket->places, [&](const auto& place) { return place.pod == pod; });
      if (gang.ticket->places.empty()) gang.ticket.reset();
    }
    if (id == kNone) return;
    std::erase(snapshot_.gangs[id].members, pod);
    if (snapshot_.gangs[id].members.empty()) snapshot_.gangs[id] = {};
  }

  Snapshot& snapshot_;
  const Asker& asker_;
};

}  // namespace

std::vector<PodId> waiting_members(const Snapshot& snapshot, GangId gang) {
  std::vector<PodId> waiting;
  for (const PodId member : snapshot.gangs[gang].members) {
    const Pod& pod = snapshot.pods[member];
    if (pod.node == kNone && !pod.is_terminating && !pod.is_gated) waiting.push_back(member);
  }
  return waiting;
}

std::vector<GangId> line_of(const Snapshot& snapshot) {
  std::vector<GangId> line;
  for (GangId id = 0; id < snapshot.gangs.size(); ++id)
    if (!snapshot.gangs[id].name.empty() && !waiting_members(snapshot, id).empty()) line.push_back(id);
  const auto place = [&](GangId id) {
    const Gang& gang = snapshot.gangs[id];
    return std::make_tuple(-planning::priority_of(snapshot, gang), gang.since, gang.ns, gang.name, !gang.is_plain);
  };
  std::sort(line.begin(), line.end(), [&](GangId a, GangId b) { return place(a) < place(b); });
  return line;
}

bool is_node_selector(const Asker& asker, const planning::NodeSelector& selector) {
  if (selector.terms.size() != 1 || !selector.terms[0].names.empty()) return false;
  planning::Labels labels;
  for (const planning::Requirement& label : selector.terms[0].labels) {
    if (label.op != planning::Requirement::Op::kIn || label.values.size() != 1) return false;
    labels.emplace_back(label.key, label.values[0]);
  }
  std::sort(labels.begin(), labels.end());
  return !asker.node_selector || *asker.node_selector == labels;
}

bool is_condition_of_node(const planning::Taint& taint) {
  return taint.key.starts_with("node.kubernetes.io/") && taint.key != kCordon;
}

void apply(Snapshot& snapshot, const Asker& asker, const Step& step) {
  std::visit(Application(snapshot, asker), step);
}

const planning::Ticket* ticket_for(const planning::Plan& plan, const Asker& asker) {
  for (const planning::Ticket& ticket : plan.tickets) {
    if (ticket.gang != asker.gang || ticket.places.empty()) continue;
    if (asker.pod == kNone) return &ticket;
    for (const planning::Placement& place : ticket.places)
      if (place.pod == asker.pod) return &ticket;
  }
  return nullptr;
}

WhatIf::WhatIf(const Snapshot& snapshot, const planning::Policies& policies, Asker asker)
    : snapshot_(snapshot), policies_(policies), asker_(asker), left_(trials_for(snapshot)) {}

Snapshot WhatIf::with(const Steps& steps) const {
  Snapshot changed = snapshot_;
  for (const Step& step : steps) apply(changed, asker_, step);
  return changed;
}

planning::Plan WhatIf::plan_for(const Snapshot& changed) {
  --left_;
  return planning::schedule(changed, policies_);
}

std::optional<Granted> WhatIf::try_with(const Steps& steps) {
  if (is_exhausted()) return std::nullopt;
  const Snapshot changed = with(steps);
  const planning::Plan plan = plan_for(changed);
  const planning::Ticket* ticket = ticket_for(plan, asker_);
  if (ticket == nullptr) return std::nullopt;
  Granted granted;
  for (const planning::Placement& place : ticket->places)
    granted.places.emplace_back(changed.pods[place.pod].name, changed.nodes[place.node].name);
  for (const planning::Eviction& eviction : ticket->evictions)
    granted.preempts.push_back(full_name(changed.gangs[eviction.gang]));
  return granted;
}

}  // namespace gangway::scheduler
