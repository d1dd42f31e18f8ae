// What claims, volumes and storage classes say, and which volume suits a claim. Pure; read once a version.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/node_selector.h"
#include "api/object.h"
#include "api/selector.h"
#include "base/quantity.h"
#include "json/value.h"

namespace gangway::volumes {

inline constexpr const char* kLocalProvisioner = "gangway.dev/local";
inline constexpr const char* kBindCompleted = "pv.kubernetes.io/bind-completed";
inline constexpr const char* kBoundByController = "pv.kubernetes.io/bound-by-controller";
inline constexpr const char* kProvisionedBy = "pv.kubernetes.io/provisioned-by";
// How a scheduler tells whoever provisions volumes where the first pod will be.
inline constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";

struct ClaimFacts {
  std::string phase;
  std::string volume;     // spec.volumeName
  bool is_bound = false;  // the annotation says that binding was completed
  std::string selected_node;
  std::string storage_class;
  std::set<std::string> modes;
  std::string volume_mode;
  Quantity size;
  std::optional<api::LabelSelector> selector;
};
ClaimFacts read_claim(const api::Version& claim);

struct VolumeFacts {
  std::string phase;
  // The claim that it is reserved for.
  bool has_claim = false;
  api::ObjectName claim;
  std::string claim_uid;  // empty: whoever bears the name
  bool is_bound_by_controller = false;
  std::string provisioner;  // who made it
  std::string reclaim_policy;
  std::string storage_class;
  std::set<std::string> modes;
  std::string volume_mode;
  Quantity size;
  api::NodeSelector nodes;  // from where it can be reached

  bool is_reserved_for(const api::Header& candidate) const {
    return has_claim && claim == candidate.name && (claim_uid.empty() || claim_uid == candidate.uid);
  }
};
VolumeFacts read_volume(const api::Version& volume);

struct ClassFacts {
  std::string provisioner;
  std::string reclaim_policy;
  bool waits_for_consumer = false;
  api::NodeSelector nodes;  // allowedTopologies: where its volumes may be made

  // Somebody makes volumes for it, as opposed to those that an administrator has made.
  bool is_provisioned() const { return !provisioner.empty() && provisioner != "kubernetes.io/no-provisioner"; }
};
ClassFacts read_class(const api::Version& storage_class);

// The claims that a pod uses, by name, its own ephemeral ones included.
struct PodClaims {
  std::vector<std::string> names;
};
PodClaims read_pod_claims(const api::Version& pod);

// What is wrong with binding exactly this volume; empty when nothing is.
std::string why_not_suited(const ClaimFacts& claim, const VolumeFacts& volume);
// Whether the claim may be given this volume when it may be given any.
bool suits(const ClaimFacts& claim, const VolumeFacts& volume, const api::Header& volume_header);

}  // namespace gangway::volumes
