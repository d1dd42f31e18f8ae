// What controllers ask of pods, and how they make them from a template. Pure.
//
// A pod's JSON is read once a version, however many controllers look at it (pod_facts); labels, owners and deletion are
// in its header.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/object.h"
#include "api/pod_phase.h"
#include "base/time.h"
#include "client/view.h"
#include "json/value.h"

namespace gangway::controllers {

enum class PodPhase : std::uint8_t { kPending, kRunning, kSucceeded, kFailed, kUnknown };

struct PodFacts {
  PodPhase phase = PodPhase::kPending;  // also of a pod that says nothing yet
  std::string node;
  bool ready = false;
  std::optional<WallTime> ready_since;  // when the Ready condition last changed
  std::int64_t deletion_cost = 0;       // annotation controller.kubernetes.io/pod-deletion-cost
  std::int64_t restarts = 0;            // the most of any container
};

PodFacts read_pod(const api::Version& pod);
// The same, from the view's cache of it.
std::shared_ptr<const PodFacts> pod_facts(const client::View& view, const api::Version& pod);

inline bool is_terminating(const api::Version& object) {
  return object.header->deleting_since.has_value();
}
using api::has_ended;
inline bool is_finished(const PodFacts& pod) {
  return pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
}
// Neither finished nor being deleted: it counts as a replica.
inline bool is_active(const api::Version& pod, const PodFacts& facts) {
  return !is_terminating(pod) && !is_finished(facts);
}
inline bool is_running_and_ready(const PodFacts& pod) {
  return pod.phase == PodPhase::kRunning && pod.ready;
}
// From when on it counts as available, having been ready for `min_ready`; none when it is not ready.
std::optional<WallTime> available_at(const PodFacts& pod, Duration min_ready);

// A pod of the template {metadata, spec}: its labels, annotations, finalizers and spec, managed by `owner`.
json::Value pod_from_template(const json::Value& pod_template, const api::ObjectName& name,
                              const api::OwnerReference& owner);

}  // namespace gangway::controllers
