// What decides which nodes take which pods, besides room. Shared by all pods, or nodes, that are alike in it.
//
// Planners judge a pair of shape and traits once; so whoever fills a Snapshot gives equal values one object.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planning/labels.h"
#include "planning/resources.h"

namespace gangway::planning {

inline constexpr const char* kHostnameLabel = "kubernetes.io/hostname";

struct Taint {
  std::string key;
  std::string value = {};
  enum class Effect : std::uint8_t { kNoSchedule, kPreferNoSchedule, kNoExecute };
  Effect effect = Effect::kNoSchedule;
  auto operator<=>(const Taint&) const = default;
};

struct Toleration {
  std::string key = {};  // empty, with `exists`: every key
  bool exists = false;   // whatever the value is
  std::string value = {};
  std::optional<Taint::Effect> effect = {};  // none: every effect
  bool tolerates(const Taint& taint) const;
  auto operator<=>(const Toleration&) const = default;
};

// What nodes of one kind have in common. The hostname label is not among the labels: it differs on every node.
struct NodeTraits {
  Labels labels;
  std::vector<Taint> taints;
  bool is_unschedulable = false;  // cordoned
  auto operator<=>(const NodeTraits&) const = default;
};

// All of its requirements must hold. Fields know one name: that of the node.
struct NodeTerm {
  std::vector<Requirement> labels = {};
  std::vector<Requirement> names = {};
  auto operator<=>(const NodeTerm&) const = default;
};

// One of the terms must hold.
struct NodeSelector {
  std::vector<NodeTerm> terms = {};
  auto operator<=>(const NodeSelector&) const = default;
};

struct PreferredNodes {
  NodeTerm term;
  std::int64_t weight = 1;
  auto operator<=>(const PreferredNodes&) const = default;
};

// A pod may only be on some nodes because of what its volumes are; `reason` is said of the others.
struct PlaceLimit {
  NodeSelector nodes;
  std::string reason;
  auto operator<=>(const PlaceLimit&) const = default;
};

// Other pods, seen from a topology domain.
struct AffinityTerm {
  Selector pods;
  std::vector<std::string> namespaces = {};  // sorted
  bool all_namespaces = false;
  std::string topology_key;
  std::int64_t weight = 0;           // of a preference
  bool ignores_terminating = false;  // as spreading does
  bool selects(const std::string& ns, const Labels& labels) const;
  auto operator<=>(const AffinityTerm&) const = default;
};

struct SpreadConstraint {
  Selector pods;  // of the pod's own namespace
  std::string topology_key;
  std::int64_t max_skew = 1;
  std::int64_t min_domains = 1;
  bool is_required = true;           // DoNotSchedule; else ScheduleAnyway
  bool honors_node_affinity = true;  // count only nodes that the pod's own selector takes
  bool honors_taints = false;        // count only nodes whose taints the pod tolerates
  auto operator<=>(const SpreadConstraint&) const = default;
};

struct HostPort {
  std::string ip;  // 0.0.0.0: all addresses of the node
  std::string protocol;
  std::int64_t port = 0;
  bool collides_with(const HostPort& other) const;
  auto operator<=>(const HostPort&) const = default;
};

// The pod's own labels are not part of it: they differ from pod to pod of one job, and matter only to others.
struct PodShape {
  Request request;  // itself as one of kPods too
  // What it counts as when loads are compared: a pod that requests nothing still does something.
  std::int64_t load_cpu = 0;
  std::int64_t load_memory = 0;

  std::string ns;

  std::vector<Toleration> tolerations = {};
  std::vector<NodeSelector> required = {};  // all of them: spec.nodeSelector is one, node affinity another
  std::vector<PreferredNodes> preferred = {};
  std::vector<PlaceLimit> limits = {};
  std::vector<HostPort> ports = {};
  std::vector<AffinityTerm> affinity = {};
  std::vector<AffinityTerm> anti_affinity = {};
  std::vector<AffinityTerm> preferred_affinity = {};  // a negative weight: preferred anti-affinity
  std::vector<SpreadConstraint> spread = {};

  // Whether it matters to it which other pods are where. What says nothing about others is placed much faster.
  bool looks_at_pods() const {
    return !affinity.empty() || !anti_affinity.empty() || !preferred_affinity.empty() || !spread.empty();
  }
  auto operator<=>(const PodShape&) const = default;
};

}  // namespace gangway::planning
