#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/placement_laws.h"

namespace gangway::sim {
namespace {

// Sees who is named as a victim for the first time while it still runs: from then on it is lost, whoever gets its room.
class VictimLaw : public PlacementLaw {
 public:
  void on_grant(const Sightings& sightings, const SeenGrant* before, const SeenGrant* now, Verdicts& verdicts) final {
    if (!is_new_grant(before, now)) return;
    std::vector<const SeenPod*> victims;
    for (const auto& uid : now->victims) {
      const auto* victim = sightings.pod(uid);
      if (named_.insert(uid).second && victim != nullptr && victim->runs()) victims.push_back(victim);
    }
    // Where all have gone whom it was for, nobody knows any more what it was worth.
    if (now->priority) judge(sightings, *now, victims, verdicts);
  }

 protected:
  virtual void judge(const Sightings& sightings, const SeenGrant& grant, const std::vector<const SeenPod*>& victims,
                     Verdicts& verdicts) = 0;
  bool was_named(const std::string& uid) const { return named_.contains(uid); }

 private:
  std::set<std::string> named_;  // uids
};

class PreemptorsOutrank final : public VictimLaw {
  void judge(const Sightings&, const SeenGrant& grant, const std::vector<const SeenPod*>& victims,
             Verdicts& verdicts) override {
    for (const auto* victim : victims) {
      if (victim->priority >= *grant.priority)
        verdicts.broken(fmt::format("{} (priority {}) is to go for {} (priority {})", named(victim->name),
                                    victim->priority, grant.gang, *grant.priority));
    }
  }
};

class ProtectedAreLeftAlone final : public VictimLaw {
  void judge(const Sightings& sightings, const SeenGrant& grant, const std::vector<const SeenPod*>& victims,
             Verdicts& verdicts) override {
    if (*grant.priority >= sightings.least_top_priority()) return;
    for (const auto* victim : victims) {
      const auto wishes = sightings.wishes_of(*victim);
      const auto runtime = std::min(wishes.min_runtime, sightings.least_runtime_limit());
      // Times in objects are whole seconds.
      if (const auto started = start_of(sightings, victim->gang);
          started && grant.granted_at - *started + std::chrono::seconds(1) < runtime)
        verdicts.broken(fmt::format("{} is to go for {} in its first minutes", named(victim->name), grant.gang));
      const auto limit = sightings.most_preemptions_limit();
      const auto recent = preemptions_of(sightings, grant, victim->gang);
      if (recent >= std::max(limit, wishes.max_preemptions.value_or(limit)))
        verdicts.broken(
            fmt::format("{} is to go for {}, after {} times in an hour", named(victim->name), grant.gang, recent));
    }
  }

  // Nothing when one that runs has not said so yet: its time may not be known to anybody.
  static std::optional<WallTime> start_of(const Sightings& sightings, const std::string& gang) {
    std::optional<WallTime> first;
    for (const auto& [uid, pod] : sightings.pods()) {
      if (pod.gang != gang || !pod.runs() || !pod.started) continue;
      first = std::min(first.value_or(*pod.started), *pod.started);
    }
    return first;
  }

  // Those that are still under way do not count: they were decided on before they were written down.
  static std::int64_t preemptions_of(const Sightings& sightings, const SeenGrant& grant, const std::string& gang) {
    const auto* own = sightings.grant_of(gang);
    if (own == nullptr) return 0;
    return std::count_if(own->records.begin(), own->records.end(), [&](const SeenGrant::Record& record) {
      const auto& grants = sightings.grants();
      const bool is_under_way = std::any_of(grants.begin(), grants.end(), [&](const auto& other) {
        return other.second.is_open && other.second.key() == record.grant;
      });
      return !is_under_way && grant.granted_at - record.at < std::chrono::hours(1);
    });
  }
};

class EvictionsAreGranted final : public VictimLaw {
 public:
  void on_pod(const Sightings&, const SeenPod* before, const SeenPod* now, Verdicts& verdicts) override {
    if (now == nullptr || !now->is_marked || (before != nullptr && before->is_marked)) return;
    if (!was_named(now->uid))
      verdicts.broken(fmt::format("{} is marked as a victim, and no grant names it", named(now->name)));
  }

 private:
  void judge(const Sightings&, const SeenGrant&, const std::vector<const SeenPod*>&, Verdicts&) override {}
};

class PreemptionHasNoCycles final : public VictimLaw {
  void judge(const Sightings&, const SeenGrant& grant, const std::vector<const SeenPod*>& victims,
             Verdicts& verdicts) override {
    for (const auto* victim : victims) {
      std::set<std::string> reached;
      reach(victim->gang, reached);
      if (reached.contains(grant.gang))
        verdicts.broken(fmt::format("{} evicts {}, by which it was evicted itself", grant.gang, victim->gang));
      evicted_[grant.gang].insert(victim->gang);
    }
  }

  // All whom it has evicted, and all whom these have.
  void reach(const std::string& gang, std::set<std::string>& reached) const {
    if (!reached.insert(gang).second) return;
    if (const auto at = evicted_.find(gang); at != evicted_.end())
      for (const auto& next : at->second) reach(next, reached);
  }

