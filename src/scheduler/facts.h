// What planning needs to know of objects, read once a version (ObjectCache::facts). Pure.
//
// Names of resources and annotations are still texts here: a ClusterModel makes the planner's small values of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"
#include "api/pod_requests.h"
#include "base/time.h"
#include "planning/snapshot.h"
#include "scheduler/namespace_choice.h"

namespace gangway::scheduler {

// Beside api::kOldPodGroupLabel, since no PodGroup says it.
inline constexpr std::string_view kOldMinimumLabel = "pod-group.scheduling.sigs.k8s.io/min-available";

// What annotations on a PodGroup, or on a pod that belongs to none, say about its preemption.
struct Wishes {
  planning::OnPreempt on_preempt = planning::OnPreempt::kFail;
  Duration min_runtime = {};
  std::optional<std::int64_t> max_preemptions = {};
  std::optional<WallTime> last_checkpoint = {};
  std::optional<Duration> expected_duration = {};
  std::int64_t max_members = 0;
};

struct PodNeeds {
  std::string scheduler;
  bool is_gated = false;
  std::int64_t priority = 0;
  bool never_preempts = false;
  api::Amounts requests;     // itself as one of "pods" too
  planning::PodShape shape;  // all but its request, and the namespaces that it chooses by their labels
  std::vector<NamespaceChoice> namespace_choices;
  std::string group;         // the gang it belongs to; empty: none
  bool needs_group = false;  // only a PodGroup says how many belong to that gang
  std::int64_t minimum = 0;  // of that gang, where the pod itself says so
  std::int64_t rank = 1;
  std::vector<std::string> claims;   // that its volumes are
  std::optional<Duration> deadline;  // from its start
  std::optional<WallTime> started;
  Wishes wishes;

  std::string said;       // the condition PodScheduled, as "reason: message"; empty while there is none that is False
  std::string nominated;  // status.nominatedNodeName
  bool is_disrupted = false;      // has the condition DisruptionTarget
  std::optional<WallTime> saved;  // when its program has last said that its work is safe
};
PodNeeds read_pod(const api::Version& pod);

struct NodeOffer {
  api::Amounts allocatable;
  planning::NodeTraits traits;
  std::string hostname;
  bool operator==(const NodeOffer&) const = default;
};
NodeOffer read_node(const api::Version& node);

// Members that a group gets once it runs.
struct LateWish {
  std::string name;
  std::int64_t count = 1;
  planning::Labels labels;
  PodNeeds needs;
};

struct GroupWishes {
  std::int64_t min_members = 1;
  api::Amounts min_resources;
  std::vector<LateWish> late;
  Wishes wishes;
};
GroupWishes read_group(const api::Version& group);

struct BudgetFacts {
  planning::Selector pods;
  bool selects_nothing = false;
  std::int64_t allowed = 0;
};
BudgetFacts read_budget(const api::Version& budget);

struct ClassFacts {
  std::int64_t value = 0;
};
ClassFacts read_priority_class(const api::Version& priority_class);

// The Configuration named "default".
struct Limits {
  Duration min_runtime = std::chrono::minutes(10);
  std::int64_t max_preemptions = 5;
  std::string top_class;
  std::vector<std::string> topology;
  Duration usage_retention = std::chrono::hours(168);
};
Limits read_limits(const api::Version& configuration);

}  // namespace gangway::scheduler
