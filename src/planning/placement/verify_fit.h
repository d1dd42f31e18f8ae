// Which node takes which pod, as verify() states it: first the node's own rules, then what pods say about each other.
//
// Written from Kubernetes' rules and not from the planner's code, which it is there to check.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planning/snapshot.h"

namespace gangway::planning::verifying {

// What keeps pods of this shape off the node whoever else is there; empty when nothing does.
std::string node_objection(const PodShape& shape, const Node& node);

// A pod on a node, bound or promised.
struct Someone {
  const PodShape* shape = nullptr;
  const Labels* labels = nullptr;
  NodeId node = kNone;
  bool is_terminating = false;
};

// Everybody who is somewhere. People come and go while tickets are replayed; how many there are of a kind in a domain
// is counted when it is first asked for.
class Crowd {
 public:
  explicit Crowd(const Snapshot& snapshot) : snapshot_(snapshot) {}

  void enter(const Someone& who) { move(who, 1); }
  void leave(const Someone& who) { move(who, -1); }
  // What keeps somebody who is not among them off its node; empty when nothing does.
  std::string objection(const Someone& who);

 private:
  enum class What : std::uint8_t { kAffinity, kAntiAffinity, kHolders, kSpread };
  // How many there are by domain, of those that one term of a shape is about.
  struct Tally {
    std::map<std::string, std::int64_t> domains;
    std::int64_t all = 0;
    std::vector<bool> eligible;  // nodes that count, for spreading
  };
  struct Key {
    const PodShape* shape = nullptr;
    What what = What::kAffinity;
    std::size_t index = 0;
    auto operator<=>(const Key&) const = default;
  };

  void move(const Someone& who, std::int64_t sign);
  void count(const Key& key, Tally& tally, const Someone& who, std::int64_t sign) const;
  const Tally& tally(const PodShape& shape, What what, std::size_t index);
  std::int64_t near(const PodShape& shape, What what, std::size_t index, const std::string& key, NodeId node);
  std::string port_objection(const Someone& who) const;
  std::string affinity_objection(const Someone& who);
  std::string anti_affinity_objection(const Someone& who);
  std::string spread_objection(const Someone& who);

  const Snapshot& snapshot_;
  std::vector<std::pair<Someone, std::int64_t>> moves_;
  std::map<Key, Tally> tallies_;
  std::map<NodeId, std::vector<HostPort>> ports_;
  std::set<const PodShape*> holders_;  // shapes with anti-affinity, which works both ways
};

}  // namespace gangway::planning::verifying
