// What pods and PodGroups say about how they want to be scheduled, beyond what Kubernetes has fields for.
#pragma once

#include <optional>
#include <string_view>

#include "json/value.h"

namespace gangway::api {

inline constexpr std::string_view kGangwayPrefix = "gangway.dev/";

// On a pod: the name of the PodGroup that it belongs to.
inline constexpr std::string_view kPodGroupLabel = "scheduling.x-k8s.io/pod-group";
// As older tools write it; no PodGroup stands behind that name.
inline constexpr std::string_view kOldPodGroupLabel = "pod-group.scheduling.sigs.k8s.io/name";

// On a job: "true" or "false", where it is not to be as its kind has it: whether its pods are one gang.
inline constexpr std::string_view kGang = "gangway.dev/gang";
// What a job says by it; nothing when it leaves that to its kind.
std::optional<bool> gang_choice(const json::Value& job);
// On a job: where its program keeps its checkpoints. Its containers have it as CHECKPOINT_DIR.
inline constexpr std::string_view kCheckpointDir = "gangway.dev/checkpoint-dir";

// Annotations of a PodGroup, and of a pod that belongs to none; a job's PodGroup has those of the job.
inline constexpr std::string_view kOnPreempt = "gangway.dev/on-preempt";                // Fail, Requeue or Shrink
inline constexpr std::string_view kMinRuntime = "gangway.dev/min-runtime";              // "10m"; may be 0
inline constexpr std::string_view kMaxPreemptions = "gangway.dev/max-preemptions";      // an hour; may be 0
inline constexpr std::string_view kLastCheckpoint = "gangway.dev/last-checkpoint";      // RFC 3339
inline constexpr std::string_view kExpectedDuration = "gangway.dev/expected-duration";  // "2h"; more than 0
// Of a PodGroup only: how many members it would like. Above spec.minMember it is elastic.
inline constexpr std::string_view kMaxMembers = "gangway.dev/max-members";
// Of a PodGroup only: members that are made once it runs (a launcher, a submitter), as a JSON list of their name, count
// and pod template. They are above spec.minMember; room for them is granted with it.
inline constexpr std::string_view kLateMembers = "gangway.dev/late-members";
// On a pod: the name of the late members that it is one of.
inline constexpr std::string_view kLateMemberLabel = "gangway.dev/late-member";

// On a job whose Workers come and go, where its kind has no field for it: how few do, and how many are of use.
inline constexpr std::string_view kMinWorkers = "gangway.dev/min-workers";
inline constexpr std::string_view kMaxWorkers = "gangway.dev/max-workers";

// On a pod that was preempted and made again, or made again with all of its job: which attempt it is, from 2 on.
inline constexpr std::string_view kAttempt = "gangway.dev/attempt";
// On what asks for GPUs: the user who made it. An embedded server writes it, and lets nobody else do so.
inline constexpr std::string_view kCreatedBy = "gangway.dev/created-by";

}  // namespace gangway::api
