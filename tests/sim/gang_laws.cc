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
    if (before != nullptr && before->runs() && before->late.empty() && (now == nullptr || !now->runs()))
      lost_[before->gang][before->uid] = sightings.now();
    if (!is_newly_bound(before, now) || !now->is_group() || !now->late.empty()) return;
    const auto minimum = sightings.least_minimum_of(now->gang, kLongestLag);
    const auto there = members(sightings, now->gang).size();
    if (static_cast<std::int64_t>(there) >= minimum || is_granted(sightings, *now)) return;
    verdicts.broken(fmt::format("{} is bound, which makes {} of the {} that {} needs, and no grant has the rest",
                                named(now->name), there, minimum, now->gang));
  }

  void on_grant(const Sightings& sightings, const SeenGrant* before, const SeenGrant* now,
                Verdicts& verdicts) override {
    // One of nothing only keeps another from coming to be.
    if (!is_new_grant(before, now) || now->places.empty()) return;
    const auto running = members(sightings, now->gang);
    auto in_all = running;
    for (const auto& place : now->places)
      if (const auto* pod = sightings.pod(place.uid); pod == nullptr || pod->late.empty()) in_all.insert(place.uid);
    const auto minimum = sightings.least_minimum_of(now->gang, kLongestLag);
    if (static_cast<std::int64_t>(in_all.size()) < minimum)
      verdicts.broken(fmt::format("{} is granted {} of the {} that it needs", now->gang, in_all.size(), minimum));
    if (running.empty()) judge_late(sightings, *now, verdicts);
  }

 private:
  // A gang that starts has room for those who are made then, or they are there already.
  static void judge_late(const Sightings& sightings, const SeenGrant& grant, Verdicts& verdicts) {
    const auto* group = sightings.group(grant.gang);
    if (group == nullptr) return;
    for (const auto& late : group->late) {
      const auto& pods = sightings.pods();
      const auto there = std::count_if(pods.begin(), pods.end(), [&](const auto& each) {
        return each.second.gang == grant.gang && each.second.late == late.name;
      });
      const auto held = std::count_if(grant.holds.begin(), grant.holds.end(),
                                      [&](const auto& hold) { return hold.name == late.name; });
      if (there + held < late.count)
        verdicts.broken(fmt::format("{} is granted no room for its {}", grant.gang, late.name));
    }
  }

  // Who runs, and who did as far as somebody may know.
  std::set<std::string> members(const Sightings& sightings, const std::string& gang) const {
    std::set<std::string> uids;
    for (const auto& [uid, pod] : sightings.pods())
      if (pod.gang == gang && pod.runs() && pod.late.empty()) uids.insert(uid);
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
    std::int64_t needed = 0;          // of them; 0: it would only like to have more
    std::vector<Amounts> later = {};  // what those ask for who are made when the others run
    std::int64_t priority = 0;
  };

  static std::map<std::string, Waiting> who_waits(const Sightings& sightings) {
    std::map<std::string, Waiting> line;
    std::map<std::string, std::int64_t> running;
    std::map<std::string, std::int64_t> waiting_late;
    std::map<std::string, std::set<std::string>> there;  // late members
    for (const auto& [uid, pod] : sightings.pods()) {
      if (!pod.late.empty()) there[pod.gang].insert(pod.late);
      if (pod.runs() && pod.late.empty()) ++running[pod.gang];
      if (!pod.waits()) continue;
      auto& waiting = line[pod.gang];
      waiting.priority = waiting.pods.empty() ? pod.priority : std::max(waiting.priority, pod.priority);
      waiting.pods.push_back(&pod);
      if (!pod.late.empty()) ++waiting_late[pod.gang];
    }
    for (auto& [gang, waiting] : line) {
      const auto minimum = std::max<std::int64_t>(1, sightings.minimum_of(gang));
      waiting.needed = std::max<std::int64_t>(0, minimum - running[gang]) + waiting_late[gang];
      const auto* group = sightings.group(gang);
      // These wait for something else: for members, for the whole cluster's room.
      if (waiting.needed > static_cast<std::int64_t>(waiting.pods.size())) waiting.needed = 0;
      if (group == nullptr) continue;
      if (group->has_min_resources) waiting.needed = 0;
      for (const auto& late : group->late)
        if (running[gang] == 0 && !there[gang].contains(late.name)) waiting.later.push_back(late.requests);
    }
    return line;
  }

  static bool fits(const Sightings& sightings, const Waiting& waiting) {
    auto wanted = waiting.later;
    for (const auto* pod : waiting.pods) wanted.push_back(pod->requests);
    const auto first = wanted.begin() + static_cast<std::ptrdiff_t>(waiting.later.size());
    const bool are_alike = std::all_of(first, wanted.end(), [&](const Amounts& each) { return each == *first; });
    // Which of them are needed is only known where they are alike.
    if (are_alike) wanted.resize(waiting.later.size() + static_cast<std::size_t>(waiting.needed));
    if (!are_alike && waiting.needed < static_cast<std::int64_t>(waiting.pods.size())) return false;
    std::vector<Amounts> rooms;
    for (const auto& [name, node] : sightings.nodes()) {
      if (!node.is_open) continue;
      rooms.push_back(node.allocatable);
      for (const auto& [uid, pod] : sightings.pods())
        if (pod.node == name && pod.holds_room()) add(rooms.back(), pod.requests, -1);
    }
    int tries = kMostTries;
    return fit(wanted, rooms, tries);
  }

  // Tries one node after the other for the last, and so on for the others. What takes too long to find counts as none.
  static bool fit(std::vector<Amounts>& wanted, std::vector<Amounts>& rooms, int& tries) {
    if (wanted.empty()) return true;
    const auto next = wanted.back();
    wanted.pop_back();
    for (auto& room : rooms) {
      if (--tries < 0 || !takes(room, next)) continue;
      add(room, next, -1);
      if (fit(wanted, rooms, tries)) return true;
      add(room, next);
    }
    wanted.push_back(next);
    return false;
  }
  static bool takes(const Amounts& room, const Amounts& requests) {
    return std::all_of(requests.begin(), requests.end(), [&](const auto& wanted) {
      const auto at = room.find(wanted.first);
      return wanted.second == 0 || (at != room.end() && at->second >= wanted.second);
    });
  }

  static constexpr int kMostTries = 100'000;
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
