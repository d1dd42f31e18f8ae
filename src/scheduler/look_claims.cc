#include "scheduler/look.h"
#include "volumes/claim_facts.h"
#include "volumes/claim_indexes.h"

namespace gangway::scheduler {

using client::Patch;
using client::resources::kNodes;
using client::resources::kPersistentVolumeClaims;
using client::resources::kPersistentVolumes;
using client::resources::kStorageClasses;

// Told before the pod goes there: once it has gone, nobody would look at its claims any more. Until that is shown the
// pod keeps its room and is asked for again.
bool Scheduler::Look::are_claims_told(const api::Version& pod, const std::string& node) {
  if (scheduler_.claims_ == volumes::ClaimBinding::kFollowsPods) return true;
  bool all = true;
  for (const std::string& name : needs_of(pod)->claims) {
    const api::Version claim = view_.get(kPersistentVolumeClaims, {pod.header->name.ns, name});
    if (claim && !is_told(claim, node)) all = false;
  }
  return all;
}

bool Scheduler::Look::is_told(const api::Version& claim, const std::string& node) {
  const auto facts = view_.objects(kPersistentVolumeClaims).facts(claim, volumes::read_claim);
  if (facts->is_bound || !facts->selected_node.empty()) return true;
  // One that an administrator has made is reserved for the claim; the rest is the volume controller's.
  if (!volumes::volumes_of(view_, claim.header->name).empty()) return true;
  const api::Version host = view_.get(kNodes, {"", node});
  if (const api::Version volume = host ? volumes::volume_on(view_, *facts, *host.header) : api::Version()) {
    if (!may_write(kPersistentVolumes, volume.header->name)) return false;
    json::Value body = json::Object();
    json::object_at(body, {"spec", "claimRef"}) = {{"apiVersion", "v1"},
                                                   {"kind", "PersistentVolumeClaim"},
                                                   {"namespace", claim.header->name.ns},
                                                   {"name", claim.header->name.name},
                                                   {"uid", claim.header->uid}};
    json::object_at(body, {"metadata", "annotations"})[volumes::kBoundByController] = "yes";
    outcome_.allowed_now.push_back(Patch{client::target_of(kPersistentVolumes, volume), std::move(body)});
    return false;
  }
  if (!may_write(kPersistentVolumeClaims, claim.header->name)) return false;
  json::Value body = json::Object();
  json::object_at(body, {"metadata", "annotations"})[volumes::kSelectedNode] = node;
  outcome_.allowed_now.push_back(Patch{client::target_of(kPersistentVolumeClaims, claim), std::move(body)});
  return false;
}

}  // namespace gangway::scheduler
