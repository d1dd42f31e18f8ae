#include "scheduler/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "api/conditions.h"
#include "api/pod_phase.h"
#include "client/resource.h"
#include "planning/placement/verify.h"
#include "planning/schedule/schedule.h"
#include "scheduler/requeue.h"
#include "sys/log.h"
#include "volumes/claim_indexes.h"

namespace gangway::scheduler {
namespace {

using client::Bind;
using client::Create;
using client::Delete;
using client::Emit;
using client::EventType;
using client::ObjectChange;
using client::Outcome;
using client::PatchStatus;
using client::Update;
using client::View;
using client::WorkQueue;
using client::resources::kDisruptionBudgets;
using client::resources::kNamespaces;
using client::resources::kNodes;
using client::resources::kPersistentVolumeClaims;
using client::resources::kPersistentVolumes;
using client::resources::kPods;
using client::resources::kStorageClasses;
using planning::GangId;
using planning::NodeId;
using planning::PodId;

constexpr const char* kNodeName = "spec.nodeName";
// What protects somebody may be over: time alone changes nothing that could be watched.
constexpr Duration kProtectionsAgain = std::chrono::seconds(10);

const api::ObjectKey kTheCluster{"scheduling", {"", "the cluster"}};

bool is_bound(const api::Header& pod) {
  return !pod.field(kNodeName).empty();
}

bool holds_room(const api::Header& pod) {
  return is_bound(pod) && !api::has_ended(pod);
}

// A pod that waits is one more to place; one that is gone, ends, or is ending, changes what can be planned.
bool changes_room(const ObjectChange& pod, const View&) {
  const bool is_gone = pod.type == ObjectChange::Type::kDeleted;
  if (!is_gone && !is_bound(*pod.now.header)) return true;
  if (!pod.before) return false;
  const bool held = holds_room(*pod.before.header) || !is_bound(*pod.before.header);
  if (!held) return false;
  return is_gone || !holds_room(*pod.now.header) ||
         pod.before.header->deleting_since.has_value() != pod.now.header->deleting_since.has_value();
}

// Heartbeats change a node all the time, and nothing that matters here.
bool changes_offer(const ObjectChange& node, const View& view) {
  if (node.type != ObjectChange::Type::kModified) return true;
  return node.before.header->deleting_since != node.now.header->deleting_since ||
         !(read_node(node.before) == *view.objects(kNodes).facts(node.now, read_node));
}

// Claims, volumes and classes say where pods may be.
bool somebody_waits(const ObjectChange&, const View& view) {
  return view.objects(kPods).count_with_field(kNodeName, "") > 0;
}

bool always(const ObjectChange&, const View&) {
  return true;
}

// Whether an error says that nothing was done, rather than that nobody knows.
bool is_certain(Reason reason) {
  switch (reason) {
    case Reason::kInternalError:
    case Reason::kServiceUnavailable:
    case Reason::kTimeout:
    case Reason::kUnknown:
      return false;
    default:
      return true;
  }
}

json::Value with_condition(const api::Version& pod, const api::Condition& condition, WallTime now) {
  auto tree = json::parse(*pod.json);
  json::Value body = json::Object();
  if (!tree) return body;
  api::set_condition(*tree, condition, now);
  json::object_at(body, {"status"})["conditions"] = json::array_at(*tree, {"status", "conditions"});
  return body;
}

}  // namespace

// One look. Its steps: bring the model up to date, ask again for what may be lost, plan, go on with what is open, give
// what is new, and tell those who wait.
class Scheduler::Look {
 public:
  Look(const Scheduler& scheduler, const View& view)
      : scheduler_(scheduler), model_(scheduler.model_), view_(view), snapshot_(scheduler.model_.snapshot()) {}

  Outcome run() {
    read_setbacks();
    model_.update(view_);
    if (is_deposed() || !is_fenced()) return std::move(outcome_);
    std::erase_if(scheduler_.last_told_, [&](const auto& entry) { return entry.second + kRepeatAfter <= view_.now(); });
    ask_again();
    const planning::Plan plan = plan_lawfully();
    take_back(plan);
    for (const auto& [name, allotment] : view_.objects(kAllotments).all()) advance(allotment);
    read_old_promises();
    for (const planning::Ticket& ticket : plan.tickets) give(ticket);
    for (const planning::Verdict& verdict : plan.verdicts) tell(verdict);
    tell_refused();
    return std::move(outcome_);
  }

