#include "sim/sightings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace gangway::sim {
namespace {

constexpr std::int64_t kHighestOfUsers = 1'000'000'000;

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<WallTime> time_in(std::string_view text) {
  const auto time = parse_rfc3339(text);
  return time ? std::optional(*time) : std::nullopt;
}

Wishes wishes_in(const json::Value& object) {
  Wishes wishes;
  const auto annotation = [&](std::string_view key) {
    return json::string_at(object, {"metadata", "annotations", key});
  };
  if (const auto time = parse_duration(annotation("gangway.dev/min-runtime"))) wishes.min_runtime = *time;
  wishes.max_preemptions = number_in(annotation("gangway.dev/max-preemptions"));
  return wishes;
}

SeenPod read_pod(const api::Version& version) {
  const auto tree = tree_of(version);
  const auto& header = *version.header;
  SeenPod pod{.name = header.name, .uid = header.uid};
  std::string group(json::string_at(tree, {"metadata", "labels", "scheduling.x-k8s.io/pod-group"}));
  if (group.empty()) {
    group = json::string_at(tree, {"metadata", "labels", "pod-group.scheduling.sigs.k8s.io/name"});
    pod.minimum =
        number_in(json::string_at(tree, {"metadata", "labels", "pod-group.scheduling.sigs.k8s.io/min-available"}))
            .value_or(0);
  }
  pod.gang = group.empty() ? named(header.name) : fmt::format("group {}/{}", header.name.ns, group);
  pod.node = json::string_at(tree, {"spec", "nodeName"});
  pod.priority = json::integer_at(tree, {"spec", "priority"});
  pod.has_ended = has_ended(phase_of(tree));
  pod.is_terminating = header.deleting_since.has_value();
  pod.is_gated = !json::array_at(tree, {"spec", "schedulingGates"}).empty();
  if (const auto* mark = condition_of(tree, "DisruptionTarget"))
    pod.is_marked = json::string_at(*mark, {"reason"}) == "PreemptionByScheduler";
  pod.late = json::string_at(tree, {"metadata", "labels", "gangway.dev/late-member"});
  pod.requests = requests_of(tree);
  pod.created = header.created;
  if (const auto* scheduled = condition_of(tree, "PodScheduled"); scheduled != nullptr && !pod.node.empty())
    pod.bound = time_in(json::string_at(*scheduled, {"lastTransitionTime"}));
  pod.started = time_in(json::string_at(tree, {"status", "startTime"}));
  pod.wishes = wishes_in(tree);
  return pod;
}

std::vector<SeenGroup::Late> late_members_in(const json::Value& group) {
  std::vector<SeenGroup::Late> all;
  const auto list = json::parse(json::string_at(group, {"metadata", "annotations", "gangway.dev/late-members"}));
  if (!list || !list->is_array()) return all;
  for (const auto& one : list->get_array()) {
    const auto* pod = json::find(one, {"template"});
    all.push_back({std::string(json::string_at(one, {"name"})), json::integer_at(one, {"count"}, 1),
                   pod == nullptr ? Amounts() : requests_of(*pod)});
  }
  return all;
}

SeenGroup read_group(const api::Version& version) {
  const auto tree = tree_of(version);
  SeenGroup group;
  group.minimum = std::max<std::int64_t>(1, json::integer_at(tree, {"spec", "minMember"}, 1));
  group.late = late_members_in(tree);
  group.has_min_resources = json::find(tree, {"spec", "minResources"}) != nullptr;
  group.created = version.header->created;
  group.wishes = wishes_in(tree);
  return group;
}

SeenGrant read_grant(const api::Version& version) {
  const auto tree = tree_of(version);
  const auto& header = *version.header;
  SeenGrant grant{.name = header.name, .generation = header.generation};
  const bool is_group = json::string_at(tree, {"spec", "gang", "kind"}) == "PodGroup";
  grant.gang = fmt::format("{} {}/{}", is_group ? "group" : "pod", header.name.ns,
                           json::string_at(tree, {"spec", "gang", "name"}));
  const auto phase = json::string_at(tree, {"status", "phase"});
  const bool is_about_this = json::integer_at(tree, {"status", "observedGeneration"}) == header.generation;
  grant.is_withdrawn = is_about_this && phase == "Withdrawn";
  grant.is_open = !is_about_this || (phase != "Withdrawn" && phase != "Bound" && phase != "Finished");
  for (const auto& place : json::array_at(tree, {"spec", "places"}))
    grant.places.push_back(
        {std::string(json::string_at(place, {"uid"})), std::string(json::string_at(place, {"node"}))});
  for (const auto& held : json::array_at(tree, {"spec", "holds"})) {
    SeenGrant::Hold hold{std::string(json::string_at(held, {"node"})), std::string(json::string_at(held, {"name"}))};
    add(hold.requests, json::find(held, {"requests"}));
    hold.requests["pods"] = 1000;
    grant.holds.push_back(std::move(hold));
  }
  for (const auto& victim : json::array_at(tree, {"spec", "victims"}))
    grant.victims.emplace_back(json::string_at(victim, {"uid"}));
  grant.granted_at = time_in(json::string_at(tree, {"spec", "grantedAt"})).value_or(WallTime());
  for (const auto& record : json::array_at(tree, {"status", "preemptedBy"}))
    if (const auto at = time_in(json::string_at(record, {"at"})))
      grant.records.push_back({*at, std::string(json::string_at(record, {"grant"}))});
  return grant;
}

bool keeps_pods_away(const json::Value& node) {
  const auto* ready = condition_of(node, "Ready");
  if (ready == nullptr || json::string_at(*ready, {"status"}) != "True") return true;
  if (json::flag_at(node, {"spec", "unschedulable"})) return true;
  const auto& taints = json::array_at(node, {"spec", "taints"});
  return std::any_of(taints.begin(), taints.end(),
                     [](const json::Value& taint) { return json::string_at(taint, {"effect"}) != "PreferNoSchedule"; });
}

template <class Map, class Key>
auto* find_in(const Map& map, const Key& key) {
  const auto at = map.find(key);
  return at == map.end() ? nullptr : &at->second;
}

}  // namespace

