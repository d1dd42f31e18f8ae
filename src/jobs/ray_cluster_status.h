// RayClusterStatus: the status of a RayCluster while a look works on it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "client/action.h"
#include "jobs/ray_cluster.h"
#include "jobs/ray_cluster_state.h"

namespace gangway::jobs {

inline constexpr std::string_view kRayHeadReady = "HeadPodReady";
inline constexpr std::string_view kRayProvisioned = "RayClusterProvisioned";
inline constexpr std::string_view kRayReplicaFailure = "ReplicaFailure";
inline constexpr std::string_view kRaySuspending = "RayClusterSuspending";
inline constexpr std::string_view kRaySuspended = "RayClusterSuspended";

class RayClusterStatus {
 public:
  RayClusterStatus(const RayCluster& cluster, WallTime now);

  RayClusterRecord record;  // as it will be

  bool is_true(std::string_view condition) const;
  void set(std::string_view condition, bool status, std::string_view reason, std::string_view message);
  void drop(std::string_view condition);
  // "ready", "suspended" or "".
  void set_state(std::string_view state);
  std::string_view state() const;

  // Numbers, addresses and the conditions that follow from what is there.
  void observe(const RayClusterState& state, const client::View& view);

  // The write that makes it so; nothing when all is as it was.
  std::optional<client::Action> write() const;

 private:
  void count(const RayClusterState& state);
  void add_amounts();

  const RayCluster& cluster_;
  WallTime now_;
  json::Value next_;  // {"status": …}
};

}  // namespace gangway::jobs
