// Random clusters for property tests, what a cluster does when plans are carried out, and plans as text.
//
// A cluster is made from a recipe: a list of nodes and a list of gangs, each a seed and a set of features. RapidCheck
// shrinks recipes by leaving out nodes, gangs and features, and none of these changes what the others are like.
#pragma once

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "planning/plan.h"
#include "planning/schedule/schedule.h"
#include "planning/snapshot.h"

namespace gangway::planning::testing {

struct Ingredient {
  std::uint32_t seed = 0;
  std::uint32_t features = 0;  // a bit each, see Feature
};

struct Recipe {
  std::vector<Ingredient> nodes;
  std::vector<Ingredient> gangs;
  Ingredient cluster;
};

// Of nodes, of gangs, and of the cluster: what is unusual about them.
enum Feature : std::uint32_t {
  kNodeIsTainted = 0,
  kNodeIsCordoned,
  kNodeHasNoRack,
  kNodeHasNoHostname,
  kNodeIsCut,  // by an administrator, after pods were bound to it
  kNodeIsCordonedLater,
  kNodeIsGone,  // although pods and tickets name it
  kNodeHasOtherDevices,

  kIsGroup = 0,
  kIsElastic,
  kRuns,
  kRunsInPart,
  kHasLateMembers,
  kNeverPreempts,
  kIsEnding,
  kIsGated,
  kHasMinimumRuntime,
  kWasPreempted,
  kHasCheckpoint,
  kEnds,
  kHasPorts,
  kHasAffinity,
  kHasAntiAffinity,
  kHasSpread,
  kSelectsNodes,
  kTolerates,
  kPrefers,
  kChoosesOnPreempt,
  kHasMixedShapes,
  kHasMixedPriorities,
  kHasMinimumResources,
  kIsIncomplete,
  kHasNoRanks,
  kComesLater,   // after earlier plans were carried out in part
  kIsRecreated,  // what fails comes again

  kHasBudgets = 0,
  kHasHistory,
  kHasLongHistory,
  kHasLowTop,
};

// Numbers from a seed, each by what it is for, so that they do not depend on each other.
class Draw {
 public:
  explicit Draw(const Ingredient& of) : of_(of) {}
  bool has(Feature feature) const { return (of_.features >> feature & 1) != 0; }
  std::uint64_t number(std::uint64_t what, std::uint64_t bound) const {
    std::uint64_t x = (std::uint64_t{of_.seed} << 32 | what) + 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return (x ^ x >> 31) % bound;
  }
  template <class T>
  const T& one_of(std::uint64_t what, const std::vector<T>& values) const {
    return values[number(what, values.size())];
  }
  bool chance(std::uint64_t what, std::uint64_t percent) const { return number(what, 100) < percent; }