std::string SeenGrant::key() const {
  return fmt::format("{}/{} {}", name.ns, name.name, generation);
}

const SeenPod* Sightings::pod(const std::string& uid) const {
  return find_in(pods_, uid);
}
const SeenNode* Sightings::node(const std::string& name) const {
  return find_in(nodes_, name);
}
const SeenGroup* Sightings::group(const std::string& gang) const {
  return find_in(groups_, gang);
}
const SeenGrant* Sightings::grant_of(const std::string& gang) const {
  for (const auto& [name, grant] : grants_)
    if (grant.gang == gang) return &grant;
  return nullptr;
}

std::int64_t Sightings::minimum_of(const std::string& gang) const {
  if (const auto* known = group(gang)) return known->minimum;
  std::int64_t minimum = 0;
  for (const auto& [uid, pod] : pods_)
    if (pod.gang == gang) minimum = std::max(minimum, pod.minimum);
  return minimum;
}

std::int64_t Sightings::least_minimum_of(const std::string& gang, Duration lag) const {
  const auto* known = group(gang);
  if (known == nullptr || !known->changed || now() - *known->changed > lag) return minimum_of(gang);
  return known->least_minimum;
}

Wishes Sightings::wishes_of(const SeenPod& pod) const {
  const auto* known = group(pod.gang);
  return known != nullptr ? known->wishes : pod.wishes;
}

bool Sightings::is_taken(const SeenGrant& grant, const SeenGrant::Hold& hold) const {
  const auto* announcing = group(grant.gang);
  if (announcing == nullptr) return true;
  const auto& late = announcing->late;
  if (std::none_of(late.begin(), late.end(), [&](const auto& each) { return each.name == hold.name; })) return true;
  return std::any_of(pods_.begin(), pods_.end(), [&](const auto& each) {
    const SeenPod& pod = each.second;
    return pod.gang == grant.gang && pod.late == hold.name && (pod.holds_room() || pod.has_ended);
  });
}

