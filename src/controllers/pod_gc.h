// Removes pods that nobody else will.
//
//   on a node that is not there (for the quarantine: it may come back) ──► Failed, DisruptionTarget ──► deleted
//   being deleted, on no node ──► Failed, for those who hold it
//   being deleted, on a node that is not ready and declared out of service ──► Failed ──► deleted
//   ended, and there are more of them than are kept ──► the oldest deleted, evicted ones first
//
// Deleted means at once: there is no agent that would have to let go. Keyed by pod; the key without a name is for all
// that have ended. What it remembers is since when it has missed a node.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "client/reconciler.h"

namespace gangway::controllers {

struct PodGcOptions {
  std::size_t kept = 12'500;
  Duration quarantine = std::chrono::seconds(40);
};

class PodGc final : public client::Reconciler {
 public:
  explicit PodGc(PodGcOptions options = {}) : options_(options) {}

  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

 private:
  void on_pod(const client::ObjectChange& change, const client::View& view, const client::KeySink& sink) const;
  void on_node(const client::ObjectChange& change, const client::View& view, const client::KeySink& sink) const;
  client::Outcome look_at_ended(const client::View& view) const;

  PodGcOptions options_;
  mutable std::map<std::string, WallTime, std::less<>> missed_since_;  // by node
};

}  // namespace gangway::controllers
