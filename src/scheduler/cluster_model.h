// ClusterModel: the planner's snapshot of a mirrored cluster, kept up to date by what changes. Owned by one loop.
//
// Changes are only noted (touch); update() reads what they are about. Both together are the same as building everything
// anew: tests compare the two.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/object.h"
#include "client/view.h"
#include "planning/snapshot.h"
#include "scheduler/allotment.h"
#include "scheduler/cycle_sink.h"
#include "scheduler/facts.h"
#include "scheduler/pending_grants.h"
#include "volumes/claim_limits.h"

namespace gangway::scheduler {

class ClusterModel {
 public:
  // Pods of other schedulers hold their room, and are not ours to place.
  explicit ClusterModel(std::string scheduler_name, volumes::ClaimBinding claims = volumes::ClaimBinding::kFollowsPods)
      : scheduler_name_(std::move(scheduler_name)), claim_binding_(claims) {}

  void touch(const client::Resource& resource, const api::ObjectName& name);
  void update(const client::View& view);

  // A binding is under way, decided on this version of the pod: for us it has happened.
  void assume(const api::Version& pod, const std::string& node);
  // Bindings whose outcome the mirror does not show yet, by the pod's name.
  struct Assumed {
    std::string uid;
    api::Revision revision = 0;
    std::string node;
  };
  const std::map<api::ObjectName, Assumed>& assumed() const { return assumed_; }
  void forget_assumed(const api::ObjectName& pod);

  // Allotments that are being written: for us they are so, until the mirror shows what became of them.
  PendingGrants& pending() { return pending_; }
  const PendingGrants& pending() const { return pending_; }
  // What an Allotment grants: what is being written counts before what the mirror shows. Null: nothing, or no more.
  PendingGrants::Facts grant_of(const client::View& view, const api::ObjectName& allotment) const;
  // The write of a grant has failed: nothing was done, or nobody knows.
  void allotment_failed(const api::ObjectName& allotment, bool is_certain);
  // What is to be asked for again, once: writes whose answers were lost and whom somebody still waits for.
  std::vector<PendingGrants::Write> take_lost_grants(const client::View& view);

  const planning::Snapshot& snapshot() const { return snapshot_; }
  const planning::Policies& policies() const { return policies_; }
  // What update() has changed since they were last taken; at first, everything.
  Changes take_changes() { return std::exchange(changes_, {}); }
  // Why pods can be nowhere because of their claims, or of a group that is not there.
  const std::map<planning::PodId, std::string>& refusals() const { return refusals_; }
  std::optional<planning::GangId> find_gang(bool is_group, const api::ObjectName& name) const;
  std::optional<planning::NodeId> find_node(const std::string& name) const;

 private:
  struct GangKey {
    std::string ns;
    std::string name;
    bool is_group = false;
    auto operator<=>(const GangKey&) const = default;
  };
  template <class T>
  struct ByValue {
    bool operator()(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) const { return *a < *b; }
  };
  template <class T>
  using Pool = std::set<std::shared_ptr<const T>, ByValue<T>>;

  void update_node(const client::View& view, const std::string& name);
  void update_pod(const client::View& view, const api::ObjectName& name);
  void remove_pod(const api::ObjectName& name);
  void update_claims(const client::View& view);
  void update_gang(const client::View& view, const GangKey& key);
  void update_budgets(const client::View& view);
  void update_namespaces(const client::View& view);
  void update_policies(const client::View& view);
  void read_late_members(const std::vector<LateWish>& wishes, planning::Gang& gang);
  std::optional<planning::OpenTicket> read_ticket(const client::View& view, const GangKey& key);
  void read_holds(const planning::Gang& gang, const AllotmentFacts& facts, planning::OpenTicket& ticket) const;
  void settle_assumed(const client::View& view);
  void update_places(const client::View& view);
  WallTime place_in_line(const api::Version& pod) const;
  void touch_gang_of(const api::ObjectName& allotment, const AllotmentFacts& facts);
  void set_times(WallTime now);
  void sweep();

  planning::Amounts amounts_of(const api::Amounts& amounts);
  planning::Request request_of(const api::Amounts& amounts);
  planning::PodShape shape_of(const PodNeeds& facts);
  GangKey gang_key(const api::ObjectName& pod, const PodNeeds& facts) const;
  planning::PodId pod_slot(const api::ObjectName& name);
  template <class T>
  static std::shared_ptr<const T> one_of(Pool<T>& pool, T value);

  std::string scheduler_name_;
  volumes::ClaimBinding claim_binding_;
  planning::Snapshot snapshot_;
  planning::Policies policies_;
  Limits limits_;
  Changes changes_;

  std::map<std::string, planning::NodeId> nodes_;
  std::map<api::ObjectName, planning::PodId> pods_;
  std::map<GangKey, planning::GangId> gangs_;
  std::vector<GangKey> keys_;  // by gang
  std::vector<planning::NodeId> free_nodes_;
  std::vector<planning::PodId> free_pods_;
  std::vector<planning::GangId> free_gangs_;
  std::map<planning::PodId, std::shared_ptr<const PodNeeds>> with_claims_;  // and without a node
  std::map<planning::PodId, std::string> refusals_;
  std::map<planning::PodId, Duration> with_deadlines_;  // and without a node: they end so long after their start
  std::map<planning::PodId, WallTime> checkpoints_;     // of those whose programs tell
  std::map<api::ObjectName, Assumed> assumed_;
  // Places in line that pods have from an earlier attempt, by the pod's name.
  struct Place {
    std::string victim_uid;     // had it before
    std::string successor_uid;  // has it now; empty: whoever bears the name
    WallTime since;
  };
  std::multimap<api::ObjectName, Place> places_;
  NamespaceLabels namespaces_;
  std::set<api::ObjectName> choose_namespaces_;  // pods that do, by their labels
  PendingGrants pending_;
  Pool<planning::NodeTraits> traits_;
  Pool<planning::PodShape> shapes_;

  std::set<std::string> touched_nodes_;
  std::set<api::ObjectName> touched_pods_;
  std::set<GangKey> touched_gangs_;
  bool namespaces_touched_ = true;
  bool budgets_touched_ = true;
  bool places_touched_ = true;
  bool policies_touched_ = true;
};

}  // namespace gangway::scheduler
