#include "jobs/kubeflow_status.h"

#include <utility>

namespace gangway::jobs {
namespace {

void put_or_erase(json::Object& object, std::string_view key, std::int64_t number) {
  if (number == 0) {
    object.erase(key);
  } else {
    object[key] = number;
  }
}

}  // namespace

KubeflowStatus::KubeflowStatus(const KubeflowJob& job, WallTime now)
    : JobStatus(job.owner(), job.tree, job.record, now),
      job_(job),
      counts_(json::map_at(job.tree, {"status", "replicaStatuses"})) {}

void KubeflowStatus::end(std::optional<WallTime> when) {
  record.completed = when.value_or(now());
}

void KubeflowStatus::count(const Tallies& tallies) {
  json::Object counts;
  for (const ReplicaSpec& spec : job_.replicas) {
    json::Object entry{{"selector", selector_text(replica_labels(job_, spec))}};
    if (const auto at = tallies.find(spec.type); at != tallies.end()) {
      put_or_erase(entry, "active", at->second.active);
      put_or_erase(entry, "succeeded", at->second.succeeded);
      put_or_erase(entry, "failed", at->second.failed);
    }
    counts[spec.type] = std::move(entry);
  }
  counts_ = std::move(counts);
}

void KubeflowStatus::settle_success() {
  for (auto& [type, entry] : counts_) {
    const std::int64_t active = json::integer_at(entry, {"active"});
    if (active == 0 || !entry.is_object()) continue;
    entry.get_object()["succeeded"] = json::integer_at(entry, {"succeeded"}) + active;
    entry.get_object().erase("active");
  }
}

std::vector<client::Action> KubeflowStatus::write() const {
  json::Object next = present();
  next["replicaStatuses"] = counts_;
  return JobStatus::write(std::move(next), "lastReconcileTime");
}

}  // namespace gangway::jobs
