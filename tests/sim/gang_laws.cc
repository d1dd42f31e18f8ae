#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/placement_laws.h"

namespace gangway::sim {
namespace {

class GangsStartWhole final : public PlacementLaw {
 public:
  void on_pod(const Sightings& sightings, const SeenPod* before, const SeenPod* now, Verdicts& verdicts) override {
    if (before != nullptr && before->runs() && (now == nullptr || !now->runs()))
      lost_[before->gang][before->uid] = sightings.now();
    if (!is_newly_bound(before, now) || !now->is_group()) return;
    const auto minimum = sightings.minimum_of(now->gang);
    const auto there = members(sightings, now->gang).size();
    if (static_cast<std::int64_t>(there) >= minimum || is_granted(sightings, *now)) return;
    verdicts.broken(fmt::format("{} is bound, which makes {} of the {} that {} needs, and no grant has the rest",
                                named(now->name), there, minimum, now->gang));
  }

  void on_grant(const Sightings& sightings, const SeenGrant* before, const SeenGrant* now,
                Verdicts& verdicts) override {
    // One of nothing only keeps another from coming to be.
    if (!is_new_grant(before, now) || now->places.empty()) return;
    auto in_all = members(sightings, now->gang);
    for (const auto& place : now->places) in_all.insert(place.uid);
    const auto minimum = sightings.minimum_of(now->gang);
    if (static_cast<std::int64_t>(in_all.size()) < minimum)
      verdicts.broken(fmt::format("{} is granted {} of the {} that it needs", now->gang, in_all.size(), minimum));
  }

 private:
  // Who runs, and who did as far as somebody may know.
  std::set<std::string> members(const Sightings& sightings, const std::string& gang) const {
    std::set<std::string> uids;
    for (const auto& [uid, pod] : sightings.pods())
      if (pod.gang == gang && pod.runs()) uids.insert(uid);
    if (const auto lost = lost_.find(gang); lost != lost_.end()) {
      for (const auto& [uid, at] : lost->second)
        if (sightings.now() - at <= kLongestLag) uids.insert(uid);
    }
    return uids;
  }

  // A binding may land after its grant was closed.
  static bool is_granted(const Sightings& sightings, const SeenPod& pod) {
    const auto* grant = sightings.grant_of(pod.gang);
    return grant != nullptr && std::any_of(grant->places.begin(), grant->places.end(), [&](const auto& place) {
             return place.uid == pod.uid && place.node == pod.node;
           });
  }

  std::map<std::string, std::map<std::string, MonoTime>> lost_;  // by gang and uid
};

class GrantsComeToAnEnd final : public PlacementLaw {
 public:
  void at_rest(const Sightings& sightings, Verdicts& verdicts) override {
    for (const auto& [name, grant] : sightings.grants())
      if (grant.is_open) verdicts.broken(fmt::format("the grant of {} is neither done nor taken back", grant.gang));
  }
};

class NobodyWaitsForNothing final : public PlacementLaw {
 public:
  void at_rest(const Sightings& sightings, Verdicts& verdicts) override {
    const auto line = who_waits(sightings);
    for (const auto& [gang, waiting] : line) {
      const bool is_alone = std::none_of(line.begin(), line.end(), [&](const auto& other) {
        return other.first != gang && other.second.priority >= waiting.priority;
      });
      if (is_alone && waiting.needed > 0 && fits(sightings, waiting))
        verdicts.broken(fmt::format("{} waits, though there is room and nobody is before it", gang));
    }
  }

 private:
  struct Waiting {
    std::vector<const SeenPod*> pods = {};
    std::int64_t needed = 0;  // of them; 0: it would only like to have more
    std::int64_t priority = 0;
  };

  static std::map<std::string, Waiting> who_waits(const Sightings& sightings) {
    std::map<std::string, Waiting> line;
    std::map<std::string, std::int64_t> running;
    for (const auto& [uid, pod] : sightings.pods()) {
      if (pod.runs()) ++running[pod.gang];
      if (!pod.waits()) continue;
      auto& waiting = line[pod.gang];
      waiting.priority = waiting.pods.empty() ? pod.priority : std::max(waiting.priority, pod.priority);
      waiting.pods.push_back(&pod);
    }
    for (auto& [gang, waiting] : line) {
      const auto minimum = std::max<std::int64_t>(1, sightings.minimum_of(gang));
      waiting.needed = std::max<std::int64_t>(0, minimum - running[gang]);
      const auto* group = sightings.group(gang);
      // These wait for something else: for members, for the whole cluster's room.
      if (waiting.needed > static_cast<std::int64_t>(waiting.pods.size())) waiting.needed = 0;
      if (group != nullptr && group->has_min_resources) waiting.needed = 0;
    }
    return line;
  }

  // Members of a gang are alike here, so that one node after the other can be filled.
  static bool fits(const Sightings& sightings, const Waiting& waiting) {
    auto left = waiting.needed;
    for (const auto& [name, node] : sightings.nodes()) {
      if (!node.is_open) continue;
      Amounts room = node.allocatable;
      for (const auto& [uid, pod] : sightings.pods())
        if (pod.node == name && pod.holds_room()) add(room, pod.requests, -1);
      for (; left > 0 && takes(room, waiting.pods.front()->requests); --left)
        add(room, waiting.pods.front()->requests, -1);
    }
    return left == 0;
  }
  static bool takes(const Amounts& room, const Amounts& requests) {
    return std::all_of(requests.begin(), requests.end(), [&](const auto& wanted) {
      const auto at = room.find(wanted.first);
      return wanted.second == 0 || (at != room.end() && at->second >= wanted.second);
    });
  }
};

}  // namespace

std::unique_ptr<PlacementLaw> gangs_start_whole() {
  return std::make_unique<GangsStartWhole>();
}
std::unique_ptr<PlacementLaw> grants_come_to_an_end() {
  return std::make_unique<GrantsComeToAnEnd>();
}
std::unique_ptr<PlacementLaw> nobody_waits_for_nothing() {
  return std::make_unique<NobodyWaitsForNothing>();
}

}  // namespace gangway::sim
