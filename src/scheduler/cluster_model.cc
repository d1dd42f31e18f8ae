#include "scheduler/cluster_model.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "api/gang.h"
#include "api/pod_phase.h"
#include "client/resource.h"
#include "scheduler/requeue.h"
#include "scheduler/translate.h"
#include "volumes/claim_limits.h"

namespace gangway::scheduler {
namespace {

using client::View;
using client::resources::kDisruptionBudgets;
using client::resources::kNamespaces;
using client::resources::kNodes;
using client::resources::kPods;
using planning::GangId;
using planning::kNone;
using planning::NodeId;
using planning::OpenTicket;
using planning::PodId;

constexpr const char* kNodeName = "spec.nodeName";
// The system's own classes are above every user's.
constexpr std::int64_t kHighestUserPriority = 1'000'000'000;
// Values that nobody uses any more are dropped when there are so many more of them than at the last time.
constexpr std::size_t kSweepAfter = 4096;

std::string_view late_name_of(const planning::Pod& pod) {
  const auto at = std::find_if(pod.labels.begin(), pod.labels.end(),
                               [](const auto& label) { return label.first == api::kLateMemberLabel; });
  return at == pod.labels.end() ? std::string_view() : std::string_view(at->second);
}

}  // namespace

void ClusterModel::touch(const client::Resource& resource, const api::ObjectName& name) {
  if (resource == kPods) {
    touched_pods_.insert(name);
  } else if (resource == kNodes) {
    touched_nodes_.insert(name.name);
  } else if (resource == kPodGroups) {
    touched_gangs_.insert({name.ns, name.name, true});
  } else if (resource == kNamespaces) {
    namespaces_touched_ = true;
  } else if (resource == kDisruptionBudgets) {
    budgets_touched_ = true;
  } else if (resource == kRequeuedPods) {
    places_touched_ = true;
  } else if (resource == kPriorityClasses || resource == kConfigurations) {
    policies_touched_ = true;
  }
  // An Allotment's own change comes with the gang that it names: update() reads all that are open.
}

void ClusterModel::update(const View& view) {
  snapshot_.now = view.now();
  settle_assumed(view);
  // Members wait for a group that is not there.
  for (const GangKey& key : touched_gangs_)
    if (const auto at = gangs_.find(key); at != gangs_.end())
      for (const PodId member : snapshot_.gangs[at->second].members)
        touched_pods_.insert({key.ns, snapshot_.pods[member].name});
  if (std::exchange(policies_touched_, false)) update_policies(view);
  if (std::exchange(budgets_touched_, false)) update_budgets(view);
  if (std::exchange(places_touched_, false)) update_places(view);
  if (std::exchange(namespaces_touched_, false)) update_namespaces(view);
  for (const std::string& name : std::exchange(touched_nodes_, {})) update_node(view, name);
  for (const api::ObjectName& name : std::exchange(touched_pods_, {})) update_pod(view, name);
  update_claims(view);
  set_times(view.now());
  // Tickets change with the pods that they name, whoever's they are.
  for (GangId id = 0; id < snapshot_.gangs.size(); ++id)
    if (snapshot_.gangs[id].ticket) touched_gangs_.insert(keys_[id]);
  for (const auto& [name, allotment] : view.objects(kAllotments).all()) {
    const auto facts = view.objects(kAllotments).facts(allotment, read_allotment);
    if (facts->is_open()) touched_gangs_.insert({name.ns, facts->gang, facts->is_group});
  }
  pending_.for_each([this](const auto& name, const auto& facts) { touch_gang_of(name, facts); });
  for (const GangKey& key : std::exchange(touched_gangs_, {})) update_gang(view, key);
  sweep();
}

void ClusterModel::assume(const api::Version& pod, const std::string& node) {
  assumed_[pod.header->name] = {pod.header->uid, pod.header->revision, node};
  touched_pods_.insert(pod.header->name);
}

void ClusterModel::forget_assumed(const api::ObjectName& pod) {
  if (assumed_.erase(pod) > 0) touched_pods_.insert(pod);
}

void ClusterModel::allotment_failed(const api::ObjectName& allotment, bool is_certain) {
  if (const auto dropped = pending_.failed(allotment, is_certain)) touch_gang_of(allotment, *dropped);
}

std::vector<PendingGrants::Write> ClusterModel::take_lost_grants(const View& view) {
  return pending_.take_lost(view, [this](const api::ObjectName& name, const AllotmentFacts& facts) {
    return find_gang(facts.is_group, {name.ns, facts.gang}).has_value();
  });
}

void ClusterModel::touch_gang_of(const api::ObjectName& allotment, const AllotmentFacts& facts) {
  touched_gangs_.insert({allotment.ns, facts.gang, facts.is_group});
}

// A write names the revision that it was decided on: once the object has left it, the object itself says what became of
// it.
void ClusterModel::settle_assumed(const View& view) {
  std::erase_if(assumed_, [&](const auto& entry) {
    const api::Version pod = view.get(kPods, entry.first);
    const bool is_over = !pod || pod.header->uid != entry.second.uid || pod.header->revision != entry.second.revision;
    if (is_over) touched_pods_.insert(entry.first);
    return is_over;
  });
  pending_.settle(view);
}

std::optional<GangId> ClusterModel::find_gang(bool is_group, const api::ObjectName& name) const {
  const auto at = gangs_.find({name.ns, name.name, is_group});
  if (at == gangs_.end()) return std::nullopt;
  return at->second;
}

std::optional<NodeId> ClusterModel::find_node(const std::string& name) const {
  const auto at = nodes_.find(name);
  if (at == nodes_.end()) return std::nullopt;
  return at->second;
}

template <class T>
std::shared_ptr<const T> ClusterModel::one_of(Pool<T>& pool, T value) {
  auto made = std::make_shared<const T>(std::move(value));
  return *pool.insert(std::move(made)).first;
}

planning::Amounts ClusterModel::amounts_of(const api::Amounts& amounts) {
  planning::Amounts result;
  for (const auto& [name, amount] : amounts) {
    const planning::ResourceId id = snapshot_.resources.id_of(name);
    if (id >= result.size()) result.resize(id + std::size_t{1});
    result[id] = std::min(amount, planning::kLargestAmount);
  }
  return result;
}

planning::Request ClusterModel::request_of(const api::Amounts& amounts) {
  planning::Request request;
  for (const auto& [name, amount] : amounts)
    if (amount > 0) request.emplace_back(snapshot_.resources.id_of(name), std::min(amount, planning::kLargestAmount));
  std::sort(request.begin(), request.end());
  return request;
}

planning::PodShape ClusterModel::shape_of(const PodNeeds& facts) {
  planning::PodShape shape = facts.shape;
  shape.request = request_of(facts.requests);
  choose_namespaces(facts.namespace_choices, namespaces_, shape);
  return shape;
}

void ClusterModel::update_node(const View& view, const std::string& name) {
  const api::Version version = view.get(kNodes, {"", name});
  const auto at = nodes_.find(name);
  const bool is_there = version && !version.header->deleting_since;
  if (is_there != (at != nodes_.end())) {
    // Pods that name a node which is not there hold nobody's room.
    for (const api::Version& pod : view.objects(kPods).with_field(kNodeName, name))
      touched_pods_.insert(pod.header->name);
  }
  if (!is_there) {
    if (at == nodes_.end()) return;
    changes_.nodes[name] = kNone;
    snapshot_.nodes[at->second] = {};
    free_nodes_.push_back(at->second);
    nodes_.erase(at);
    return;
  }
  NodeId id = at == nodes_.end() ? kNone : at->second;
  if (id == kNone) {
    if (free_nodes_.empty()) {
      id = static_cast<NodeId>(snapshot_.nodes.size());
      snapshot_.nodes.emplace_back();
    } else {
      id = free_nodes_.back();
      free_nodes_.pop_back();
    }
    nodes_[name] = id;
  }
  const auto facts = view.objects(kNodes).facts(version, read_node);
  changes_.nodes[name] = id;
  planning::Node& node = snapshot_.nodes[id];
  node.name = name;
  node.hostname = facts->hostname;
  node.traits = one_of(traits_, facts->traits);
  node.allocatable = amounts_of(facts->allocatable);
}

ClusterModel::GangKey ClusterModel::gang_key(const api::ObjectName& pod, const PodNeeds& facts) const {
  if (facts.group.empty()) return {pod.ns, pod.name, false};
  return {pod.ns, facts.group, true};
}

PodId ClusterModel::pod_slot(const api::ObjectName& name) {
  if (const auto at = pods_.find(name); at != pods_.end()) return at->second;
  PodId id = static_cast<PodId>(snapshot_.pods.size());
  if (free_pods_.empty()) {
    snapshot_.pods.emplace_back();
  } else {
    id = free_pods_.back();
    free_pods_.pop_back();
  }
  pods_[name] = id;
  return id;
}

void ClusterModel::remove_pod(const api::ObjectName& name) {
  const auto at = pods_.find(name);
  if (at == pods_.end()) return;
  const PodId id = at->second;
  changes_.pods[name] = kNone;
  const GangId gang = snapshot_.pods[id].gang;
  if (gang != kNone) {
    std::erase(snapshot_.gangs[gang].members, id);
    touched_gangs_.insert(keys_[gang]);
  }
  snapshot_.pods[id] = {};
  choose_namespaces_.erase(name);
  with_claims_.erase(id);
  with_deadlines_.erase(id);
  checkpoints_.erase(id);
  refusals_.erase(id);
  free_pods_.push_back(id);
  pods_.erase(at);
}

void ClusterModel::update_pod(const View& view, const api::ObjectName& name) {
  const auto& pods = view.objects(kPods);
  const api::Version version = pods.get(name);
  if (!version || api::has_ended(*version.header)) return remove_pod(name);
  const auto facts = pods.facts(version, read_pod);
  std::string on(version.header->field(kNodeName));
  if (on.empty())
    if (const auto assumed = assumed_.find(name); assumed != assumed_.end()) on = assumed->second.node;
  const auto node = nodes_.find(on);
  const bool is_ours = facts->scheduler == scheduler_name_;
  if (on.empty() ? !is_ours || version.header->deleting_since.has_value() : node == nodes_.end())
    return remove_pod(name);

  const GangKey key = gang_key(name, *facts);
  if (const auto at = pods_.find(name); at != pods_.end()) {
    const planning::Pod& known = snapshot_.pods[at->second];
    if (known.uid != version.header->uid || keys_[known.gang] != key) remove_pod(name);
  }
  const PodId id = pod_slot(name);
  changes_.pods[name] = id;
  planning::Pod& pod = snapshot_.pods[id];
  const bool is_new = pod.name.empty();
  pod.ns = name.ns;
  pod.name = name.name;
  pod.uid = version.header->uid;
  pod.labels = version.header->labels;
  pod.node = on.empty() ? kNone : node->second;
  pod.priority = facts->priority;
  pod.never_preempts = facts->never_preempts;
  const bool lacks_group = on.empty() && facts->needs_group && !view.get(kPodGroups, {name.ns, facts->group});
  pod.is_gated = on.empty() && (facts->is_gated || lacks_group);
  pod.is_terminating = version.header->deleting_since.has_value();
  pod.rank = facts->group.empty() ? 0 : facts->rank;
  pod.since = on.empty() ? version.header->created : facts->started.value_or(view.now());
  pod.shape = one_of(shapes_, shape_of(*facts));
  if (!facts->namespace_choices.empty()) choose_namespaces_.insert(name);
  pod.ends.reset();
  with_deadlines_.erase(id);
  if (facts->deadline && pod.node != kNone) pod.ends = pod.since + *facts->deadline;
  if (facts->deadline && pod.node == kNone) with_deadlines_[id] = *facts->deadline;
  checkpoints_.erase(id);
  if (facts->saved) checkpoints_[id] = *facts->saved;
  with_claims_.erase(id);
  refusals_.erase(id);
  if (lacks_group) {
    if (!facts->is_gated) refusals_[id] = "podgroup \"" + facts->group + "\" not found";
  } else if (!facts->claims.empty() && pod.node == kNone) {
    with_claims_[id] = facts;
  }

  if (is_new) {
    auto at = gangs_.find(key);
    if (at == gangs_.end()) {
      GangId gang = static_cast<GangId>(snapshot_.gangs.size());
      if (free_gangs_.empty()) {
        snapshot_.gangs.emplace_back();
        keys_.emplace_back();
      } else {
        gang = free_gangs_.back();
        free_gangs_.pop_back();
      }
      keys_[gang] = key;
      at = gangs_.emplace(key, gang).first;
    }
    pod.gang = at->second;
    snapshot_.gangs[pod.gang].members.push_back(id);
  }
  touched_gangs_.insert(key);
}

// What claims mean for a pod changes with other pods, claims and volumes: it is asked anew every time.
void ClusterModel::update_claims(const View& view) {
  if (with_claims_.empty()) return;
  volumes::PlacedClaims placed;
  for (const auto& [name, assumed] : assumed_) {
    const api::Version pod = view.get(kPods, name);
    if (!pod) continue;
    for (const std::string& claim : view.objects(kPods).facts(pod, read_pod)->claims)
      placed.emplace(api::ObjectName{name.ns, claim}, assumed.node);
  }
  for (const auto& [id, facts] : with_claims_) {
    planning::Pod& pod = snapshot_.pods[id];
    const volumes::ClaimLimits limits = volumes::claim_limits(view, pod.ns, facts->claims, placed, claim_binding_);
    refusals_.erase(id);
    changes_.pods[{pod.ns, pod.name}] = id;
    pod.is_gated = facts->is_gated || !limits.refusal.empty();
    if (!limits.refusal.empty()) refusals_[id] = limits.refusal;
    planning::PodShape shape = shape_of(*facts);
    for (const volumes::PlaceLimit& limit : limits.limits)
      if (auto translated = translate(limit)) shape.limits.push_back(std::move(*translated));
    pod.shape = one_of(shapes_, std::move(shape));
  }
}

void ClusterModel::set_times(WallTime now) {
  for (const auto& [id, deadline] : with_deadlines_) snapshot_.pods[id].ends = now + deadline;
}

void ClusterModel::update_gang(const View& view, const GangKey& key) {
  const auto at = gangs_.find(key);
  if (at == gangs_.end()) return;
  planning::Gang& gang = snapshot_.gangs[at->second];
  if (gang.members.empty()) {
    if (key.is_group) changes_.groups[{key.ns, key.name}] = kNone;
    gang = {};
    free_gangs_.push_back(at->second);
    gangs_.erase(at);
    return;
  }
  if (key.is_group) {
    changes_.groups[{key.ns, key.name}] = at->second;
  } else {
    changes_.pods[{key.ns, key.name}] = gang.members.front();
  }
  std::sort(gang.members.begin(), gang.members.end());
  gang.ns = key.ns;
  gang.name = key.name;
  gang.is_plain = !key.is_group;
  const auto facts_of = [&](PodId member) {
    const auto& pods = view.objects(kPods);
    return pods.facts(pods.get({key.ns, snapshot_.pods[member].name}), read_pod);
  };
  Wishes wishes;
  gang.min_members = 1;
  gang.min_resources.clear();
  gang.late.clear();
  gang.since = WallTime::max();
  if (key.is_group) {
    const api::Version group = view.get(kPodGroups, {key.ns, key.name});
    if (group) {
      const auto facts = view.objects(kPodGroups).facts(group, read_group);
      gang.uid = group.header->uid;
      gang.since = group.header->created;
      gang.min_members = facts->min_members;
      gang.min_resources = request_of(facts->min_resources);
      read_late_members(facts->late, gang);
      wishes = facts->wishes;
    } else {
      gang.uid.clear();
      for (const PodId member : gang.members) {
        const auto facts = facts_of(member);
        gang.min_members = std::max(gang.min_members, facts->minimum);
        gang.since = std::min(gang.since, place_in_line(view.get(kPods, {key.ns, snapshot_.pods[member].name})));
        wishes = facts->wishes;
      }
    }
  } else {
    const api::Version pod = view.get(kPods, {key.ns, key.name});
    gang.uid = pod.header->uid;
    gang.since = place_in_line(pod);
    wishes = facts_of(gang.members.front())->wishes;
  }
  gang.size = std::max({gang.min_members, wishes.max_members, static_cast<std::int64_t>(gang.members.size())});
  gang.on_preempt = wishes.on_preempt;
  gang.min_runtime = std::min(wishes.min_runtime, limits_.min_runtime);
  gang.max_preemptions = std::max(wishes.max_preemptions.value_or(limits_.max_preemptions), limits_.max_preemptions);
  gang.last_checkpoint = wishes.last_checkpoint;
  // What one of them has saved is the work of all.
  if (!checkpoints_.empty())
    for (const PodId member : gang.members)
      if (const auto saved = checkpoints_.find(member); saved != checkpoints_.end())
        gang.last_checkpoint = std::max(gang.last_checkpoint.value_or(WallTime::min()), saved->second);
  gang.ticket = read_ticket(view, key);
}

// Those that are there are needed like the others, announced or not, and room is wanted for the rest.
void ClusterModel::read_late_members(const std::vector<LateWish>& wishes, planning::Gang& gang) {
  std::map<std::string_view, std::int64_t> there;
  for (const PodId member : gang.members) {
    const planning::Pod& pod = snapshot_.pods[member];
    const std::string_view name = late_name_of(pod);
    if (name.empty() || pod.is_terminating) continue;
    ++gang.min_members;
    ++there[name];
  }
  for (const LateWish& wish : wishes)
    gang.late.push_back({one_of(shapes_, shape_of(wish.needs)), wish.labels,
                         std::max<std::int64_t>(0, wish.count - there[wish.name]), wish.name});
}

PendingGrants::Facts ClusterModel::grant_of(const View& view, const api::ObjectName& name) const {
  if (const auto pending = pending_.find(name)) return *pending;
  const api::Version allotment = view.get(kAllotments, name);
  if (!allotment) return nullptr;
  auto facts = view.objects(kAllotments).facts(allotment, read_allotment);
  return facts->is_open() ? facts : nullptr;
}

// What the gang's Allotment still holds for it.
std::optional<planning::OpenTicket> ClusterModel::read_ticket(const View& view, const GangKey& key) {
  const api::ObjectName name{key.ns, allotment_name(key.is_group, key.name)};
  if (const api::Version allotment = view.get(kAllotments, name))
    snapshot_.gangs[gangs_.at(key)].preempted = view.objects(kAllotments).facts(allotment, read_allotment)->preemptions;
  const auto facts = grant_of(view, name);
  if (!facts) return std::nullopt;
  planning::OpenTicket ticket;
  for (const AllotmentFacts::Place& place : facts->places) {
    const auto pod = pods_.find({key.ns, place.pod});
    const auto node = nodes_.find(place.node);
    if (pod == pods_.end() || snapshot_.pods[pod->second].uid != place.uid) continue;
    if (snapshot_.pods[pod->second].node != kNone) continue;
    if (node == nodes_.end()) return std::nullopt;  // it cannot be kept
    ticket.places.push_back({pod->second, node->second});
  }
  for (const AllotmentFacts::Victim& victim : facts->victims) {
    const auto pod = pods_.find(victim.pod);
    if (pod == pods_.end() || snapshot_.pods[pod->second].uid != victim.uid) continue;
    if (snapshot_.pods[pod->second].node != kNone) ticket.victims.push_back(pod->second);
  }
  read_holds(snapshot_.gangs[gangs_.at(key)], *facts, ticket);
  if (ticket.places.empty() && ticket.holds.empty()) return std::nullopt;
  return ticket;
}

// A late member that is there takes the room that was held for it.
void ClusterModel::read_holds(const planning::Gang& gang, const AllotmentFacts& facts,
                              planning::OpenTicket& ticket) const {
  std::set<PodId> taken;
  const auto arrived = [&](const std::string& name) {
    return std::find_if(gang.members.begin(), gang.members.end(), [&](PodId member) {
      const planning::Pod& pod = snapshot_.pods[member];
      return !pod.is_terminating && !pod.is_gated && late_name_of(pod) == name && !taken.contains(member);
    });
  };
  for (const OpenTicket::Place& place : ticket.places) taken.insert(place.pod);
  for (const AllotmentFacts::Hold& hold : facts.holds) {
    const auto late = std::find_if(gang.late.begin(), gang.late.end(),
                                   [&](const planning::LateMembers& members) { return members.name == hold.name; });
    const auto node = nodes_.find(hold.node);
    const auto pod = arrived(hold.name);
    if (pod != gang.members.end()) {
      taken.insert(*pod);
      if (snapshot_.pods[*pod].node == kNone && node != nodes_.end()) ticket.places.push_back({*pod, node->second});
    } else if (late != gang.late.end() && node != nodes_.end()) {
      ticket.holds.push_back({late->shape, late->labels, node->second, late->name});
    }
  }
}

// There are few: they are read whole when one changes.
void ClusterModel::update_places(const View& view) {
  for (const auto& [name, place] : std::exchange(places_, {})) touched_pods_.insert(name);
  const auto& records = view.objects(kRequeuedPods);
  for (const auto& [name, record] : records.all()) {
    const auto facts = records.facts(record, read_requeue);
    const bool is_ours_to_make = facts->owner_uid.empty();
    if (facts->successor_uid.empty() && !is_ours_to_make) continue;
    const api::ObjectName pod = facts->successor_uid.empty() ? api::ObjectName{name.ns, facts->pod} : facts->successor;
    places_.emplace(pod, Place{facts->uid, facts->successor_uid, facts->since});
    touched_pods_.insert(pod);
  }
}

// Since when a pod waits: its own creation, or that of the one whose place it has.
WallTime ClusterModel::place_in_line(const api::Version& pod) const {
  WallTime since = pod.header->created;
  const auto [first, last] = places_.equal_range(pod.header->name);
  for (auto at = first; at != last; ++at) {
    const Place& place = at->second;
    const bool is_its_own =
        place.successor_uid.empty() ? pod.header->uid != place.victim_uid : pod.header->uid == place.successor_uid;
    if (is_its_own) since = std::min(since, place.since);
  }
  return since;
}

void ClusterModel::update_budgets(const View& view) {
  changes_.budgets = true;
  snapshot_.budgets.clear();
  for (const auto& [name, version] : view.objects(kDisruptionBudgets).all()) {
    const auto facts = view.objects(kDisruptionBudgets).facts(version, read_budget);
    if (!facts->selects_nothing) snapshot_.budgets.push_back({name.ns, name.name, facts->pods, facts->allowed});
  }
}

// Where labels have changed, pods that choose namespaces by them may mean others now.
void ClusterModel::update_namespaces(const View& view) {
  NamespaceLabels now;
  for (const auto& [name, version] : view.objects(kNamespaces).all()) now.emplace(name.name, version.header->labels);
  if (now == namespaces_) return;
  namespaces_ = std::move(now);
  touched_pods_.insert(choose_namespaces_.begin(), choose_namespaces_.end());
}

void ClusterModel::update_policies(const View& view) {
  const Limits before = limits_;
  const api::Version configuration = view.get(kConfigurations, {"", "default"});
  limits_ = configuration ? *view.objects(kConfigurations).facts(configuration, read_limits) : Limits();
  policies_ = {};
  if (!limits_.topology.empty()) policies_.topology = limits_.topology;
  std::int64_t top = planning::Policies().top_priority;
  const auto& classes = view.objects(kPriorityClasses);
  std::optional<std::int64_t> highest;
  for (const auto& [name, version] : classes.all()) {
    const std::int64_t value = classes.facts(version, read_priority_class)->value;
    if (name.name == limits_.top_class) top = value;
    if (value <= kHighestUserPriority) highest = std::max(highest.value_or(value), value);
  }
  if (limits_.top_class.empty() && highest) top = *highest;
  policies_.top_priority = top;
  if (before.min_runtime != limits_.min_runtime || before.max_preemptions != limits_.max_preemptions)
    for (const auto& [key, gang] : gangs_) touched_gangs_.insert(key);
}

void ClusterModel::sweep() {
  const auto drop_unused = [](auto& pool) {
    if (pool.size() < kSweepAfter) return;
    std::erase_if(pool, [](const auto& value) { return value.use_count() == 1; });
  };
  drop_unused(traits_);
  drop_unused(shapes_);
}

}  // namespace gangway::scheduler
