#include "scheduler/changes.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "scheduler/ending.h"

namespace gangway::scheduler {
namespace {

using planning::Gang;
using planning::kNone;
using planning::Node;
using planning::NodeId;
using planning::Pod;
using planning::PodId;
using planning::PodShape;
using planning::Snapshot;

// The system's own classes are not for users.
constexpr std::int64_t kHighestUserPriority = 1'000'000'000;
constexpr std::int64_t kMostNodesToAdd = 1024;
constexpr Duration kShortestToSay = std::chrono::minutes(1);

constexpr const char* kCordonTaint = "node.kubernetes.io/unschedulable";

// Null for steps that name no nodes.
std::vector<NodeId>* nodes_of(Step& step) {
  if (auto* cordoned = std::get_if<Uncordon>(&step)) return &cordoned->nodes;
  if (auto* broken = std::get_if<RestoreNodes>(&step)) return &broken->nodes;
  return nullptr;
}

// In which steps people think of an amount.
std::int64_t unit_of(planning::ResourceId resource) {
  if (resource == planning::kCpu) return 100;
  if (resource == planning::kMemory) return std::int64_t{128} << 20;
  if (resource == planning::kEphemeralStorage) return std::int64_t{1} << 30;
  return 1;
}

struct StepSize {
  int operator()(const EndPods&) const { return 1; }
  int operator()(const LowerRequest&) const { return 2; }
  int operator()(const LowerMinMembers&) const { return 2; }
  int operator()(const RaisePriority&) const { return 3; }
  int operator()(const AllowPreemption&) const { return 3; }
  int operator()(const AddNodes&) const { return 4; }
  int operator()(const auto&) const { return 0; }
};

// The end of more than these is not something that anybody brings about.
constexpr std::size_t kFewGangs = 8;

// At whose cost, then how many things at once.
std::pair<int, std::size_t> size_of(const Snapshot& snapshot, const Change& change) {
  int size = change.granted.preempts.empty() ? 0 : 3;
  for (const Step& step : change.steps) {
    size = std::max(size, std::visit(StepSize(), step));
    const auto* ended = std::get_if<EndPods>(&step);
    if (ended == nullptr) continue;
    std::set<planning::GangId> gangs;
    for (const PodId pod : ended->pods) gangs.insert(snapshot.pods[pod].gang);
    if (gangs.size() > kFewGangs) size = std::max(size, 4);
  }
  return {size, change.steps.size()};
}

class Search {
 public:
  Search(const Snapshot& snapshot, const planning::Policies& policies, const std::vector<PriorityClass>& classes,
         const Asker& asker)
      : snapshot_(snapshot),
        asker_(asker),
        gang_(snapshot.gangs[asker.gang]),
        what_if_(snapshot, policies, asker),
        plan_(what_if_.plan_for(snapshot)) {
    for (const PriorityClass& one : classes)
      if (one.value <= kHighestUserPriority) classes_.push_back(one);
    std::sort(classes_.begin(), classes_.end(), [](const PriorityClass& a, const PriorityClass& b) {
      return std::tie(a.value, a.name) < std::tie(b.value, b.name);
    });
  }

  std::vector<Change> run() {
    if (gang_.members.empty() || ticket_for(plan_, asker_) != nullptr) return {};
    Steps base;
    if (const std::int64_t missing = missing_members(); missing > 0) {
      base.emplace_back(CreateMembers{missing});
      offer(base);
      lower_minimum({});
    }
    const Steps rules = rules_in_the_way();
    if (found_.empty()) {
      for (const Step& rule : rules)
        if (offer(joined(base, {rule}))) spare_nodes(found_.back(), base.size());
      costly(base);
    }
    if (found_.empty()) combined(base, rules);
    if (found_.empty()) add_nodes(base);
    if (found_.empty()) {
      add_nodes(joined(base, rules));
      for (Change& change : found_) spare(change, rules.size(), base.size());
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [&](const Change& a, const Change& b) { return size_of(snapshot_, a) < size_of(snapshot_, b); });
    return std::move(found_);
  }

