// Names by which tools find the parts of RayClusters and RayJobs (ray.io/v1): one table for the server's rules and the
// controllers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gangway::api {

// Labels of pods.
inline constexpr std::string_view kRayNodeLabel = "ray.io/is-ray-node";  // always "yes"
inline constexpr std::string_view kRayClusterLabel = "ray.io/cluster";
inline constexpr std::string_view kRayNodeTypeLabel = "ray.io/node-type";  // "head" or "worker"
inline constexpr std::string_view kRayGroupLabel = "ray.io/group";
inline constexpr std::string_view kRayIdentifierLabel = "ray.io/identifier";
inline constexpr std::string_view kRayReplicaIndexLabel = "ray.io/worker-group-replica-index";
inline constexpr std::string_view kRayHostIndexLabel = "ray.io/replica-host-index";
inline constexpr std::string_view kRayHead = "head";
inline constexpr std::string_view kRayWorker = "worker";
inline constexpr std::string_view kRayHeadGroup = "headgroup";

// Labels of what a RayJob makes, and of the pods that hand its program over.
inline constexpr std::string_view kRayOriginName = "ray.io/originated-from-cr-name";
inline constexpr std::string_view kRayOriginKind = "ray.io/originated-from-crd";
inline constexpr std::string_view kRaySubmissionMode = "ray.io/job-submission-mode";

// Annotations of a cluster, or of a template.
inline constexpr std::string_view kRayFaultTolerant = "ray.io/ft-enabled";
inline constexpr std::string_view kRayOwnCommand = "ray.io/overwrite-container-cmd";  // "true": commands stay as given
inline constexpr std::string_view kRayKeepHeadDown = "ray.io/disable-provisioned-head-restart";

inline constexpr std::string_view kRayJobFinalizer = "ray.io/rayjob-finalizer";
inline constexpr std::string_view kRayOperator = "ray.io/kuberay-operator";

inline constexpr std::int64_t kRayGcsPort = 6379;
inline constexpr std::int64_t kRayDashboardPort = 8265;

// Names of clusters, and of jobs, whose clusters have six characters more. The longest name that comes of them, that of
// the head's Service, is still a label.
inline constexpr std::size_t kLongestRayCluster = 53;
inline constexpr std::size_t kLongestRayJob = 47;

}  // namespace gangway::api