  std::map<std::string, std::set<std::string>> evicted_;
};

class WhatIsBegunIsFinished final : public PlacementLaw {
 public:
  void on_grant(const Sightings& sightings, const SeenGrant* before, const SeenGrant* now, Verdicts&) override {
    const auto& name = (now != nullptr ? now : before)->name;
    if (is_new_grant(before, now)) return follow(sightings, *now);
    const auto at = followed_.find(name);
    if (at == followed_.end() || (now != nullptr && !now->is_withdrawn)) return;
    give_up(std::move(at->second));
    followed_.erase(at);
  }

  void on_pod(const Sightings& sightings, const SeenPod* before, const SeenPod* now, Verdicts&) override {
    const auto& pod = now != nullptr ? *now : *before;
    const bool is_bound = is_newly_bound(before, now);
    const bool is_lost = now == nullptr || now->is_terminating || now->has_ended;
    for (auto& [name, grant] : followed_) {
      if (grant.gang == pod.gang && is_lost) grant.is_excused = true;
      if (is_lost && now != nullptr && now->is_marked && grant.victims.contains(pod.uid)) grant.has_begun = true;
      if (is_bound && grant.unbound.erase({pod.uid, pod.node}) > 0) grant.has_begun = true;
    }
    if (is_bound) excuse(pod.gang, pod.node, pod.priority);
    static_cast<void>(sightings);
  }

  void on_node(const Sightings& sightings, const std::string& node, Verdicts&) override {
    const auto* there = sightings.node(node);
    if (there != nullptr && there->is_open) return;
    for (auto& [name, grant] : followed_)
      if (grant.nodes.contains(node)) grant.is_excused = true;
  }

  void at_rest(const Sightings&, Verdicts& verdicts) override {
    for (const auto& grant : given_up_) {
      if (grant.is_excused) continue;
      verdicts.broken(
          fmt::format("somebody was evicted or bound for {}, which was then not given all of its places", grant.gang));
    }
  }

 private:
  struct Followed {
    std::string gang;
    std::int64_t priority = 0;
    std::set<SeenGrant::Place> unbound = {};
    std::set<std::string> victims = {};
    std::set<std::string> nodes = {};
    bool has_begun = false;
    bool is_excused = false;
  };

  void follow(const Sightings& sightings, const SeenGrant& grant) {
    Followed followed{.gang = grant.gang};
    followed.victims.insert(grant.victims.begin(), grant.victims.end());
    for (const auto& place : grant.places) {
      const auto* pod = sightings.pod(place.uid);
      if (pod == nullptr || pod->is_terminating || pod->has_ended) followed.is_excused = true;
      if (pod != nullptr && pod->waits()) followed.unbound.insert(place);
      followed.nodes.insert(place.node);
      const auto* node = sightings.node(place.node);
      // Who granted it may not have heard of what became of the node.
      if (node == nullptr || !node->is_open || (node->closed_at && sightings.now() - *node->closed_at <= kLongestLag))
        followed.is_excused = true;
    }
    followed.priority = grant.priority.value_or(0);
    if (!grant.priority) followed.is_excused = true;
    if (const auto old = followed_.find(grant.name); old != followed_.end()) {
      const bool is_kept = std::includes(followed.unbound.begin(), followed.unbound.end(), old->second.unbound.begin(),
                                         old->second.unbound.end());
      if (is_kept) {
        followed.has_begun |= old->second.has_begun;
        followed.is_excused |= old->second.is_excused;
      } else {
        give_up(std::move(old->second));
      }
      followed_.erase(old);
    }
    for (const auto& place : grant.places) excuse(grant.gang, place.node, followed.priority);
    followed_.emplace(grant.name, std::move(followed));
  }

  // The one who takes the room over may be seen later than that it was given up.
  void give_up(Followed grant) {
    if (grant.has_begun && !grant.unbound.empty()) given_up_.push_back(std::move(grant));
  }

  void excuse(const std::string& gang, const std::string& node, std::int64_t priority) {
    const auto see = [&](Followed& grant) {
      if (grant.gang != gang && grant.priority < priority && grant.nodes.contains(node)) grant.is_excused = true;
    };
    for (auto& [name, grant] : followed_) see(grant);
    for (auto& grant : given_up_) see(grant);
  }

  std::map<api::ObjectName, Followed> followed_;
  std::vector<Followed> given_up_;
};

}  // namespace

std::unique_ptr<PlacementLaw> preemptors_outrank() {
  return std::make_unique<PreemptorsOutrank>();
}
std::unique_ptr<PlacementLaw> protected_are_left_alone() {
  return std::make_unique<ProtectedAreLeftAlone>();
}
std::unique_ptr<PlacementLaw> evictions_are_granted() {
  return std::make_unique<EvictionsAreGranted>();
}
std::unique_ptr<PlacementLaw> preemption_has_no_cycles() {
  return std::make_unique<PreemptionHasNoCycles>();
}
std::unique_ptr<PlacementLaw> what_is_begun_is_finished() {
  return std::make_unique<WhatIsBegunIsFinished>();
}

}  // namespace gangway::sim
