#include "sim/placement_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace gangway::sim {
namespace {

const std::vector<api::ResourceName> kWatched = {"configurations.gangway.dev",    "priorityclasses.scheduling.k8s.io",
                                                 "podgroups.scheduling.x-k8s.io", "nodes",
                                                 "allotments.gangway.dev",        "pods"};

class PlacementLaws final : public Law {
 public:
  PlacementLaws(std::vector<std::unique_ptr<PlacementLaw>> laws, std::function<MonoTime()> now)
      : laws_(std::move(laws)), sightings_(std::move(now)) {}

  void on_change(const api::ResourceName& resource, const store::Change& change, const store::Root&,
                 Verdicts& verdicts) override {
    if (std::find(kWatched.begin(), kWatched.end(), resource) == kWatched.end()) return;
    const auto seen = sightings_.see(resource, change);
    const auto at = [](const auto& there) { return there ? &*there : nullptr; };
    for (const auto& law : laws_) {
      if (resource == "pods") law->on_pod(sightings_, at(seen.pod_before), at(seen.pod), verdicts);
      if (seen.grant_before || seen.grant) law->on_grant(sightings_, at(seen.grant_before), at(seen.grant), verdicts);
      if (seen.node) law->on_node(sightings_, *seen.node, verdicts);
    }
  }

  void on_restart(const store::Root& before, const store::Root&, const store::Root& root, Verdicts& verdicts) override {
    for (const auto& [resource, change] : changes_between(before, root, kWatched))
      on_change(resource, change, root, verdicts);
  }

  void at_rest(const store::Root&, Verdicts& verdicts) override {
    for (const auto& law : laws_) law->at_rest(sightings_, verdicts);
  }

 private:
  std::vector<std::unique_ptr<PlacementLaw>> laws_;
  Sightings sightings_;
};

class PromisedRoomIsKept final : public PlacementLaw {
 public:
  void on_pod(const Sightings& sightings, const SeenPod* before, const SeenPod* now, Verdicts& verdicts) override {
    if (!is_newly_bound(before, now)) return;
    forfeit(sightings, now->node, now->priority);
    judge(sightings, now->node, now->priority, named(now->name), verdicts);
  }
  void on_grant(const Sightings& sightings, const SeenGrant* before, const SeenGrant* now,
                Verdicts& verdicts) override {
    if (!is_new_grant(before, now) || !now->priority) return;
    std::set<std::string> nodes;
    for (const auto& place : now->places) nodes.insert(place.node);
    for (const auto& hold : now->holds) nodes.insert(hold.node);
    for (const auto& node : nodes) {
      forfeit(sightings, node, *now->priority);
      if (comes_too_late(sightings, *now, node)) forfeited_.emplace(now->key(), node);
      judge(sightings, node, *now->priority, "the grant of " + now->gang, verdicts);
    }
  }

 private:
  // Somebody of higher priority has come to the node: lower grants may have lost their room to it, and may not have
  // been closed yet.
  void forfeit(const Sightings& sightings, const std::string& node, std::int64_t priority) {
    for (const auto& [name, grant] : sightings.grants())
      if (grant.is_open && grant.priority && *grant.priority < priority) forfeited_.emplace(grant.key(), node);
  }

  // It was still on its way when somebody of higher priority was bound there, who need not wait for it.
  static bool comes_too_late(const Sightings& sightings, const SeenGrant& grant, const std::string& node) {
    return std::any_of(sightings.pods().begin(), sightings.pods().end(), [&](const auto& entry) {
      const SeenPod& pod = entry.second;
      return pod.node == node && pod.holds_room() && pod.priority > *grant.priority && pod.bound &&
             *pod.bound >= grant.granted_at;
    });
  }