 private:
  api::Version version_of(PodId pod) const {
    return view_.get(kPods, {snapshot_.pods[pod].ns, snapshot_.pods[pod].name});
  }
  std::shared_ptr<const PodNeeds> needs_of(const api::Version& pod) const {
    return view_.objects(kPods).facts(pod, read_pod);
  }
  std::shared_ptr<const AllotmentFacts> facts_of(const api::Version& allotment) const {
    return view_.objects(kAllotments).facts(allotment, read_allotment);
  }
  api::Version allotment_of_gang(const planning::Gang& gang) const {
    return view_.get(kAllotments, {gang.ns, allotment_name(!gang.is_plain, gang.name)});
  }

  // Nothing of ours to the object is under way, and this look asks for nothing else on it.
  bool may_write(const client::Resource& resource, const api::ObjectName& name) {
    return !view_.is_held(resource, name) && written_.emplace(resource, name).second;
  }

  void read_setbacks();
  bool is_deposed() const;
  bool is_fenced();
  planning::Plan plan_lawfully() const;
  void ask_again();
  void bind(const api::Version& pod, const std::string& node);
  void take_back(const planning::Plan& plan);
  void withdraw(GangId gang);
  void advance(const api::Version& allotment);
  void close(const api::Version& allotment, const char* phase);
  bool set_status(const api::Version& allotment, const char* phase);
  void release(const api::Version& allotment, const planning::Gang& gang);
  void evict(const api::Version& allotment, const planning::Gang& gang, PodId victim);
  bool is_recorded(const api::Version& allotment, const planning::Gang& preemptor, const planning::Pod& victim);
  bool is_remembered(const api::Version& allotment, const planning::Gang& preemptor, const api::Version& pod,
                     const planning::Gang& gang);
  void nominate(const planning::OpenTicket& ticket);
  void take_nomination_back(PodId pod);
  void read_old_promises();
  bool is_promised(const planning::Ticket& ticket) const;
  bool is_half_bound(const planning::Gang& gang) const;
  void give(const planning::Ticket& ticket);
  bool shares_a_claim(const planning::Ticket& ticket);
  void write(const planning::Ticket& ticket);
  void tell(const planning::Verdict& verdict);
  void tell(PodId pod, const std::string& message);
  void tell_refused();

