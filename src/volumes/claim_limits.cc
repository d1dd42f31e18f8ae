#include "volumes/claim_limits.h"

#include <fmt/format.h>

#include <utility>

#include "client/resource.h"
#include "volumes/claim_facts.h"
#include "volumes/claim_indexes.h"

namespace gangway::volumes {
namespace {

using client::View;
using client::resources::kPersistentVolumeClaims;
using client::resources::kPersistentVolumes;
using client::resources::kStorageClasses;

constexpr const char* kElsewhere = "node(s) had volume node affinity conflict";
constexpr const char* kVolumeGone = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
constexpr const char* kNoVolume = "node(s) didn't find available persistent volumes to bind";

PlaceLimit where_bound(const View& view, const ClaimFacts& claim) {
  const auto& volumes = view.objects(kPersistentVolumes);
  const api::Version volume = volumes.get({"", claim.volume});
  if (!volume) return {{}, kVolumeGone};
  return {{volumes.facts(volume, read_volume)->nodes}, kElsewhere};
}

// Where somebody else who uses the claim is: it will be bound there.
std::string node_of_users(const View& view, const api::ObjectName& claim, const PlacedClaims& placed) {
  if (const auto at = placed.find(claim); at != placed.end()) return at->second;
  for (const api::Version& pod : pods_using(view, claim))
    if (const auto node = pod.header->field("spec.nodeName"); !node.empty()) return std::string(node);
  return {};
}

PlaceLimit where_volumes_are(const View& view, const ClaimFacts& claim) {
  PlaceLimit limit{{}, kNoVolume};
  for (const api::Version& volume : free_volumes(view, claim.storage_class)) {
    const auto facts = view.objects(kPersistentVolumes).facts(volume, read_volume);
    if (suits(claim, *facts, *volume.header)) limit.nodes.push_back(facts->nodes);
  }
  return limit;
}

// What one claim means; false when the pod can be nowhere.
bool judge(const View& view, const api::ObjectName& name, const PlacedClaims& placed, ClaimBinding binding,
           ClaimLimits& result) {
  const auto& claims = view.objects(kPersistentVolumeClaims);
  const api::Version claim = claims.get(name);
  if (!claim || claim.header->deleting_since) {
    result.refusal =
        fmt::format("persistentvolumeclaim \"{}\" {}", name.name, claim ? "is being deleted" : "not found");
    return false;
  }
  const auto facts = claims.facts(claim, read_claim);
  if (facts->phase == "Lost") {
    result.refusal = fmt::format("persistentvolumeclaim \"{}\" bound to non-existent persistentvolume \"{}\"",
                                 name.name, facts->volume);
    return false;
  }
  if (facts->is_bound) {
    result.limits.push_back(where_bound(view, *facts));
    return true;
  }
  const auto& classes = view.objects(kStorageClasses);
  const api::Version storage_class = classes.get({"", facts->storage_class});
  const ClassFacts of_class = storage_class ? *classes.facts(storage_class, read_class) : ClassFacts();
  if (!of_class.waits_for_consumer) {
    result.refusal = "pod has unbound immediate PersistentVolumeClaims";
    return false;
  }
  const bool is_told = binding == ClaimBinding::kIsTold;
  if (is_told && !facts->selected_node.empty()) {
    result.limits.push_back({{api::NodeSelector::of_name(facts->selected_node)}, kElsewhere});
  } else if (const std::string node = node_of_users(view, name, placed); !node.empty()) {
    result.limits.push_back({{api::NodeSelector::of_name(node)}, kElsewhere});
  } else if (is_told && of_class.is_provisioned()) {
    result.limits.push_back({{of_class.nodes}, kNoVolume});
  } else if (of_class.provisioner != kLocalProvisioner) {
    result.limits.push_back(where_volumes_are(view, *facts));
  }
  return true;
}

}  // namespace

ClaimLimits claim_limits(const View& view, const std::string& ns, const std::vector<std::string>& claims,
                         const PlacedClaims& placed, ClaimBinding binding) {
  ClaimLimits result;
  for (const std::string& claim : claims)
    if (!judge(view, {ns, claim}, placed, binding, result)) break;
  return result;
}

api::Version volume_on(const View& view, const ClaimFacts& claim, const api::Header& node) {
  api::Version best;
  const auto& volumes = view.objects(kPersistentVolumes);
  const auto size_of = [&](const api::Version& volume) { return volumes.facts(volume, read_volume)->size; };
  for (const api::Version& volume : free_volumes(view, claim.storage_class)) {
    const auto facts = volumes.facts(volume, read_volume);
    if (!suits(claim, *facts, *volume.header) || !facts->nodes.matches(node)) continue;
    if (!best || size_of(volume) < size_of(best)) best = volume;
  }
  return best;
}

}  // namespace gangway::volumes