  void judge(const Sightings& sightings, const std::string& node, std::int64_t priority, const std::string& who,
             Verdicts& verdicts) const {
    const auto* there = sightings.node(node);
    if (there == nullptr || there->allocatable.empty()) return;
    Amounts sum;
    std::set<std::string> leaving;
    for (const auto& [name, grant] : sightings.grants()) {
      if (!grant.is_open || !grant.priority || *grant.priority < priority) continue;
      if (forfeited_.contains({grant.key(), node})) continue;
      leaving.insert(grant.victims.begin(), grant.victims.end());
      for (const auto& place : grant.places) {
        const auto* pod = sightings.pod(place.uid);
        if (place.node == node && pod != nullptr && pod->waits()) add(sum, pod->requests);
      }
      for (const auto& hold : grant.holds)
        if (hold.node == node && !sightings.is_taken(grant, hold)) add(sum, hold.requests);
    }
    for (const auto& [uid, pod] : sightings.pods())
      if (pod.node == node && pod.holds_room() && !leaving.contains(uid)) add(sum, pod.requests);
    for (const auto& [resource, amount] : sum) {
      const auto at = there->allocatable.find(resource);
      const auto room = at == there->allocatable.end() ? 0 : at->second;
      if (amount > room)
        verdicts.broken(
            fmt::format("{} has {} of {}, and with {} {} of it are promised", node, room, resource, who, amount));
    }
  }

  std::set<std::pair<std::string, std::string>> forfeited_;  // grants, and the nodes where they are
};

class VictimsGoFirst final : public PlacementLaw {
 public:
  void on_pod(const Sightings& sightings, const SeenPod* before, const SeenPod* now, Verdicts& verdicts) override {
    if (!is_newly_bound(before, now)) return;
    for (const auto& [name, grant] : sightings.grants()) {
      const SeenGrant::Place here{now->uid, now->node};
      const bool places_it = std::find(grant.places.begin(), grant.places.end(), here) != grant.places.end();
      if (!grant.is_open || !places_it) continue;
      for (const auto& uid : grant.victims) {
        const auto* victim = sightings.pod(uid);
        if (victim != nullptr && victim->holds_room())
          verdicts.broken(fmt::format("{} is bound before {} has gone", named(now->name), named(victim->name)));
      }
    }
  }
};

}  // namespace

bool is_new_grant(const SeenGrant* before, const SeenGrant* now) {
  return now != nullptr && now->is_open && (before == nullptr || before->generation != now->generation);
}

bool is_newly_bound(const SeenPod* before, const SeenPod* now) {
  return now != nullptr && now->holds_room() && (before == nullptr || before->node.empty());
}

void PlacementLaw::on_pod(const Sightings&, const SeenPod*, const SeenPod*, Verdicts&) {}
void PlacementLaw::on_grant(const Sightings&, const SeenGrant*, const SeenGrant*, Verdicts&) {}
void PlacementLaw::on_node(const Sightings&, const std::string&, Verdicts&) {}
void PlacementLaw::at_rest(const Sightings&, Verdicts&) {}

std::unique_ptr<Law> placement_laws(std::vector<std::unique_ptr<PlacementLaw>> laws, std::function<MonoTime()> now) {
  return std::make_unique<PlacementLaws>(std::move(laws), std::move(now));
}

std::vector<std::unique_ptr<PlacementLaw>> all_placement_laws() {
  std::vector<std::unique_ptr<PlacementLaw>> laws;
  laws.push_back(promised_room_is_kept());
  laws.push_back(victims_go_first());
  laws.push_back(gangs_start_whole());
  laws.push_back(grants_come_to_an_end());
  laws.push_back(nobody_waits_for_nothing());
  laws.push_back(preemptors_outrank());
  laws.push_back(protected_are_left_alone());
  laws.push_back(evictions_are_granted());
  laws.push_back(what_is_begun_is_finished());
  laws.push_back(preemption_has_no_cycles());
  return laws;
}

std::unique_ptr<PlacementLaw> promised_room_is_kept() {
  return std::make_unique<PromisedRoomIsKept>();
}
std::unique_ptr<PlacementLaw> victims_go_first() {
  return std::make_unique<VictimsGoFirst>();
}

}  // namespace gangway::sim
