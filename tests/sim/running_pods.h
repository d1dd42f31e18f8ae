// RunningPods: which pods have containers running, on all machines, beside what the API says of them.
//
// Machines tell what they start and what ends; a law tells what the API says, and judges whether the two agree. Owned
// by the simulation's thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "agent/runtime_types.h"
#include "sim/laws.h"

namespace gangway::sim {

class RunningPods {
 public:
  // ── from machines ──
  void add(const agent::PodIdentity& pod) { ++running_[{pod.ns, pod.name}][pod.uid]; }
  void remove(const agent::PodIdentity& pod);

  // ── from the API ──
  // It has ended, or is gone after its node had said so.
  void end(const std::string& uid) { over_.insert(uid); }
  // Its object went without waiting for its node: whoever gives a pod no time to end asks for that.
  void let_go(const std::string& uid) { let_go_.insert(uid); }

  // Other pods of that name that run though nobody let go of them.
  std::set<std::string> others(const agent::PodIdentity& pod) const;
  std::set<std::string> uids() const;
  bool is_over(const std::string& uid) const { return over_.contains(uid); }

 private:
  std::map<std::pair<std::string, std::string>, std::map<std::string, int>> running_;  // by name, then by uid
  std::set<std::string> over_;
  std::set<std::string> let_go_;
};

// When a pod is said to have ended, or is gone, nothing of it runs any more; at rest whatever runs is a pod of the API
// that has not ended. That nothing of it starts afterwards is seen to by machines, who ask `pods`.
std::unique_ptr<Law> what_is_over_runs_nowhere(RunningPods& pods);

}  // namespace gangway::sim
