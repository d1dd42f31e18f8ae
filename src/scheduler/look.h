// Look: one look of the Scheduler. Brings the model up to date, asks again for what may be lost, plans, goes on with
// what is open, gives what is new, and tells those who wait. Lives as long as the look, on the Scheduler's loop.
//
// Whatever it asks for is in its Outcome; what that will lead to is told to the model at once.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/conditions.h"
#include "client/reconciler.h"
#include "client/resource.h"
#include "planning/plan.h"
#include "scheduler/scheduler.h"

namespace gangway::scheduler {

inline bool is_bound(const api::Header& pod) {
  return !pod.field("spec.nodeName").empty();
}

// The body of a status patch.
json::Value with_condition(const api::Version& pod, const api::Condition& condition, WallTime now);

class Scheduler::Look {
 public:
  Look(const Scheduler& scheduler, const client::View& view)
      : scheduler_(scheduler), model_(scheduler.model_), view_(view), snapshot_(scheduler.model_.snapshot()) {}

  client::Outcome run();

 private:
  api::Version version_of(planning::PodId pod) const {
    return view_.get(client::resources::kPods, {snapshot_.pods[pod].ns, snapshot_.pods[pod].name});
  }
  std::shared_ptr<const PodNeeds> needs_of(const api::Version& pod) const {
    return view_.objects(client::resources::kPods).facts(pod, read_pod);
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

  // ── the plan, and what was asked for before it (look.cc) ──
  void read_setbacks();
  bool is_deposed() const;
  bool is_fenced();
  planning::Plan plan_lawfully() const;
  void ask_again();
  void bind(const api::Version& pod, const std::string& node);
  // ── claims that must be told where their pod will be (look_claims.cc) ──
  bool are_claims_told(const api::Version& pod, const std::string& node);
  bool is_told(const api::Version& claim, const std::string& node);

  // ── tickets that are open (look_tickets.cc) ──
  void take_back(const planning::Plan& plan);
  void withdraw(planning::GangId gang, const TicketVerdict& why);
  void advance(const api::Version& allotment);
  void clear_away(const api::Version& allotment, const AllotmentFacts& facts);
  void close(const api::Version& allotment, const char* phase, const TicketVerdict& why = {});
  bool set_status(const api::Version& allotment, const char* phase, const TicketVerdict& why);
  void take_on(const api::Version& allotment);
  bool patch_status(const api::Version& allotment, json::Object status);
  std::vector<std::string> names_of(const std::vector<planning::PodId>& pods) const;
  void release(const api::Version& allotment, const planning::Gang& gang);
  void nominate(const planning::OpenTicket& ticket);

  // ── those in the way (look_evictions.cc) ──
  void evict(const api::Version& allotment, const planning::Gang& gang, planning::PodId victim);
  bool is_recorded(const api::Version& allotment, const planning::Gang& preemptor, const planning::Pod& victim);
  bool is_remembered(const api::Version& allotment, const planning::Gang& preemptor, const api::Version& pod,
                     const planning::Gang& gang);

  // ── what is new (look_grants.cc) ──
  void read_old_promises();
  void note_old_promise(const api::ObjectName& allotment, const AllotmentFacts& facts);
  bool is_promised(const planning::Ticket& ticket) const;
  bool is_half_bound(const planning::Gang& gang) const;
  bool follows_the_top_class(const planning::Ticket& ticket);
  void give(const planning::Ticket& ticket);
  bool shares_a_claim(const planning::Ticket& ticket);
  AllotmentFacts kept_of(const planning::Ticket& ticket) const;
  void write(const planning::Ticket& ticket);

  // ── those who wait (look_verdicts.cc) ──
  void tell(const planning::Verdict& verdict);
  void tell(planning::PodId pod, const std::string& message);
  void tell_refused();
  void take_nomination_back(planning::PodId pod);

  const Scheduler& scheduler_;
  ClusterModel& model_;
  const client::View& view_;
  const planning::Snapshot& snapshot_;
  std::set<planning::GangId> withdrawn_;
  std::set<planning::GangId> topped_;                               // loses somebody to the top class by this plan
  std::multimap<planning::NodeId, planning::GangId> old_promises_;  // by node: whose they were
  std::map<api::ObjectName, std::string> claims_;                   // given a node in this look
  std::set<std::pair<client::Resource, api::ObjectName>> written_;
  client::Outcome outcome_;
};

}  // namespace gangway::scheduler
