// What a StatefulSet does next, as ordinals. No JSON, no API. Pure.
//
//   OrderedReady: one thing at a time, from the lowest ordinal up; a pod is made when all below it are available, and
//                 those above the range go from the top down when all that stay are available
//   Parallel:     all that is missing is made and all that is too much goes, at once
//   then, when the template has changed: the highest pod of another revision goes, and not before all above it are
//                 available; those below the partition stay as they are
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace gangway::controllers {

struct StatefulSpec {
  std::int64_t start = 0;
  std::int64_t replicas = 1;
  bool ordered = true;
  bool on_delete = false;  // pods are updated by whoever deletes them
  std::int64_t partition = 0;

  bool contains(std::int64_t ordinal) const { return ordinal >= start && ordinal < start + replicas; }
  // A pod that is made anew below the partition is of the current revision, others of the new one.
  bool keeps_current(std::int64_t ordinal) const { return !on_delete && ordinal < start + partition; }
};

struct StatefulPod {
  bool terminating = false;
  bool finished = false;   // Failed or Succeeded: it is replaced
  bool ready = false;      // running and ready
  bool available = false;  // for long enough
  bool updated = false;    // of the new revision

  bool is_healthy() const { return ready && !terminating; }
};

struct StatefulPlan {
  std::vector<std::int64_t> create;
  std::vector<std::int64_t> remove;
};

StatefulPlan plan(const StatefulSpec& spec, const std::map<std::int64_t, StatefulPod>& pods);

}  // namespace gangway::controllers
