// RayCluster: one of ray.io/v1 as one look sees it: a head, groups of workers, and whose it is. A pure value.
//
// It does not say what pods look like (ray_pods.h), nor what is done about them (ray_cluster_look.h).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"
#include "base/time.h"
#include "client/api_client.h"
#include "controllers/owned.h"
#include "jobs/pod_groups.h"
#include "json/value.h"

namespace gangway::jobs {

inline constexpr std::string_view kRayClusterKind = "RayCluster";
inline constexpr std::string_view kRayJobKind = "RayJob";
const client::Resource& ray_clusters();
const client::Resource& ray_jobs();

// Pods that are alike: the head, or one group of workers.
struct RayGroup {
  std::string name;  // "headgroup" for the head
  bool is_head = false;
  bool is_suspended = false;
  std::int64_t replicas = 1;  // within its limits
  std::int64_t minimum = 1;
  std::int64_t maximum = 1;
  std::int64_t hosts = 1;             // pods of each replica
  std::set<std::string> to_delete;    // pods that the autoscaler wants to be rid of
  json::Value spec = json::Object();  // as the cluster has it

  std::string_view role() const;
  std::int64_t pods() const { return is_suspended ? 0 : replicas * hosts; }
  std::int64_t fewest_pods() const { return is_suspended ? 0 : minimum * hosts; }
  const json::Value& pod_template() const;
};

// Of the spec of a cluster.
struct RayGroups {
  explicit RayGroups(const json::Value& cluster_spec);

  RayGroup head;
  std::vector<RayGroup> workers;
  bool is_autoscaled = false;

  // The head and the workers that there should be, or, of a cluster that can do with fewer, the fewest.
  GangWish gang_wish(OnPreempt on_preempt) const;
};

// What the status remembers.
struct RayClusterRecord {
  std::int64_t attempt = 1;
  std::optional<WallTime> queued_again;
};

struct RayCluster {
  RayCluster(api::Version cluster, json::Value document);

  api::Version version;
  json::Value tree;
  RayGroups groups;
  RayClusterRecord record;
  bool is_ours = true;  // nobody else is named as who runs it
  bool is_suspended = false;
  std::string job;  // the RayJob that it was made for; empty: it stands for itself
  bool is_gang = true;
  OnPreempt on_preempt = OnPreempt::kFail;

  const std::string& name() const { return version.header->name.name; }
  const std::string& ns() const { return version.header->name.ns; }
  const std::string& uid() const { return version.header->uid; }
  controllers::Owner owner() const { return {ray_clusters(), std::string(kRayClusterKind), version}; }
  const json::Value& spec() const;
  // That of the job, where there is one: it keeps the PodGroup.
  const std::string& gang() const { return job.empty() ? name() : job; }
  const RayGroup* find_group(std::string_view group) const;

  std::string head_service() const;
  std::int64_t gcs_port() const;
};

// The name of the head's Service of a cluster of that name, and how others reach it.
std::string ray_head_service(const json::Value& cluster_spec, std::string_view cluster);
std::string ray_head_host(std::string_view service, std::string_view ns);
// The port of the head's first container that is called so.
std::int64_t ray_head_port(const json::Value& cluster_spec, std::string_view name, std::int64_t otherwise);

}  // namespace gangway::jobs