 private:
  static Steps joined(Steps first, const Steps& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  bool offer(Steps steps) {
    auto granted = what_if_.try_with(steps);
    if (!granted) return false;
    found_.push_back({std::move(steps), std::move(*granted)});
    return true;
  }

  std::int64_t missing_members() const {
    std::int64_t have = 0;
    for (const PodId member : gang_.members) {
      const Pod& pod = snapshot_.pods[member];
      if (!pod.is_terminating && (pod.node != kNone || !pod.is_gated)) ++have;
    }
    return std::max<std::int64_t>(0, gang_.min_members - have);
  }

  // What keeps the asker from nodes besides room, one rule a step, each of which costs nobody anything to lift.
  Steps rules_in_the_way() const;
  void add_node_rules(Steps& rules) const;
  void add_pod_rules(Steps& rules) const;

  // Changes at somebody's cost, on top of `base`.
  void costly(const Steps& base) {
    end_others(base);
    lower_requests(base);
    lower_minimum(base);
    raise_priority(base);
  }
  void end_others(const Steps& base) {
    if (auto pods = find_ending(what_if_, base)) offer(joined(base, {EndPods{std::move(*pods)}}));
  }
  void lower_requests(const Steps& base);
  std::int64_t largest_request(planning::ResourceId resource) const;
  bool is_offered(planning::ResourceId resource) const;
  void lower_all_that_is_short(const Steps& base);
  void lower_minimum(const Steps& base);
  void raise_priority(const Steps& base);
  void combined(const Steps& base, const Steps& rules);
  void spare(Change& change, std::size_t rules, std::size_t from);
  void spare_nodes(Change& change, std::size_t at);
  void add_nodes(const Steps& base);

  const Snapshot& snapshot_;
  Asker asker_;
  const Gang& gang_;
  WhatIf what_if_;
  planning::Plan plan_;  // as things are
  std::vector<PriorityClass> classes_;
  std::vector<Change> found_;
};

void Search::add_node_rules(Steps& rules) const {
  Uncordon cordoned;
  RestoreNodes broken;
  std::set<planning::Taint> taints;
  for (NodeId id = 0; id < snapshot_.nodes.size(); ++id) {
    const Node& node = snapshot_.nodes[id];
    if (node.name.empty()) continue;
    if (node.traits->is_unschedulable) cordoned.nodes.push_back(id);
    bool is_broken = false;
    for (const planning::Taint& taint : node.traits->taints) {
      if (taint.effect == planning::Taint::Effect::kPreferNoSchedule) continue;
      if (is_condition_of_node(taint)) {
        is_broken = true;
      } else if (taint.key != kCordonTaint) {
        taints.insert(taint);
      }
    }
    if (is_broken) broken.nodes.push_back(id);
  }
  const auto by_name = [&](NodeId a, NodeId b) { return snapshot_.nodes[a].name < snapshot_.nodes[b].name; };
  std::sort(cordoned.nodes.begin(), cordoned.nodes.end(), by_name);
  std::sort(broken.nodes.begin(), broken.nodes.end(), by_name);
  if (!cordoned.nodes.empty()) rules.emplace_back(std::move(cordoned));
  for (const planning::Taint& taint : taints) rules.emplace_back(Tolerate{taint});
  if (!broken.nodes.empty()) rules.emplace_back(std::move(broken));
}

void Search::add_pod_rules(Steps& rules) const {
  std::set<std::pair<std::string, std::string>> labels;
  std::set<std::string> spread;
  bool has_node_affinity = false;
  bool has_affinity = false;
  bool has_anti_affinity = false;
  bool has_ports = false;
  for (const PodId member : waiting_members(snapshot_, asker_.gang)) {
    const PodShape& shape = *snapshot_.pods[member].shape;
    for (const planning::NodeSelector& selector : shape.required) {
      const bool is_simple = is_node_selector(asker_, selector);
      has_node_affinity |= !is_simple;
      if (is_simple)
        for (const planning::Requirement& label : selector.terms[0].labels) labels.emplace(label.key, label.values[0]);
    }
    has_affinity |= !shape.affinity.empty();
    has_anti_affinity |= !shape.anti_affinity.empty();
    has_ports |= !shape.ports.empty();
    for (const planning::SpreadConstraint& constraint : shape.spread)
      if (constraint.is_required) spread.insert(constraint.topology_key);
  }
  for (const auto& [key, value] : labels) rules.emplace_back(DropNodeSelector{key, value});
  if (has_node_affinity) rules.emplace_back(DropNodeAffinity{});
  if (has_affinity) rules.emplace_back(DropPodAffinity{});
  if (has_anti_affinity) rules.emplace_back(DropPodAntiAffinity{});
  for (const std::string& key : spread) rules.emplace_back(DropSpread{key});
  if (has_ports) rules.emplace_back(DropHostPorts{});
}

Steps Search::rules_in_the_way() const {
  Steps rules;
  if (plan_.reservation && plan_.reservation->gang != asker_.gang && plan_.reservation->starts) {
    // A little less, since it starts a little later than now.
    const Duration left = *plan_.reservation->starts - snapshot_.now - std::chrono::minutes(1);
    const Duration until = std::chrono::floor<std::chrono::minutes>(left);
    if (until >= kShortestToSay) rules.emplace_back(SayDuration{until});
  }
  add_pod_rules(rules);
  add_node_rules(rules);
  if (!gang_.min_resources.empty()) rules.emplace_back(DropMinResources{});
  return rules;
}

// The largest amount below what it asks for with which it runs.
void Search::lower_requests(const Steps& base) {
  std::set<planning::ResourceId> asked;
  for (const PodId member : waiting_members(snapshot_, asker_.gang))
    for (const auto& [resource, amount] : snapshot_.pods[member].shape->request)
      if (resource != planning::kPods) asked.insert(resource);
  bool was_found = false;
  for (const planning::ResourceId resource : asked) {
    const std::int64_t unit = unit_of(resource);
    const std::int64_t from = largest_request(resource);
    const auto lowered = [&](std::int64_t to) { return joined(base, {LowerRequest{resource, from, to}}); };
    std::int64_t low = is_offered(resource) ? std::min(unit, from - 1) : 0;
    if (low < 0 || (low == 0 && is_offered(resource)) || !what_if_.try_with(lowered(low))) continue;
    std::int64_t high = from;
    while (high - low > unit) {
      const std::int64_t middle = low + (high - low) / unit / 2 * unit;
      if (middle == low) break;
      (what_if_.try_with(lowered(middle)) ? low : high) = middle;
    }
    was_found |= offer(lowered(low));
  }
  if (!was_found) lower_all_that_is_short(base);
}

std::int64_t Search::largest_request(planning::ResourceId resource) const {
  std::int64_t largest = 0;
  for (const PodId member : waiting_members(snapshot_, asker_.gang))
    largest = std::max(largest, planning::amount_of(snapshot_.pods[member].shape->request, resource));
  return largest;
}

bool Search::is_offered(planning::ResourceId resource) const {
  return std::any_of(snapshot_.nodes.begin(), snapshot_.nodes.end(),
                     [&](const Node& node) { return planning::amount_of(node.allocatable, resource) > 0; });
}

// Where one resource alone will not do: everything that the nearest node lacks.
void Search::lower_all_that_is_short(const Steps& base) {
  if (what_if_.is_exhausted()) return;
  const planning::Plan plan = what_if_.plan_for(what_if_.with(base));
  for (const planning::Verdict& verdict : plan.verdicts) {
    if (verdict.gang != asker_.gang || verdict.short_by.size() < 2) continue;
    Steps steps = base;
    for (const auto& [resource, lack] : verdict.short_by) {
      const std::int64_t from = largest_request(resource);
      const std::int64_t to = (from - lack) / unit_of(resource) * unit_of(resource);
      if (resource == planning::kPods || to <= 0) return;
      steps.emplace_back(LowerRequest{resource, from, to});
    }
    offer(std::move(steps));
    return;
  }
}

void Search::lower_minimum(const Steps& base) {
  const std::int64_t from = gang_.min_members;
  if (gang_.is_plain || from < 2) return;
  const auto lowered = [&](std::int64_t to) { return joined(base, {LowerMinMembers{from, to}}); };
  std::int64_t low = 1;
  if (!what_if_.try_with(lowered(low))) return;
  std::int64_t high = from;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (what_if_.try_with(lowered(middle)) ? low : high) = middle;
  }
  offer(lowered(low));
}

void Search::raise_priority(const Steps& base) {
  const std::vector<PodId> waiting = waiting_members(snapshot_, asker_.gang);
  const bool never =
      std::any_of(waiting.begin(), waiting.end(), [&](PodId pod) { return snapshot_.pods[pod].never_preempts; });
  if (never && offer(joined(base, {AllowPreemption{}}))) return;
  const std::int64_t now = planning::priority_of(snapshot_, gang_);
  // The planner itself says whether any priority would do, and whom it would take the room from.
  if (!what_if_.try_with(joined(base, {RaisePriority{"", what_if_.policies().top_priority}}))) return;
  for (const PriorityClass& one : classes_) {
    if (one.value <= now || one.never_preempts) continue;
    if (offer(joined(base, {RaisePriority{one.name, one.value}}))) return;
  }
  std::set<std::int64_t> others;
  for (const Pod& pod : snapshot_.pods)
    if (!pod.name.empty() && pod.node != kNone && pod.priority >= now && pod.priority < kHighestUserPriority)
      others.insert(pod.priority + 1);
  if (what_if_.policies().top_priority <= kHighestUserPriority) others.insert(what_if_.policies().top_priority);
  for (const std::int64_t value : others)
    if (offer(joined(base, {RaisePriority{"", value}}))) return;
}

// Everything that is in the way is lifted at once; then what need not be is put back.
void Search::combined(const Steps& base, const Steps& rules) {
  const Steps all = joined(base, rules);
  if (rules.size() > 1) offer(all);
  if (found_.empty() && !rules.empty()) costly(all);
  for (Change& change : found_) spare(change, rules.size(), base.size());
}

// Takes out of a change what it can do without: whole rules, and nodes of those that name several.
void Search::spare(Change& change, std::size_t rules, std::size_t from) {
  for (std::size_t i = from + rules; i-- > from;) {
    Steps fewer = change.steps;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (auto granted = what_if_.try_with(fewer)) change = {std::move(fewer), std::move(*granted)};
  }
  for (std::size_t i = 0; i < change.steps.size(); ++i) spare_nodes(change, i);
}

// The first few nodes that suffice, or the last of them alone.
void Search::spare_nodes(Change& change, std::size_t at) {
  const std::vector<NodeId>* nodes = nodes_of(change.steps[at]);
  if (nodes == nullptr || nodes->size() < 2) return;
  const std::vector<NodeId> all = *nodes;
  const auto try_nodes = [&](std::vector<NodeId> some) {
    Steps steps = change.steps;
    *nodes_of(steps[at]) = std::move(some);
    auto granted = what_if_.try_with(steps);
    if (granted) change = {std::move(steps), std::move(*granted)};
    return granted.has_value();
  };
  const auto first = [&](std::size_t count) {
    return std::vector<NodeId>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  };
  std::size_t low = 0;
  std::size_t high = all.size();
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (try_nodes(first(middle)) ? high : low) = middle;
  }
  if (high > 1) try_nodes({all[high - 1]});
}

void Search::add_nodes(const Steps& base) {
  const std::vector<PodId> waiting = waiting_members(snapshot_, asker_.gang);
  AddNodes step;
  for (NodeId id = 0; id < snapshot_.nodes.size(); ++id) {
    const Node& node = snapshot_.nodes[id];
    if (node.name.empty()) continue;
    const auto rank = [&](NodeId other) {
      std::int64_t devices = 0;
      for (planning::ResourceId r = planning::kFirstExtended; r < snapshot_.resources.size(); ++r)
        devices += planning::amount_of(snapshot_.nodes[other].allocatable, r);
      return std::make_tuple(-devices, snapshot_.nodes[other].name);
    };
    if (step.like == kNone || rank(id) < rank(step.like)) step.like = id;
  }
  if (step.like != kNone) step.allocatable = snapshot_.nodes[step.like].allocatable;
  for (const PodId pod : waiting) {
    for (const auto& [resource, amount] : snapshot_.pods[pod].shape->request) {
      if (resource >= step.allocatable.size()) step.allocatable.resize(resource + std::size_t{1});
      step.allocatable[resource] = std::max(step.allocatable[resource], amount);
    }
  }
  for (step.count = 1; step.count <= kMostNodesToAdd; step.count *= 2)
    if (what_if_.try_with(joined(base, {step}))) break;
  if (step.count > kMostNodesToAdd) return;
  std::int64_t low = step.count / 2;
  std::int64_t high = step.count;
  while (high - low > 1) {
    step.count = low + (high - low) / 2;
    (what_if_.try_with(joined(base, {step})) ? high : low) = step.count;
  }
  step.count = high;
  offer(joined(base, {step}));
}

}  // namespace

std::vector<Change> find_changes(const Snapshot& snapshot, const planning::Policies& policies,
                                 const std::vector<PriorityClass>& classes, const Asker& asker) {
  return Search(snapshot, policies, classes, asker).run();
}

}  // namespace gangway::scheduler
