#include "jobs/batch_job.h"

#include <algorithm>

#include "api/conditions.h"
#include "client/resource.h"
#include "controllers/job_gang.h"

namespace gangway::jobs {
namespace {

Phase phase_of(const json::Value& job, std::int64_t granted) {
  if (api::condition_is_true(job, "Failed")) return Phase::kFailed;
  if (api::condition_is_true(job, "Complete")) return Phase::kSucceeded;
  if (json::flag_at(job, {"spec", "suspend"})) return Phase::kSuspended;
  if (granted == 0) return Phase::kQueued;
  return json::integer_at(job, {"status", "ready"}) > 0 ? Phase::kRunning : Phase::kStarting;
}

// The pod of the first index, or the first of those that are alike.
std::string chief_of(const std::vector<api::Version>& pods) {
  std::string chief;
  for (const api::Version& pod : pods) {
    if (pod.header->label("batch.kubernetes.io/job-completion-index") == "0") return pod.header->name.name;
    if (chief.empty() || pod.header->name.name < chief) chief = pod.header->name.name;
  }
  return chief;
}

}  // namespace

GangWish batch_gang_wish(const json::Value& job) {
  const std::int64_t at_once = json::integer_at(job, {"spec", "parallelism"}, 1);
  const std::int64_t left =
      json::integer_at(job, {"spec", "completions"}, at_once) - json::integer_at(job, {"status", "succeeded"});
  return {.minimum = std::max<std::int64_t>(1, std::min(at_once, left))};
}

Trainable batch_trainable(const api::Version& version, const json::Value& tree, const std::vector<api::Version>& pods) {
  const std::int64_t wish = json::integer_at(tree, {"spec", "parallelism"}, 1);
  const bool is_gang = controllers::is_gang(tree);
  ReplicaSet set{
      .role = "pod",
      .wish = wish,
      .granted = count_granted(pods, "", ""),
      .minimum = is_gang ? wish : std::min<std::int64_t>(1, wish),
      .maximum = wish,
      .priority_class = std::string(json::string_at(tree, {"spec", "template", "spec", "priorityClassName"})),
      .pod_template = nullptr,
      .resize_at = {"spec", "parallelism"}};
  if (const json::Value* pod = json::find(tree, {"spec", "template"})) set.pod_template = *pod;
  Trainable seen{.resource = client::resources::kJobs,
                 .kind = "Job",
                 .name = version.header->name,
                 .uid = version.header->uid,
                 .replicas = {set},
                 .minimum = set.minimum,
                 .priority_class = set.priority_class,
                 .phase = phase_of(tree, set.granted),
                 .chief = chief_of(pods),
                 .gang = is_gang ? version.header->name.name : std::string(),
                 .is_suspended = json::flag_at(tree, {"spec", "suspend"}),
                 .suspend_at = {"spec", "suspend"},
                 .on_preempt = on_preempt_of(tree)};
  const json::Array& conditions = json::array_at(tree, {"status", "conditions"});
  if (!conditions.empty()) seen.message = json::string_at(conditions.back(), {"message"});
  return seen;
}

}  // namespace gangway::jobs
