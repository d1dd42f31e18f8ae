// Which pods are where, as far as other pods care: affinity, anti-affinity and spreading count pods by domain, which is
// all nodes with one value of a label. Belongs to one plan in the making.
//
// A term is counted when it is first asked for, with one walk over all pods; from then on every pod that comes or goes
// changes the counts. Clusters where nobody cares pay nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planning/snapshot.h"

namespace gangway::planning {

// What keeps a pod off a node whoever leaves it.
inline constexpr const char* kNoCompany = "node(s) didn't match pod affinity rules";
inline constexpr const char* kNoTopologyLabel =
    "node(s) didn't match pod topology spread constraints (missing required label)";

class Topology {
 public:
  explicit Topology(const Snapshot& snapshot);

  // A pod comes to the node (sign 1) or leaves it (-1). What it points to must outlive the topology.
  struct Move {
    const PodShape* shape = nullptr;
    const Labels* labels = nullptr;
    NodeId node = kNone;
    std::int64_t sign = 1;
    bool is_terminating = false;
  };
  void add(const Move& move);

  // Empty when nothing about other pods keeps it off the node; else what kube-scheduler would say.
  std::string why_not(const PodShape& shape, const Labels& labels, NodeId node);
  // How much its wishes about other pods speak for the node.
  std::int64_t preference_for(const PodShape& shape, NodeId node);
  // Whether other pods matter to it, or it to them.
  bool concerns(const PodShape& shape, const Labels& labels) const;

 private:
  using Counts = std::map<std::string, std::int64_t, std::less<>>;  // by domain

  // One way of counting: pods that a selector takes.
  struct Counted {
    Counts domains;
    std::int64_t all = 0;
  };

  // What one constraint of a shape spreads over, and who is there already.
  struct Spread {
    AffinityTerm term;           // whom it counts
    std::vector<bool> eligible;  // by node; nobody is counted elsewhere
    Counted counted;             // every domain that has such a node, empty or not
  };

  const std::string* domain_of(NodeId node, const std::string& key) const;
  const Counted& count(const AffinityTerm& term);
  template <class Visit>
  void for_each_move(Visit visit) const;
  void count_one(const AffinityTerm& term, Counted& counted, const Move& move) const;
  // Number of pods that the term takes in the node's domain; none where the node has no such label.
  std::optional<std::int64_t> count_near(const AffinityTerm& term, NodeId node);
  std::string why_not_affinity(const PodShape& shape, const Labels& labels, NodeId node);
  bool holds(const AffinityTerm& term, const Counted& holders, NodeId node) const;
  std::string why_not_spread(const PodShape& shape, const Labels& labels, NodeId node);
  const Spread& spread(const PodShape& shape, const SpreadConstraint& constraint);
  bool is_eligible(const PodShape& shape, const SpreadConstraint& constraint, NodeId node) const;
  std::optional<std::int64_t> near(const Counted& counted, const std::string& key, NodeId node) const;

  const Snapshot& snapshot_;
  std::vector<Move> moves_;  // since the snapshot
  std::map<AffinityTerm, Counted> counted_;
  // Anti-affinity works both ways: the terms of pods that are there, and where those pods are.
  std::map<AffinityTerm, Counted> holders_;
  std::map<std::pair<const PodShape*, const SpreadConstraint*>, Spread> spreads_;
};

}  // namespace gangway::planning