void Sightings::see_group(const std::string& gang, SeenGroup group) {
  group.least_minimum = group.minimum;
  if (const auto* before = this->group(gang)) {
    group.changed = before->changed;
    group.least_minimum = before->least_minimum;
    if (before->minimum != group.minimum) {
      group.changed = now();
      group.least_minimum = std::min(before->least_minimum, group.minimum);
    }
  }
  groups_[gang] = std::move(group);
}

void Sightings::see_node(const std::string& name, const api::Version& version, bool is_gone) {
  const bool was_open = nodes_.contains(name) && nodes_[name].is_open;
  SeenNode& node = nodes_[name];
  const auto tree = tree_of(version);
  node.allocatable.clear();
  if (!is_gone) add(node.allocatable, json::find(tree, {"status", "allocatable"}));
  node.is_open = !is_gone && !keeps_pods_away(tree);
  if (was_open && !node.is_open) node.closed_at = now();
}

void Sightings::see_limits(const api::Version& configuration) {
  const auto tree = tree_of(configuration);
  if (const auto limit = parse_duration(json::string_at(tree, {"spec", "scheduling", "minRuntimeLimit"})))
    least_runtime_limit_ = std::min<Duration>(least_runtime_limit_, *limit);
  most_preemptions_limit_ =
      std::max(most_preemptions_limit_, json::integer_at(tree, {"spec", "scheduling", "maxPreemptionsLimit"}));
  top_class_ = json::string_at(tree, {"spec", "scheduling", "topPriorityClass"});
}

// Who has at least this may disturb anybody.
void Sightings::note_top() {
  std::optional<std::int64_t> top;
  for (const auto& [name, value] : classes_)
    if (value <= kHighestOfUsers) top = std::max(top.value_or(value), value);
  if (const auto named_top = classes_.find(top_class_); named_top != classes_.end()) top = named_top->second;
  if (top) least_top_priority_ = std::min(least_top_priority_, *top);
}

Sightings::Seen Sightings::see(const api::ResourceName& resource, const store::Change& change) {
  Seen seen;
  const bool is_gone = change.type == store::ChangeType::kDeleted;
  const auto& header = is_gone ? *change.before.header : *change.now.header;
  if (resource == "pods") {
    if (auto old = pods_.extract(header.uid); !old.empty()) seen.pod_before = std::move(old.mapped());
    if (!is_gone) seen.pod = pods_[header.uid] = read_pod(change.now);
  } else if (resource == "allotments.gangway.dev") {
    if (auto old = grants_.extract(header.name); !old.empty()) seen.grant_before = std::move(old.mapped());
    if (is_gone) return seen;
    seen.grant = read_grant(change.now);
    if (seen.grant_before && seen.grant_before->generation == seen.grant->generation) {
      seen.grant->priority = seen.grant_before->priority;
    } else {
      for (const auto& place : seen.grant->places)
        if (const auto* placed = pod(place.uid))
          seen.grant->priority = std::max(seen.grant->priority.value_or(placed->priority), placed->priority);
    }
    grants_[header.name] = *seen.grant;
  } else if (resource == "podgroups.scheduling.x-k8s.io") {
    const auto gang = fmt::format("group {}/{}", header.name.ns, header.name.name);
    if (is_gone) {
      groups_.erase(gang);
    } else {
      see_group(gang, read_group(change.now));
    }
  } else if (resource == "nodes") {
    see_node(header.name.name, change.now, is_gone);
    seen.node = header.name.name;
  } else if (resource == "priorityclasses.scheduling.k8s.io" && !is_gone) {
    classes_[header.name.name] = json::integer_at(tree_of(change.now), {"value"});
    note_top();
  } else if (resource == "configurations.gangway.dev" && header.name.name == "default" && !is_gone) {
    see_limits(change.now);
    note_top();
  }
  return seen;
}

}  // namespace gangway::sim
