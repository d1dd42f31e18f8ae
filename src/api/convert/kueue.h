// The kinds of kueue.x-k8s.io whose versions v1beta1 and v1beta2 differ in fields. Pure.
//
//                 v1beta1                                  v1beta2
//   ClusterQueue  spec.cohort                              spec.cohortName
//                 spec.admissionChecks [name]              spec.admissionChecksStrategy.admissionChecks [{name}]
//                 flavorFungibility: Borrow, Preempt       MayStopSearch
//   LocalQueue    status.flavorUsage                       status.flavorsUsage
//   Workload      spec.priorityClassName, …Source          spec.priorityClassRef {group, kind, name}
//                 —                                        topologyRequest.podsetSliceRequiredTopologyConstraints
//                 topologyAssignment.domains               topologyAssignment.slices
//                 status.accumulatedPastExexcution…        status.accumulatedPastExecution…
#pragma once

#include "api/convert/lossless.h"

namespace gangway::api {

inline constexpr std::string_view kKueueGroup = "kueue.x-k8s.io";
inline constexpr std::string_view kKueueOlder = "v1beta1";
inline constexpr std::string_view kKueueNewer = "v1beta2";

const VersionPair& cluster_queue_versions();
const VersionPair& local_queue_versions();
const VersionPair& workload_versions();

}  // namespace gangway::api