  const Scheduler& scheduler_;
  ClusterModel& model_;
  const View& view_;
  const planning::Snapshot& snapshot_;
  std::set<GangId> withdrawn_;
  std::multimap<NodeId, GangId> old_promises_;
  std::map<api::ObjectName, std::string> claims_;  // given a node in this look
  std::set<std::pair<client::Resource, api::ObjectName>> written_;
  Outcome outcome_;
};

// A plan that breaks a law is a bug of the planner: nothing of it is done, and what it was is there to be looked into.
planning::Plan Scheduler::Look::plan_lawfully() const {
  const planning::Budget budget;
  planning::Plan plan = planning::schedule(snapshot_, model_.policies(), budget);
  const auto broken = planning::verify(snapshot_, model_.policies(), plan);
  const Cycle cycle{snapshot_, model_.policies(), budget, plan, broken, scheduler_.basis_};
  if (!scheduler_.sink_) {
    model_.take_changes();
  } else if (scheduler_.sink_->wants(cycle)) {
    scheduler_.sink_->record(cycle, model_.take_changes());
  }
  if (broken.empty()) return plan;
  for (const std::string& law : broken) sys::log_error("a plan was refused: " + law);
  plan.tickets.clear();
  plan.taken_back.clear();
  return plan;
}

// A grant that was refused holds nothing. One whose answer was lost may still be there, or come to be.
void Scheduler::Look::read_setbacks() {
  for (const client::Setback& setback : view_.setbacks())
    if (setback.resource == kAllotments && (setback.verb == "create" || setback.verb == "update"))
      model_.allotment_failed(setback.object, is_certain(setback.error.reason));
}

// Somebody leads in a later term: whatever is decided here would be decided twice. Only at the first look nobody can:
// a later term is then what was written before the count of terms was lost.
bool Scheduler::Look::is_deposed() const {
  std::int64_t latest = 0;
  for (const auto& [name, allotment] : view_.objects(kAllotments).all())
    latest = std::max(latest, facts_of(allotment)->epoch);
  if (!std::exchange(scheduler_.has_looked_, true) && latest > scheduler_.epoch_) scheduler_.epoch_ = latest + 1;
  return latest > scheduler_.epoch_;
}

bool Scheduler::Look::is_fenced() {
  const auto open = scheduler_.fence_.still_open(view_, scheduler_.name_);
  for (const api::Version& pod : open)
    if (may_write(kPods, pod.header->name))
      outcome_.allowed_now.push_back(PatchStatus{client::target_of(kPods, pod), Fence::mark(pod, view_.now())});
  return open.empty();
}

void Scheduler::Look::ask_again() {
  const auto assumed = model_.assumed();
  for (const auto& [name, entry] : assumed) {
    if (view_.is_held(kPods, name)) continue;
    if (view_.get(kNodes, {"", entry.node})) {
      bind(view_.get(kPods, name), entry.node);
    } else {
      model_.forget_assumed(name);
    }
  }
  for (auto& [name, write] : model_.take_lost_grants(view_))
    if (may_write(kAllotments, name)) outcome_.allowed_now.push_back(std::move(write));
}

void Scheduler::Look::bind(const api::Version& pod, const std::string& node) {
  const api::ObjectName& name = pod.header->name;
  // Where something else is being written to it, its room is kept until that is over and it can be bound.
  model_.assume(pod, node);
  if (!may_write(kPods, name)) return;
  Bind bind{client::target_of(kPods, pod), node};
  bind.announce.done = Emit{client::subject_of(kPods, "Pod", pod), EventType::kNormal, "Scheduled",
                            fmt::format("Successfully assigned {}/{} to {}", name.ns, name.name, node)};
  outcome_.allowed_now.push_back(std::move(bind));
}

void Scheduler::Look::take_back(const planning::Plan& plan) {
  for (const GangId gang : plan.taken_back) withdraw(gang);
  for (const planning::Ticket& ticket : plan.tickets)
    for (const GangId gang : ticket.withdrawn) withdraw(gang);
}

void Scheduler::Look::withdraw(GangId gang) {
  withdrawn_.insert(gang);
  const planning::Gang& whose = snapshot_.gangs[gang];
  const api::ObjectName name{whose.ns, allotment_name(!whose.is_plain, whose.name)};
  // Also one that is still being written: it is closed once it is there.
  model_.assume(name, {});
  if (const api::Version allotment = view_.get(kAllotments, name)) close(allotment, kWithdrawn);
}

// The end of a ticket gives its room back at once: nothing is done for it any more, whether that is shown or not.
void Scheduler::Look::close(const api::Version& allotment, const char* phase) {
  if (set_status(allotment, phase)) model_.assume(allotment.header->name, {});
}

bool Scheduler::Look::set_status(const api::Version& allotment, const char* phase) {
  if (!may_write(kAllotments, allotment.header->name)) return false;
  json::Object status;
  if (phase != nullptr) status = {{"phase", phase}, {"observedGeneration", allotment.header->generation}};
  if (scheduler_.epoch_ > 0) status["epoch"] = scheduler_.epoch_;
  json::Value body = json::Object();
  json::object_at(body, {"status"}) = std::move(status);
  outcome_.allowed_now.push_back(PatchStatus{client::target_of(kAllotments, allotment), std::move(body)});
  return true;
}

// Goes on with a ticket, or clears it away when there is nobody left whose it is.
void Scheduler::Look::advance(const api::Version& allotment) {
  if (allotment.header->deleting_since || view_.is_held(kAllotments, allotment.header->name)) return;
  const auto facts = facts_of(allotment);
  const api::ObjectName owner{allotment.header->name.ns, facts->gang};
  const auto id = model_.find_gang(facts->is_group, owner);
  if (!id) {
    const bool is_over = facts->is_group ? !view_.get(kPodGroups, owner) : true;
    if (is_over && may_write(kAllotments, allotment.header->name))
      outcome_.allowed_now.push_back(Delete{client::target_of(kAllotments, allotment)});
    return;
  }
  if (!facts->is_open() || withdrawn_.contains(*id) || model_.is_being_granted(allotment.header->name)) return;
  const planning::Gang& gang = snapshot_.gangs[*id];
  if (!gang.ticket) {
    bool has_lost_a_node = false;
    for (const AllotmentFacts::Place& place : facts->places) {
      const api::ObjectName name{allotment.header->name.ns, place.pod};
      const api::Version pod = view_.get(kPods, name);
      if (!pod || pod.header->uid != place.uid || is_bound(*pod.header)) continue;
      if (model_.assumed().contains(name)) return;  // its binding may still fail: the ticket is not over
      has_lost_a_node = true;
    }
    return close(allotment, has_lost_a_node ? kWithdrawn : kBound);
  }
  // One that an earlier leader wrote is taken on first: what he may still have on the way about it then fails.
  if (facts->epoch < scheduler_.epoch_) {
    set_status(allotment, nullptr);
    return;
  }
  release(allotment, gang);
}

// Those in the way go; when the last has gone, its pods are bound.
void Scheduler::Look::release(const api::Version& allotment, const planning::Gang& gang) {
  for (const PodId victim : gang.ticket->victims) evict(allotment, gang, victim);
  if (!gang.ticket->victims.empty()) {
    const auto facts = facts_of(allotment);
    if (!facts->is_observed || facts->phase != kReleasing) set_status(allotment, kReleasing);
    return nominate(*gang.ticket);
  }
  for (const planning::OpenTicket::Place& place : gang.ticket->places)
    bind(version_of(place.pod), snapshot_.nodes[place.node].name);
}

void Scheduler::Look::evict(const api::Version& allotment, const planning::Gang& gang, PodId id) {
  const planning::Pod& victim = snapshot_.pods[id];
  if (victim.is_terminating) return;
  if (!is_recorded(allotment, gang, victim)) return;
  const api::Version pod = version_of(id);
  if (!may_write(kPods, pod.header->name)) return;
  if (!needs_of(pod)->is_disrupted) {
    const api::Condition condition{"DisruptionTarget", "True", "PreemptionByScheduler",
                                   scheduler_.name_ + ": preempting to accommodate a higher priority pod"};
    outcome_.allowed_now.push_back(
        PatchStatus{client::target_of(kPods, pod), with_condition(pod, condition, view_.now())});
    return;
  }
  if (!is_remembered(allotment, gang, pod, snapshot_.gangs[victim.gang])) return;
  // Who takes its place; where it is one of a gang that takes nobody's, the first of those who do.
  PodId by = gang.ticket->places.front().pod;
  for (const planning::OpenTicket::Place& place : gang.ticket->places) {
    if (place.node != victim.node) continue;
    by = place.pod;
    break;
  }
  Delete eviction{client::target_of(kPods, pod)};
  eviction.announce.done =
      Emit{client::subject_of(kPods, "Pod", pod), EventType::kNormal, "Preempted",
           fmt::format("by {} on node {}", full_name(snapshot_.pods[by]), snapshot_.nodes[victim.node].name)};
  outcome_.allowed_now.push_back(std::move(eviction));
}

// A group that is preempted has that written down in its Allotment first: its peace is counted by it.
bool Scheduler::Look::is_recorded(const api::Version& allotment, const planning::Gang& preemptor,
                                  const planning::Pod& victim) {
  const planning::Gang& gang = snapshot_.gangs[victim.gang];
  if (gang.is_plain) return true;
  const api::Version record = allotment_of_gang(gang);
  if (!record) return true;
  const auto facts = facts_of(record);
  const std::string key = grant_key(*allotment.header);
  if (std::find(facts->preemption_keys.begin(), facts->preemption_keys.end(), key) != facts->preemption_keys.end())
    return true;
  auto tree = json::parse(*record.json);
  if (!tree) return true;
  if (!may_write(kAllotments, record.header->name)) return false;
  json::Array entries = json::array_at(*tree, {"status", "preemptedBy"});
  entries.push_back(json::Object{{"namespace", preemptor.ns},
                                 {"name", preemptor.name},
                                 {"priority", planning::priority_of(snapshot_, preemptor)},
                                 {"at", to_rfc3339(view_.now())},
                                 {"grant", key}});
  constexpr std::size_t kRemembered = 32;
  if (entries.size() > kRemembered) entries.erase(entries.begin());
  json::Value body = json::Object();
  json::object_at(body, {"status"})["preemptedBy"] = std::move(entries);
  outcome_.allowed_now.push_back(PatchStatus{client::target_of(kAllotments, record), std::move(body)});
  return false;
}

// One that comes back is written down first, with its place in line. By then it carries the condition, so that a record
// of a pod that has gone means that it was preempted and not deleted by its user.
bool Scheduler::Look::is_remembered(const api::Version& allotment, const planning::Gang& preemptor,
                                    const api::Version& pod, const planning::Gang& gang) {
  const auto victims = facts_of(allotment)->victims;
  const bool comes_back = std::any_of(victims.begin(), victims.end(), [&](const AllotmentFacts::Victim& victim) {
    return victim.uid == pod.header->uid && victim.how == "Requeue";
  });
  const api::ObjectName& name = pod.header->name;
  const bool has_pod_group = !gang.is_plain && view_.get(kPodGroups, {gang.ns, gang.name});
  if (!comes_back || !must_be_remembered(*pod.header, has_pod_group)) return true;
  const api::ObjectName record{name.ns, requeue_name(name.name, pod.header->uid)};
  if (view_.get(kRequeuedPods, record)) return true;
  if (!may_write(kRequeuedPods, record)) return false;
  outcome_.allowed_now.push_back(
      Create{kRequeuedPods, name.ns, requeue_of(pod, gang, full_name(preemptor), grant_key(*allotment.header))});
  return false;
}

void Scheduler::Look::nominate(const planning::OpenTicket& ticket) {
  for (const planning::OpenTicket::Place& place : ticket.places) {
    const api::Version pod = version_of(place.pod);
    const std::string& node = snapshot_.nodes[place.node].name;
    if (needs_of(pod)->nominated == node || !may_write(kPods, pod.header->name)) continue;
    json::Value body = json::Object();
    json::object_at(body, {"status"})["nominatedNodeName"] = node;
    outcome_.allowed_now.push_back(PatchStatus{client::target_of(kPods, pod), std::move(body)});
  }
}

// Somebody of higher priority has taken the room over, or it is lost with its node.
void Scheduler::Look::take_nomination_back(PodId id) {
  const api::Version pod = version_of(id);
  if (!pod || needs_of(pod)->nominated.empty()) return;
  const GangId gang = snapshot_.pods[id].gang;
  const auto& ticket = snapshot_.gangs[gang].ticket;
  const bool has_place = ticket && !withdrawn_.contains(gang) &&
                         std::any_of(ticket->places.begin(), ticket->places.end(),
                                     [&](const planning::OpenTicket::Place& place) { return place.pod == id; });
  if (has_place || !may_write(kPods, pod.header->name)) return;
  json::Value body = json::Object();
  json::object_at(body, {"status"})["nominatedNodeName"] = nullptr;
  outcome_.allowed_now.push_back(PatchStatus{client::target_of(kPods, pod), std::move(body)});
}

// Places that were taken back, or given for others, and that Allotments still name.
void Scheduler::Look::read_old_promises() {
  for (const auto& [name, allotment] : view_.objects(kAllotments).all()) {
    const auto shown = facts_of(allotment);
    const auto gang = model_.find_gang(shown->is_group, {name.ns, shown->gang});
    const auto grant = model_.grant_of(view_, name);
    if (!shown->is_open() || !gang || grant == shown) continue;
    for (const AllotmentFacts::Place& place : shown->places) {
      const api::Version pod = view_.get(kPods, {name.ns, place.pod});
      if (!pod || pod.header->uid != place.uid || is_bound(*pod.header)) continue;
      const auto assumed = model_.assumed().find(pod.header->name);
      if (assumed != model_.assumed().end() && assumed->second.node == place.node) continue;
      if (const auto node = model_.find_node(place.node)) old_promises_.emplace(*node, *gang);
    }
  }
}

// Room that is promised may be taken over by a higher priority at once, by others only when everybody can read that the
// promise is over: if this process dies before that, it is kept by the next.
bool Scheduler::Look::is_promised(const planning::Ticket& ticket) const {
  const auto priority_of = [&](GangId gang) { return planning::priority_of(snapshot_, snapshot_.gangs[gang]); };
  return std::any_of(ticket.places.begin(), ticket.places.end(), [&](const planning::Placement& place) {
    const auto [first, last] = old_promises_.equal_range(place.node);
    return std::any_of(first, last, [&](const auto& promise) {
      return promise.second != ticket.gang && priority_of(promise.second) >= priority_of(ticket.gang);
    });
  });
}

// That the minimum runs is only assumed. What more it gets waits until that is seen: bindings may fail, and a grant for
// others would no longer name those that are being bound.
bool Scheduler::Look::is_half_bound(const planning::Gang& gang) const {
  if (gang.is_plain || model_.assumed().empty()) return false;
  std::int64_t running = 0;
  bool is_being_bound = false;
  for (const PodId member : gang.members) {
    const planning::Pod& pod = snapshot_.pods[member];
    if (model_.assumed().contains({pod.ns, pod.name})) {
      is_being_bound = true;
    } else if (pod.node != planning::kNone && !pod.is_terminating) {
      ++running;
    }
  }
  return is_being_bound && running < gang.min_members;
}

void Scheduler::Look::give(const planning::Ticket& ticket) {
  const planning::Gang& gang = snapshot_.gangs[ticket.gang];
  if (is_half_bound(gang) || is_promised(ticket)) return;
  const bool is_simple =
      ticket.is_immediate() && ticket.holds.empty() && !gang.ticket && (ticket.places.size() == 1 || ticket.is_growth);
  if (!is_simple) return write(ticket);
  if (shares_a_claim(ticket)) return;
  for (const planning::Placement& place : ticket.places) bind(version_of(place.pod), snapshot_.nodes[place.node].name);
}

// Two pods that wait for the same unbound claim must meet on one node: the second waits until the first is there.
bool Scheduler::Look::shares_a_claim(const planning::Ticket& ticket) {
  for (const planning::Placement& place : ticket.places) {
    const api::Version pod = version_of(place.pod);
    for (const std::string& claim : needs_of(pod)->claims) {
      const std::string& node = snapshot_.nodes[place.node].name;
      if (claims_.emplace(api::ObjectName{pod.header->name.ns, claim}, node).first->second != node) return true;
    }
  }
  return false;
}

void Scheduler::Look::write(const planning::Ticket& ticket) {
  const planning::Gang& gang = snapshot_.gangs[ticket.gang];
  std::vector<AllotmentFacts::Place> kept;
  std::vector<AllotmentFacts::Victim> kept_victims;
  if (gang.ticket && !withdrawn_.contains(ticket.gang)) {
    for (const planning::OpenTicket::Place& place : gang.ticket->places)
      kept.push_back({snapshot_.pods[place.pod].name, snapshot_.pods[place.pod].uid, snapshot_.nodes[place.node].name});
    const auto grant = model_.grant_of(view_, {gang.ns, allotment_name(!gang.is_plain, gang.name)});
    for (const AllotmentFacts::Victim& victim : grant ? grant->victims : std::vector<AllotmentFacts::Victim>())
      if (std::any_of(gang.ticket->victims.begin(), gang.ticket->victims.end(),
                      [&](PodId pod) { return snapshot_.pods[pod].uid == victim.uid; }))
        kept_victims.push_back(victim);
  }
  json::Value body = allotment_of(snapshot_, ticket, view_.now(), scheduler_.epoch_, kept, kept_victims);
  const api::ObjectName name{gang.ns, allotment_name(!gang.is_plain, gang.name)};
  const api::Version before = view_.get(kAllotments, name);
  ClusterModel::AssumedAllotment assumed{.grant = std::make_shared<const AllotmentFacts>(read_grant(body))};
  if (!before) {
    assumed.write = Create{kAllotments, gang.ns, std::move(body)};
  } else {
    auto tree = json::parse(*before.json);
    if (!tree) return;
    // Two grants are never the same, or the end of the first would be taken for that of the second.
    body.as_object()["spec"].as_object()["attempt"] = json::integer_at(*tree, {"spec", "attempt"}) + 1;
    // An embedded server's versions do not say what they are, and an update must.
    for (const char* key : {"apiVersion", "kind", "spec"}) tree->as_object()[key] = body.as_object()[key];
    assumed.revision = before.header->revision;
    assumed.write = Update{client::target_of(kAllotments, before), std::move(*tree)};
  }
  // Where something else is being written to it, the room is kept until that is over and it can be granted.
  assumed.is_lost = !may_write(kAllotments, name);
  if (!assumed.is_lost) outcome_.allowed_now.push_back(*assumed.write);
  model_.assume(name, std::move(assumed));
}

void Scheduler::Look::tell(const planning::Verdict& verdict) {
  if (!verdict.protections.empty()) outcome_.look_again(view_.now() + kProtectionsAgain);
  for (const PodId member : snapshot_.gangs[verdict.gang].members) {
    const planning::Pod& pod = snapshot_.pods[member];
    if (pod.node != planning::kNone || pod.is_gated || pod.is_terminating) continue;
    take_nomination_back(member);
    tell(member, verdict.message);
  }
}

void Scheduler::Look::tell_refused() {
  const auto nodes = std::count_if(snapshot_.nodes.begin(), snapshot_.nodes.end(),
                                   [](const planning::Node& node) { return !node.name.empty(); });
  for (const auto& [id, refusal] : model_.refusals())
    tell(id, fmt::format("0/{0} nodes are available: {1}. preemption: 0/{0} nodes are available: "
                         "{0} Preemption is not helpful for scheduling.",
                         nodes, refusal));
}

void Scheduler::Look::tell(PodId id, const std::string& message) {
  const api::Version pod = version_of(id);
  if (!pod || needs_of(pod)->said == "Unschedulable: " + message) return;
  const auto last = scheduler_.last_told_.find(pod.header->uid);
  if (last != scheduler_.last_told_.end()) return outcome_.look_again(last->second + kRepeatAfter);
  if (!may_write(kPods, pod.header->name)) return;
  PatchStatus patch{client::target_of(kPods, pod),
                    with_condition(pod, {"PodScheduled", "False", "Unschedulable", message}, view_.now())};
  patch.announce.done = Emit{client::subject_of(kPods, "Pod", pod), EventType::kWarning, "FailedScheduling", message};
  outcome_.allowed_now.push_back(std::move(patch));
  scheduler_.last_told_[pod.header->uid] = view_.now();
}

client::WatchRule Scheduler::watch(const client::Resource& resource,
                                   bool (*concerns)(const ObjectChange&, const View&)) const {
  client::WatchRule rule{.resource = resource};
  rule.keys = [this, resource, concerns](const ObjectChange& change, const View& view, const client::KeySink& sink) {
    const api::Version& known = change.now ? change.now : change.before;
    model_.touch(resource, known.header->name);
    api::Revision& newest = basis_[resource.plural];
    newest = std::max(newest, known.header->revision);
    if (concerns(change, view)) sink(kTheCluster, WorkQueue::Priority::kNormal);
  };
  return rule;
}

std::vector<client::WatchRule> Scheduler::watches() const {
  client::WatchRule pods = watch(kPods, changes_room);
  pods.indexed_fields = {kNodeName};
  pods.indexes = {volumes::pods_by_claim()};
  client::WatchRule persistent = watch(kPersistentVolumes, somebody_waits);
  persistent.indexes = {volumes::free_volumes_by_class()};
  return {std::move(pods),
          watch(kNodes, changes_offer),
          watch(kPodGroups, always),
          watch(kAllotments, always),
          watch(kRequeuedPods, always),
          watch(kNamespaces, somebody_waits),
          watch(kDisruptionBudgets, somebody_waits),
          watch(kPriorityClasses, somebody_waits),
          watch(kConfigurations, somebody_waits),
          watch(kPersistentVolumeClaims, somebody_waits),
          std::move(persistent),
          watch(kStorageClasses, somebody_waits)};
}

void Scheduler::take_over(std::int64_t epoch, api::Revision term_began) {
  lead(epoch);
  fence_.raise(term_began);
}

Outcome Scheduler::reconcile(const api::ObjectKey&, const View& view) const {
  return Look(*this, view).run();
}

}  // namespace gangway::scheduler