 private:
  Ingredient of_;
};

// Tables keep their places when something goes: what names it must not.
inline void remove_pod(Snapshot& snapshot, PodId id) {
  if (snapshot.pods[id].gang != kNone) std::erase(snapshot.gangs[snapshot.pods[id].gang].members, id);
  for (Gang& gang : snapshot.gangs) {
    if (!gang.ticket) continue;
    std::erase(gang.ticket->victims, id);
    std::erase_if(gang.ticket->places, [&](const auto& place) { return place.pod == id; });
  }
  Gang& gang = snapshot.gangs[snapshot.pods[id].gang];
  if (gang.is_plain && gang.members.empty()) gang = {};
  snapshot.pods[id] = {};
}

inline void drop_ticket_if_done(Gang& gang) {
  if (gang.ticket && gang.ticket->places.empty() && gang.ticket->holds.empty()) gang.ticket.reset();
}

// The scheduler carries out a plan: who has room is bound, others are told to end and their room is waited for.
inline void carry_out(Snapshot& snapshot, const Plan& plan) {
  for (const GangId id : plan.taken_back) snapshot.gangs[id].ticket.reset();
  for (const Ticket& ticket : plan.tickets)
    for (const GangId id : ticket.withdrawn) snapshot.gangs[id].ticket.reset();
  for (const Ticket& ticket : plan.tickets) {
    Gang& gang = snapshot.gangs[ticket.gang];
    OpenTicket open = gang.ticket.value_or(OpenTicket{});
    for (const Placement& place : ticket.places) {
      if (ticket.is_immediate()) {
        snapshot.pods[place.pod].node = place.node;
        snapshot.pods[place.pod].since = snapshot.now;
      } else {
        open.places.push_back({place.pod, place.node});
      }
    }
    for (const Hold& hold : ticket.holds)
      open.holds.push_back({gang.late[hold.late].shape, gang.late[hold.late].labels, hold.node});
    open.victims.insert(open.victims.end(), ticket.waits_for.begin(), ticket.waits_for.end());
    for (const Eviction& eviction : ticket.evictions) {
      for (const PodId pod : eviction.pods) {
        snapshot.pods[pod].is_terminating = true;
        open.victims.push_back(pod);
      }
      if (eviction.how != Eviction::How::kShrink) snapshot.gangs[eviction.gang].preempted.push_back(snapshot.now);
    }
    gang.ticket = std::move(open);
    drop_ticket_if_done(gang);
  }
}

// All that is under way comes to its end: who was told to go has gone and waits again, who has a place is bound.
inline void come_to_rest(Snapshot& snapshot) {
  for (PodId id = 0; id < snapshot.pods.size(); ++id) {
    Pod& pod = snapshot.pods[id];
    if (pod.name.empty() || !pod.is_terminating) continue;
    for (Gang& gang : snapshot.gangs)
      if (gang.ticket) std::erase(gang.ticket->victims, id);
    pod.is_terminating = false;
    pod.node = kNone;
    pod.since = snapshot.gangs[pod.gang].since;
  }
  for (Gang& gang : snapshot.gangs) {
    if (!gang.ticket) continue;
    for (const OpenTicket::Place& place : gang.ticket->places) {
      snapshot.pods[place.pod].node = place.node;
      snapshot.pods[place.pod].since = snapshot.now;
    }
    gang.ticket->places.clear();
    drop_ticket_if_done(gang);
  }
}

class Kitchen {
 public:
  explicit Kitchen(const Recipe& recipe) : recipe_(recipe), cluster_(recipe.cluster) {
    snapshot_.now = WallTime(std::chrono::seconds(1'700'000'000));
    gpu_ = snapshot_.resources.id_of("nvidia.com/gpu");
    other_gpu_ = snapshot_.resources.id_of("amd.com/gpu");
    device_ = snapshot_.resources.id_of("example.com/fpga");
    if (cluster_.has(kHasLowTop)) policies_.top_priority = cluster_.one_of<std::int64_t>(1, {500, 1000});
    for (const Ingredient& node : recipe.nodes) add_node(Draw(node));
    for (const Ingredient& gang : recipe.gangs) add_gang(Draw(gang));
    if (cluster_.has(kHasBudgets)) add_budgets();
    for (NodeId id = 0; id < recipe.nodes.size(); ++id) cut(id, Draw(recipe.nodes[id]), kNodeIsCut);
    if (cluster_.has(kHasHistory)) carry_out_in_part(Ingredient{recipe.cluster.seed + 1, 0});
    if (cluster_.has(kHasLongHistory)) carry_out_in_part(Ingredient{recipe.cluster.seed + 2, 0});
    for (GangId id = 0; id < recipe.gangs.size(); ++id)
      if (Draw(recipe.gangs[id]).has(kComesLater)) let_in(id, Draw(recipe.gangs[id]));
    for (NodeId id = 0; id < recipe.nodes.size(); ++id) spoil(id, Draw(recipe.nodes[id]));
  }

  const Snapshot& snapshot() const { return snapshot_; }
  const Policies& policies() const { return policies_; }

 private:
  template <class T>
  static std::shared_ptr<const T> shared(std::vector<std::shared_ptr<const T>>& known, T value) {
    for (const auto& other : known)
      if (*other == value) return other;
    return known.emplace_back(std::make_shared<const T>(std::move(value)));
  }

  // Names whose order has nothing to do with that of the tables.
  static std::string name_from(const Draw& draw, std::size_t index) {
    return fmt::format("{}{}", static_cast<char>('a' + draw.number(1, 8)), index);
  }

  void add_node(const Draw& draw) {
    Node node;
    node.name = "n" + name_from(draw, snapshot_.nodes.size());
    if (!draw.has(kNodeHasNoHostname)) node.hostname = draw.chance(2, 80) ? node.name : "host-" + node.name;
    NodeTraits traits;
    traits.labels = {{"disk", draw.one_of<std::string>(3, {"hdd", "ssd"})}};
    if (!draw.has(kNodeHasNoRack)) {
      const auto rack = draw.number(4, 3);
      traits.labels.emplace_back("topology.kubernetes.io/rack", fmt::format("r{}", rack));
      traits.labels.emplace_back("topology.kubernetes.io/zone", fmt::format("z{}", rack / 2));
    }
    if (draw.has(kNodeIsTainted)) {
      const auto effect = draw.one_of<Taint::Effect>(
          5, {Taint::Effect::kNoSchedule, Taint::Effect::kPreferNoSchedule, Taint::Effect::kNoExecute});
      traits.taints = {{"dedicated", draw.one_of<std::string>(6, {"x", "y"}), effect}};
    }
    traits.is_unschedulable = draw.has(kNodeIsCordoned);
    node.traits = shared(traits_, std::move(traits));
    const auto gi = std::int64_t{1} << 30;
    node.allocatable = {draw.one_of<std::int64_t>(7, {2000, 4000, 8000, 64000}),
                        draw.one_of<std::int64_t>(8, {8, 16, 64}) * gi, 100 * gi,
                        draw.one_of<std::int64_t>(9, {3, 5, 110}), draw.one_of<std::int64_t>(10, {0, 1, 2, 4, 8})};
    if (draw.has(kNodeHasOtherDevices)) {
      node.allocatable.push_back(draw.one_of<std::int64_t>(11, {0, 1, 4, 8}));
      node.allocatable.push_back(draw.one_of<std::int64_t>(12, {0, 1, 4}));
    }
    snapshot_.nodes.push_back(std::move(node));
  }

  Selector selector_from(const Draw& draw, std::uint64_t what) const {
    if (draw.chance(what, 10)) return {};
    return {{{"app", Requirement::Op::kIn, {draw.one_of<std::string>(what + 1, {"a", "b", "c"})}}}};
  }
  std::string key_from(const Draw& draw, std::uint64_t what) const {
    return draw.one_of<std::string>(
        what, {kHostnameLabel, "topology.kubernetes.io/rack", "topology.kubernetes.io/zone", "disk"});
  }
  AffinityTerm term_from(const Draw& draw, std::uint64_t what) const {
    AffinityTerm term{.pods = selector_from(draw, what), .topology_key = key_from(draw, what + 2)};
    term.all_namespaces = draw.chance(what + 3, 30);
    if (!term.all_namespaces) term.namespaces = {draw.one_of<std::string>(what + 4, {"default", "default", "other"})};
    return term;
  }
  NodeTerm node_term_from(const Draw& draw, std::uint64_t what) const {
    switch (draw.number(what, 6)) {
      case 0:
        return {.labels = {{"disk", Requirement::Op::kIn, {"ssd"}}}};
      case 1:
        return {.labels = {{"topology.kubernetes.io/rack", Requirement::Op::kNotIn, {"r1"}}}};
      case 2:
        return {.labels = {{"topology.kubernetes.io/zone", Requirement::Op::kExists, {}}}};
      case 3: {
        const auto index = draw.number(what + 1, snapshot_.nodes.size());
        return {.labels = {{kHostnameLabel, Requirement::Op::kIn, {snapshot_.nodes[index].hostname}}}};
      }
      case 4: {
        const auto index = draw.number(what + 1, snapshot_.nodes.size());
        return {.names = {{"metadata.name", Requirement::Op::kNotIn, {snapshot_.nodes[index].name}}}};
      }
      default:
        return {};
    }
  }

  std::shared_ptr<const PodShape> shape_from(const Draw& draw, const std::string& ns, std::uint64_t salt) {
    const auto at = [&](std::uint64_t what) { return what + 1000 * salt; };
    PodShape shape;
    shape.ns = ns;
    const auto gi = std::int64_t{1} << 30;
    shape.load_cpu = draw.one_of<std::int64_t>(at(20), {100, 500, 1000, 2000, 4000});
    shape.load_memory = draw.one_of<std::int64_t>(at(21), {1, 2, 4}) * gi;
    // Who requests nothing still counts as something.
    if (!draw.chance(at(22), 10)) shape.request = {{kCpu, shape.load_cpu}, {kMemory, shape.load_memory}};
    shape.request.emplace_back(kPods, 1);
    if (const auto gpus = draw.one_of<std::int64_t>(at(23), {0, 0, 1, 1, 2, 4, 8}); gpus > 0)
      shape.request.emplace_back(draw.chance(at(24), 85) ? gpu_ : other_gpu_, gpus);
    if (draw.chance(at(25), 8)) shape.request.emplace_back(device_, 1);
    if (draw.has(kTolerates)) {
      const bool all = draw.chance(at(26), 50);
      shape.tolerations = {all ? Toleration{.exists = true} : Toleration{.key = "dedicated", .value = "x"}};
    }
    if (draw.has(kSelectsNodes) && !snapshot_.nodes.empty()) {
      if (draw.chance(at(27), 75)) {
        NodeSelector selector{{node_term_from(draw, at(30))}};
        if (draw.chance(at(28), 40)) selector.terms.push_back(node_term_from(draw, at(32)));
        shape.required = {selector};
      } else {
        shape.limits = {{{{node_term_from(draw, at(34))}}, "node(s) had volume node affinity conflict"}};
      }
    }
    if (draw.has(kPrefers) && !snapshot_.nodes.empty()) {
      shape.preferred = {{node_term_from(draw, at(36)), 10}};
      AffinityTerm term = term_from(draw, at(38));
      term.weight = draw.one_of<std::int64_t>(at(44), {-50, 50});
      shape.preferred_affinity = {term};
    }
    if (draw.has(kHasPorts))
      shape.ports = {{draw.one_of<std::string>(at(45), {"", "", "10.0.0.1", "10.0.0.2"}), "TCP",
                      draw.one_of<std::int64_t>(at(46), {80, 80, 443})}};
    if (draw.has(kHasAffinity)) {
      shape.affinity = {term_from(draw, at(50))};
      if (draw.chance(at(55), 30)) shape.affinity.push_back(term_from(draw, at(56)));
    }
    if (draw.has(kHasAntiAffinity)) shape.anti_affinity = {term_from(draw, at(62))};
    if (draw.has(kHasSpread)) {
      for (std::uint64_t i = 0; i < 1 + draw.number(at(68), 2); ++i) {
        shape.spread.push_back({.pods = selector_from(draw, at(70 + 10 * i)),
                                .topology_key = key_from(draw, at(72 + 10 * i)),
                                .max_skew = 1 + static_cast<std::int64_t>(draw.number(at(73 + 10 * i), 2)),
                                .min_domains = draw.one_of<std::int64_t>(at(74 + 10 * i), {1, 1, 1, 3}),
                                .is_required = draw.chance(at(75 + 10 * i), 70),
                                .honors_node_affinity = draw.chance(at(76 + 10 * i), 70),
                                .honors_taints = draw.chance(at(77 + 10 * i), 30)});
      }
    }
    return shared(shapes_, std::move(shape));
  }

  void add_gang(const Draw& draw) {
    const auto id = static_cast<GangId>(snapshot_.gangs.size());
    Gang gang;
    gang.ns = draw.chance(2, 80) ? "default" : "other";
    gang.name = name_from(draw, id);
    gang.uid = "uid-" + gang.name;
    gang.is_plain = !draw.has(kIsGroup);
    gang.since = snapshot_.now - std::chrono::seconds(draw.number(3, 5) * 600);
    const std::int64_t count = gang.is_plain ? 1 : 1 + static_cast<std::int64_t>(draw.number(4, 5));
    gang.min_members = gang.size = count;
    if (!gang.is_plain && draw.has(kIsElastic))
      gang.min_members = 1 + static_cast<std::int64_t>(draw.number(5, static_cast<std::uint64_t>(count)));
    if (!gang.is_plain && draw.has(kIsIncomplete)) gang.size = ++gang.min_members;
    if (draw.has(kHasMinimumRuntime)) gang.min_runtime = std::chrono::minutes(draw.one_of<int>(6, {5, 60}));
    if (draw.has(kWasPreempted)) {
      gang.max_preemptions = static_cast<std::int64_t>(draw.number(7, 3));
      gang.preempted = {snapshot_.now - std::chrono::minutes(draw.one_of<int>(8, {10, 70}))};
    }
    if (draw.has(kHasCheckpoint)) gang.last_checkpoint = snapshot_.now - std::chrono::minutes(draw.number(9, 30));
    if (draw.has(kChoosesOnPreempt))
      gang.on_preempt = draw.one_of<OnPreempt>(10, {OnPreempt::kRequeue, OnPreempt::kRequeue, OnPreempt::kShrink});
    if (!gang.is_plain && draw.has(kHasLateMembers))
      gang.late = {{shape_from(draw, gang.ns, 7), {{"app", "a"}}, 1 + static_cast<std::int64_t>(draw.number(11, 2))}};
    if (draw.has(kHasMinimumResources))
      gang.min_resources = {{gpu_, static_cast<std::int64_t>(1 + draw.number(12, 4))}};
    // Those who run are often less important than those who come later, or nobody would be evicted.
    const std::vector<std::int64_t> priorities{0, 100, 500, 1000};
    std::int64_t priority = draw.one_of(13, priorities);
    if (draw.has(kComesLater)) {
      priority = std::max(priority, draw.one_of(17, priorities));
    } else if (draw.has(kRuns)) {
      priority = std::min(priority, draw.one_of(17, priorities));
    }
    const auto shape = shape_from(draw, gang.ns, 1);
    const auto other_shape = draw.has(kHasMixedShapes) ? shape_from(draw, gang.ns, 2) : shape;
    snapshot_.gangs.push_back(gang);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto salt = 10'000 + 100 * static_cast<std::uint64_t>(i);
      Pod pod;
      pod.ns = gang.ns;
      pod.name = gang.is_plain ? gang.name : fmt::format("{}-{}", gang.name, i);
      pod.uid = "uid-" + pod.name;
      pod.gang = id;
      pod.shape = i % 2 == 1 ? other_shape : shape;
      if (!draw.chance(14, 20)) pod.labels = {{"app", draw.one_of<std::string>(15, {"a", "b", "c"})}};
      pod.priority = draw.has(kHasMixedPriorities) && draw.chance(salt, 50) ? 300 : priority;
      pod.never_preempts = draw.has(kNeverPreempts);
      pod.is_gated = draw.has(kComesLater) || (draw.has(kIsGated) && draw.chance(salt + 1, 50));
      pod.rank = draw.has(kHasNoRanks) ? 0 : i;
      pod.since = snapshot_.now - std::chrono::seconds(60 + draw.number(16, 5) * 600);
      if (draw.has(kEnds)) pod.ends = snapshot_.now + std::chrono::minutes(10 * draw.number(salt + 2, 6));
      const bool runs = draw.has(kRuns) && !pod.is_gated && !(draw.has(kRunsInPart) && draw.chance(salt + 3, 40));
      if (runs) {
        pod.node = node_for(pod, draw.number(salt + 4, 1000));
        pod.is_terminating = pod.node != kNone && draw.has(kIsEnding) && draw.chance(salt + 5, 60);
      }
      snapshot_.gangs[id].members.push_back(static_cast<PodId>(snapshot_.pods.size()));
      snapshot_.pods.push_back(std::move(pod));
    }
  }

  // Somewhere with room, as others may have put it.
  NodeId node_for(const Pod& pod, std::uint64_t from) const {
    for (std::uint64_t i = 0; i < snapshot_.nodes.size(); ++i) {
      const auto id = static_cast<NodeId>((from + i) % snapshot_.nodes.size());
      Amounts left = snapshot_.nodes[id].allocatable;
      for (const Pod& other : snapshot_.pods)
        if (other.node == id) subtract(left, other.shape->request);
      subtract(left, pod.shape->request);
      if (std::all_of(left.begin(), left.end(), [](std::int64_t amount) { return amount >= 0; })) return id;
    }
    return kNone;
  }

  void add_budgets() {
    snapshot_.budgets = {
        {"default", "few", selector_from(cluster_, 2), static_cast<std::int64_t>(cluster_.number(4, 2))},
        {"default", "some", selector_from(cluster_, 5), static_cast<std::int64_t>(cluster_.number(7, 3))}};
  }

  void cut(NodeId id, const Draw& draw, Feature feature) {
    if (!draw.has(feature)) return;
    for (std::int64_t& amount : snapshot_.nodes[id].allocatable) amount /= 2;
  }

  // An earlier plan, and a scheduler that has only come so far with it.
  void carry_out_in_part(const Ingredient& part) {
    const Draw draw(part);
    Plan plan = schedule(snapshot_, policies_);
    std::uint64_t number = 0;
    const auto next = [&](std::uint64_t percent) { return draw.chance(++number, percent); };
    std::erase_if(plan.tickets, [&](const Ticket& ticket) { return ticket.withdrawn.empty() && next(20); });
    carry_out(snapshot_, plan);
    for (const Ticket& ticket : plan.tickets) {
      for (const Eviction& eviction : ticket.evictions)
        for (const PodId pod : eviction.pods) {
          if (next(30)) {
            go(pod, eviction);
          } else if (next(30)) {
            snapshot_.pods[pod].is_terminating = false;  // not told yet
          }
        }
      if (!ticket.is_immediate() || next(40)) continue;
      Gang& gang = snapshot_.gangs[ticket.gang];
      if (!gang.ticket) gang.ticket.emplace();
      for (const Placement& place : ticket.places) {
        if (next(50)) continue;
        snapshot_.pods[place.pod].node = kNone;
        gang.ticket->places.push_back({place.pod, place.node});
      }
      drop_ticket_if_done(gang);
    }
  }

  void go(PodId id, const Eviction& eviction) {
    Pod& pod = snapshot_.pods[id];
    if (eviction.how == Eviction::How::kFail && !Draw(recipe_.gangs[pod.gang]).has(kIsRecreated)) {
      remove_pod(snapshot_, id);
      return;
    }
    for (Gang& gang : snapshot_.gangs)
      if (gang.ticket) std::erase(gang.ticket->victims, id);
    pod.node = kNone;
    pod.is_terminating = false;
    pod.since = snapshot_.gangs[pod.gang].since;
  }

  void let_in(GangId id, const Draw& draw) {
    const std::vector<PodId>& members = snapshot_.gangs[id].members;
    for (std::size_t i = 0; i < members.size(); ++i)
      snapshot_.pods[members[i]].is_gated = draw.has(kIsGated) && draw.chance(10'001 + 100 * i, 50);
  }

  void spoil(NodeId id, const Draw& draw) {
    Node& node = snapshot_.nodes[id];
    if (draw.has(kNodeIsCordonedLater)) {
      NodeTraits traits = *node.traits;
      traits.is_unschedulable = true;
      node.traits = shared(traits_, std::move(traits));
    }
    if (draw.has(kNodeIsCordonedLater) && draw.chance(20, 50)) cut(id, draw, kNodeIsCordonedLater);
    if (!draw.has(kNodeIsGone)) return;
    node = {};
    // Who reads a ticket back finds no node of that name.
    if (draw.chance(21, 50)) return;
    for (Gang& gang : snapshot_.gangs) {
      if (!gang.ticket) continue;
      for (auto& place : gang.ticket->places)
        if (place.node == id) place.node = kNone;
      for (auto& hold : gang.ticket->holds)
        if (hold.node == id) hold.node = kNone;
    }
  }

  const Recipe& recipe_;
  Draw cluster_;
  Snapshot snapshot_;
  Policies policies_;
  ResourceId gpu_ = 0;
  ResourceId other_gpu_ = 0;
  ResourceId device_ = 0;
  std::vector<std::shared_ptr<const NodeTraits>> traits_;
  std::vector<std::shared_ptr<const PodShape>> shapes_;
};

// The same cluster as other events would have built it: every table in another order and with gaps, other numbers for
// resources, other addresses.
inline Snapshot shuffled(const Snapshot& from, std::uint32_t seed) {
  const Draw draw(Ingredient{seed, 0});
  std::uint64_t number = 0;
  const auto shuffle = [&](auto& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[draw.number(++number, i)]);
  };
  // Where each entry goes; some places stay empty.
  const auto places_for = [&](std::size_t count) {
    std::vector<std::uint32_t> places(count + 2);
    for (std::uint32_t i = 0; i < places.size(); ++i) places[i] = i;
    shuffle(places);
    places.resize(count);
    return places;
  };
  const auto nodes = places_for(from.nodes.size());
  const auto pods = places_for(from.pods.size());
  const auto gangs = places_for(from.gangs.size());
  Snapshot to;
  to.now = from.now;
  to.budgets = from.budgets;
  to.nodes.resize(nodes.size() + 2);
  to.pods.resize(pods.size() + 2);
  to.gangs.resize(gangs.size() + 2);

  std::vector<ResourceId> resources;
  for (std::size_t id = kFirstExtended; id < from.resources.size(); ++id)
    resources.push_back(static_cast<ResourceId>(id));
  shuffle(resources);
  std::vector<ResourceId> now_called{kCpu, kMemory, kEphemeralStorage, kPods};
  now_called.resize(from.resources.size());
  for (const ResourceId id : resources) now_called[id] = to.resources.id_of(from.resources.name_of(id));
  const auto request = [&](Request renumbered) {
    for (auto& [id, amount] : renumbered) id = now_called[id];
    std::sort(renumbered.begin(), renumbered.end());
    return renumbered;
  };
  const auto amounts = [&](const Amounts& old) {
    Amounts renumbered(old.empty() ? 0 : from.resources.size());
    for (std::size_t id = 0; id < old.size(); ++id) renumbered[now_called[id]] = old[id];
    return renumbered;
  };

  std::map<const PodShape*, std::shared_ptr<const PodShape>> shapes;
  std::map<const NodeTraits*, std::shared_ptr<const NodeTraits>> traits;
  const auto shape = [&](const std::shared_ptr<const PodShape>& old) -> std::shared_ptr<const PodShape> {
    if (!old) return nullptr;
    auto& known = shapes[old.get()];
    if (!known) {
      PodShape copy = *old;
      copy.request = request(copy.request);
      known = std::make_shared<const PodShape>(std::move(copy));
    }
    return known;
  };
  const auto node_at = [&](NodeId id) { return id == kNone ? kNone : nodes[id]; };
  // Addresses in another order too.
  for (const std::uint32_t id : places_for(from.pods.size()))
    if (id < from.pods.size()) shape(from.pods[id].shape);
  for (NodeId id = 0; id < from.nodes.size(); ++id) {
    const Node& old = from.nodes[id];
    auto& known = traits[old.traits.get()];
    if (!known && old.traits) known = std::make_shared<const NodeTraits>(*old.traits);
    to.nodes[nodes[id]] = {old.name, old.hostname, known, amounts(old.allocatable)};
  }
  for (PodId id = 0; id < from.pods.size(); ++id) {
    Pod pod = from.pods[id];
    pod.shape = shape(pod.shape);
    if (pod.gang != kNone) pod.gang = gangs[pod.gang];
    pod.node = node_at(pod.node);
    to.pods[pods[id]] = std::move(pod);
  }
  for (GangId id = 0; id < from.gangs.size(); ++id) {
    Gang gang = from.gangs[id];
    for (PodId& member : gang.members) member = pods[member];
    shuffle(gang.members);
    for (LateMembers& late : gang.late) late.shape = shape(late.shape);
    gang.min_resources = request(gang.min_resources);
    if (gang.ticket) {
      for (auto& place : gang.ticket->places) place = {pods[place.pod], node_at(place.node)};
      for (auto& hold : gang.ticket->holds) {
        hold.shape = shape(hold.shape);
        hold.node = node_at(hold.node);
      }
      for (PodId& victim : gang.ticket->victims) victim = pods[victim];
      shuffle(gang.ticket->places);
      shuffle(gang.ticket->victims);
    }
    to.gangs[gangs[id]] = std::move(gang);
  }
  return to;
}

// A plan in which only names occur.
inline std::vector<std::string> lines_of(const Snapshot& snapshot, const Plan& plan) {
  const auto pod = [&](PodId id) { return id == kNone ? "-" : full_name(snapshot.pods[id]); };
  const auto gang = [&](GangId id) { return id == kNone ? "-" : full_name(snapshot.gangs[id]); };
  const auto node = [&](NodeId id) { return id == kNone ? "-" : snapshot.nodes[id].name; };
  const auto seats = [&](const auto& of) {
    std::string out;
    for (const Placement& place : of.places) out += fmt::format(" {}@{}", pod(place.pod), node(place.node));
    for (const Hold& hold : of.holds) out += fmt::format(" late{}@{}", hold.late, node(hold.node));
    return out;
  };
  std::vector<std::string> lines;
  for (const GangId id : plan.taken_back) lines.push_back("takes back " + gang(id));
  for (const Ticket& ticket : plan.tickets) {
    std::string line = gang(ticket.gang) + ":" + seats(ticket);
    for (const Eviction& eviction : ticket.evictions) {
      static constexpr const char* kHow[] = {"shrink", "fail", "requeue"};
      line += fmt::format("; evicts {} ({}:", gang(eviction.gang), kHow[static_cast<int>(eviction.how)]);
      for (const PodId id : eviction.pods) line += " " + pod(id);
      line += ")";
    }
    for (const PodId id : ticket.waits_for) line += "; waits for " + pod(id);
    for (const GangId id : ticket.withdrawn) line += "; withdraws " + gang(id);
    if (ticket.is_growth) line += "; grows";
    line += fmt::format("; loses {}", ticket.lost_gpu_seconds);
    lines.push_back(std::move(line));
  }
  for (const Verdict& verdict : plan.verdicts) {
    std::string line = fmt::format("{} {} waits ({}): {}; nearest {}", gang(verdict.gang), pod(verdict.pod),
                                   static_cast<int>(verdict.code), verdict.message, node(verdict.nearest));
    std::map<std::string, std::int64_t> lacks;
    for (const auto& [id, amount] : verdict.short_by) lacks[snapshot.resources.name_of(id)] = amount;
    for (const auto& [name, amount] : lacks) line += fmt::format("; lacks {} {}", amount, name);
    for (const GangId id : verdict.blockers) line += "; blocked by " + gang(id);
    for (const std::string& protection : verdict.protections) line += "; " + protection;
    lines.push_back(std::move(line));
  }
  if (plan.reservation)
    lines.push_back(fmt::format("reserves for {}:{} at {}", gang(plan.reservation->gang), seats(*plan.reservation),
                                plan.reservation->starts ? to_rfc3339(*plan.reservation->starts) : "-"));
  return lines;
}

// A cluster, as somebody would want to read it who looks for a mistake.
inline std::vector<std::string> lines_of(const Snapshot& snapshot) {
  const auto amounts = [&](const auto& of) {
    std::string out;
    for (std::size_t index = 0; index < snapshot.resources.size(); ++index) {
      const auto id = static_cast<ResourceId>(index);
      if (const std::int64_t amount = amount_of(of, id); amount != 0)
        out += fmt::format(" {}={}", snapshot.resources.name_of(id), id == kMemory ? amount >> 30 : amount);
    }
    return out;
  };
  const auto seconds = [&](WallTime at) {
    return std::chrono::duration_cast<std::chrono::seconds>(snapshot.now - at).count();
  };
  const auto node = [&](NodeId id) { return id == kNone ? "-" : snapshot.nodes[id].name; };
  const auto selector = [](const Selector& of) {
    return of.requirements.empty() ? "*" : of.requirements.front().values.front();
  };
  const auto term = [&](const AffinityTerm& of) {
    return fmt::format("{}/{}/{}", of.all_namespaces ? "*" : of.namespaces.front(), selector(of.pods), of.topology_key);
  };
  const auto nodes = [](const NodeSelector& of) {
    std::string out;
    for (const NodeTerm& one : of.terms) {
      out += "(";
      for (const auto* list : {&one.labels, &one.names})
        for (const Requirement& requirement : *list)
          out += fmt::format("{} op{} {}", requirement.key, static_cast<int>(requirement.op),
                             fmt::join(requirement.values, ","));
      out += ")";
    }
    return out;
  };
  const auto shape = [&](const PodShape& of) {
    std::string out = amounts(of.request);
    for (const Toleration& toleration : of.tolerations) out += " tolerates:" + toleration.key;
    for (const NodeSelector& one : of.required) out += " selects:" + nodes(one);
    for (const PlaceLimit& one : of.limits) out += " limit:" + nodes(one.nodes);
    for (const HostPort& port : of.ports) out += fmt::format(" port:{}:{}", port.ip, port.port);
    for (const AffinityTerm& one : of.affinity) out += " near:" + term(one);
    for (const AffinityTerm& one : of.anti_affinity) out += " away:" + term(one);
    for (const AffinityTerm& one : of.preferred_affinity) out += fmt::format(" likes:{}*{}", term(one), one.weight);
    for (const SpreadConstraint& one : of.spread)
      out += fmt::format(" spread:{}/{}/skew{}/min{}{}{}{}", selector(one.pods), one.topology_key, one.max_skew,
                         one.min_domains, one.is_required ? "/required" : "",
                         one.honors_node_affinity ? "/affinity" : "", one.honors_taints ? "/taints" : "");
    return out;
  };
  std::vector<std::string> lines;
  for (const Node& one : snapshot.nodes) {
    if (one.name.empty()) {
      lines.emplace_back("node (gone)");
      continue;
    }
    std::string line = fmt::format("node {} ({}):{}", one.name, one.hostname, amounts(one.allocatable));
    for (const auto& [key, value] : one.traits->labels) line += fmt::format(" {}={}", key, value);
    for (const Taint& taint : one.traits->taints)
      line += fmt::format(" taint:{}={}:{}", taint.key, taint.value, static_cast<int>(taint.effect));
    if (one.traits->is_unschedulable) line += " cordoned";
    lines.push_back(std::move(line));
  }
  for (const Gang& gang : snapshot.gangs) {
    if (gang.name.empty()) continue;
    std::string line =
        fmt::format("gang {}: {}min {} of {}, since {}, on-preempt {}", full_name(gang), gang.is_plain ? "plain, " : "",
                    gang.min_members, gang.size, seconds(gang.since), static_cast<int>(gang.on_preempt));
    if (gang.min_runtime > Duration()) line += ", at least " + human_duration(gang.min_runtime);
    for (const WallTime at : gang.preempted) line += fmt::format(", preempted {} ago", seconds(at));
    line += fmt::format(", at most {}", gang.max_preemptions);
    for (const LateMembers& late : gang.late) line += fmt::format(", {} late{}", late.count, shape(*late.shape));
    if (!gang.min_resources.empty()) line += ", needs" + amounts(gang.min_resources);
    lines.push_back(std::move(line));
    for (const PodId id : gang.members) {
      const Pod& pod = snapshot.pods[id];
      std::string member = fmt::format("  {} on {}, priority {}, rank {},{}", pod.name, node(pod.node), pod.priority,
                                       pod.rank, shape(*pod.shape));
      for (const auto& [key, value] : pod.labels) member += fmt::format(" {}={}", key, value);
      if (pod.is_gated) member += " gated";
      if (pod.is_terminating) member += " terminating";
      if (pod.never_preempts) member += " never-preempts";
      if (pod.ends) member += fmt::format(" ends in {}", -seconds(*pod.ends));
      lines.push_back(std::move(member));
    }
    if (!gang.ticket) continue;
    line = "  ticket:";
    for (const auto& place : gang.ticket->places)
      line += fmt::format(" {}@{}", snapshot.pods[place.pod].name, node(place.node));
    for (const auto& hold : gang.ticket->holds) line += " late@" + node(hold.node);
    for (const PodId victim : gang.ticket->victims) line += " -" + snapshot.pods[victim].name;
    lines.push_back(std::move(line));
  }
  for (const DisruptionBudget& budget : snapshot.budgets)
    lines.push_back(fmt::format("budget {}: {} of {}", budget.name, budget.allowed, selector(budget.pods)));
  return lines;
}

inline void showValue(const Recipe& recipe, std::ostream& out) {
  const Kitchen kitchen(recipe);
  out << fmt::format("top priority {}\n{}", kitchen.policies().top_priority,
                     fmt::join(lines_of(kitchen.snapshot()), "\n"));
}

}  // namespace gangway::planning::testing

namespace rc {

template <>
struct Arbitrary<gangway::planning::testing::Recipe> {
  static Gen<gangway::planning::testing::Recipe> arbitrary() {
    using gangway::planning::testing::Ingredient;
    using gangway::planning::testing::kComesLater;
    using gangway::planning::testing::Recipe;
    const auto bits = gen::resize(kNominalSize, gen::inRange<std::uint32_t>(0, 0xffffffff));
    // Few features at once, most of the time: what is unusual in everything is refused for the first reason only.
    // Nothing depends on RapidCheck's size: small clusters are what shrinking is for.
    const auto ingredient = [bits](int rarity, std::uint32_t usual) {
      return gen::map(gen::tuple(gen::noShrink(bits), bits, bits, gen::noShrink(bits)), [=](const auto& drawn) {
        const auto& [seed, some, others, kind] = drawn;
        std::uint32_t features = some & others;
        for (int i = 0; i < rarity + static_cast<int>(kind % 2); ++i)
          features &= kind >> (3 + 5 * i) | kind << (29 - 5 * i);
        return Ingredient{seed, features | (some & usual)};
      });
    };
    const auto list = [](int most, Gen<Ingredient> of) {
      return gen::resize(most, gen::container<std::vector<Ingredient>>(std::move(of)));
    };
    return gen::build<Recipe>(gen::set(&Recipe::nodes, list(12, ingredient(1, 0))),
                              gen::set(&Recipe::gangs, list(20, ingredient(0, 0b1111 | 1U << kComesLater))),
                              gen::set(&Recipe::cluster, ingredient(0, 0b1111)));
  }
};

}  // namespace rc
