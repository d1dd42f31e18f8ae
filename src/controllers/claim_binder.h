// Binds PersistentVolumeClaims to PersistentVolumes, and makes volumes on nodes' own disks.
//
//   claim ──► a volume is reserved for it ──► claim names the volume ──► both Bound
//         ──► its class waits for the first consumer ──► a pod that uses it is on a node ──► as above, from that node
//         ──► nothing suits, and the class is of gangway.dev/local ──► volume made on that node, reserved for it
//   volume ──► Available ──► Bound ──► (its claim is gone) Released ──► deleted, if made here and nobody uses it any
//   more bound claim without its volume ──► Lost
//
// A volume that is made is a directory, <volumes>/<namespace>-<claim>-<uid>, on one node: spec.hostPath with type
// DirectoryOrCreate and node affinity. The node's agent makes the directory when it mounts it, and removes those under
// <volumes> whose PersistentVolume is gone; nothing here touches a disk.
//
// Keyed by claim and by volume. What it remembers is what it told users last.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client/reconciler.h"

namespace gangway::controllers {

struct ClaimBinderOptions {
  std::string volumes;  // the directory, the same on every node
};

class ClaimBinder final : public client::Reconciler {
 public:
  explicit ClaimBinder(ClaimBinderOptions options) : options_(std::move(options)) {}

  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

 private:
  class ClaimLook;

  ClaimBinderOptions options_;
  mutable std::map<std::string, std::string> told_;  // by the claim's uid
};

}  // namespace gangway::controllers
