#include "cli/arena/job_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/arena/instance.h"
#include "cli/arena/render.h"

namespace gangway::cli::arena {
namespace {

const json::Value* true_condition(const json::Value& job, std::string_view type) {
  for (const json::Value& condition : json::array_at(job, {"status", "conditions"}))
    if (json::string_at(condition, {"type"}) == type && json::string_at(condition, {"status"}) == "True")
      return &condition;
  return nullptr;
}

void quote(JobView& job, const json::Value* condition) {
  if (condition == nullptr) return;
  job.reason = json::string_at(*condition, {"reason"});
  job.message = json::string_at(*condition, {"message"});
}

// Its end as the job itself says it; empty while it has not ended.
std::string final_status(JobView& job) {
  for (const std::string_view type : {"Succeeded", "Failed"}) {
    const json::Value* condition = true_condition(job.object, type);
    if (condition == nullptr) continue;
    if (type == "Failed") quote(job, condition);
    return upper(type);
  }
  const std::string_view launcher = json::string_at(job.object, {"status", "launcherStatus"});
  if (launcher == "Succeeded" || launcher == "Failed") return upper(launcher);
  const std::string_view deployment = json::string_at(job.object, {"status", "jobDeploymentStatus"});
  if (deployment == "Failed" || deployment == "ValidationFailed" ||
      (deployment == "Complete" && json::string_at(job.object, {"status", "jobStatus"}) == "FAILED")) {
    job.reason = json::string_at(job.object, {"status", "reason"});
    job.message = json::string_at(job.object, {"status", "message"});
    return "FAILED";
  }
  return deployment == "Complete" ? "SUCCEEDED" : "";
}

bool waits_in_queue(const JobView& job) {
  return !json::string_at(job.object, {"metadata", "labels", kQueueLabel}).empty() ||
         json::string_at(job.object, {"metadata", "annotations", "scheduling.x-k8s.io/suspend"}) == "true";
}

// Every role has as many pods running as it needs at least; those that have done their part count.
bool has_minimum(const JobView& job, const std::vector<JobRole>& roles) {
  std::map<std::string_view, std::int64_t> running;
  for (const Instance& instance : job.instances)
    if ((instance.phase == "Running" && !instance.is_ending) || instance.phase == "Succeeded") ++running[instance.role];
  for (const JobRole& role : roles) {
    const std::int64_t have = running[role.name];
    if (have < role.minimum) return false;
  }
  // A Ray cluster without its program trains nothing.
  const std::string_view ray = json::string_at(job.object, {"status", "jobStatus"});
  if (job.type == JobType::kRay && ray != "RUNNING") return false;
  return !roles.empty() && job.running > 0;
}

void say_what_is_missing(JobView& job) {
  for (const Instance& instance : job.instances) {
    if (instance.waits_because.empty()) continue;
    job.reason = "Unschedulable";
    job.message = fmt::format("{}: {}", instance.name, instance.waits_because);
    return;
  }
  for (const Instance& instance : job.instances) {
    if (instance.phase != "Pending") continue;
    job.reason = instance.status;
    job.message = fmt::format("{} is {}", instance.name, instance.status);
    return;
  }
}

void judge_unfinished(JobView& job, const std::vector<JobRole>& roles) {
  if (is_suspended(job.object)) {
    job.status = waits_in_queue(job) ? "QUEUING" : "SUSPENDED";
    job.reason = waits_in_queue(job) ? "Queued" : "Suspended";
    job.message = waits_in_queue(job) ? fmt::format("waits in the queue {}",
                                                    json::string_at(job.object, {"metadata", "labels", kQueueLabel}))
                                      : fmt::format("suspended; `arena resume {}` lets it go on", job.name);
    return;
  }
  if (has_minimum(job, roles)) {
    job.status = "RUNNING";
    if (job.lacks_pods()) {
      say_what_is_missing(job);
      const std::string missing = fmt::format("{}/{} instances run", job.running, job.desired);
      job.message = job.message.empty() ? missing : missing + "; " + job.message;
      if (job.reason.empty()) job.reason = fmt::format("{}/{}", job.running, job.desired);
    }
    return;
  }
  job.status = "PENDING";
  quote(job, true_condition(job.object, "Restarting"));
  // A Ray job has no conditions.
  if (json::string_at(job.object, {"status", "reason"}) == "Preempted") {
    job.reason = "Preempted";
    job.message = json::string_at(job.object, {"status", "message"});
  }
  // Its controller knows that it was preempted, and says by whom.
  if (job.reason.ends_with("Preempted")) {
    job.status = "QUEUING";
    job.reason = "Preempted";
    return;
  }
  say_what_is_missing(job);
}

WallTime newest_transition(const json::Array& conditions) {
  WallTime newest;
  for (const json::Value& condition : conditions) newest = std::max(newest, time_at(condition, {"lastTransitionTime"}));
  return newest;
}

// When it ended: as the job says, else its last condition. Pods that end later do not make it longer.
WallTime end_of(const JobView& job) {
  for (const std::string_view field : {"completionTime", "endTime"})
    if (const WallTime end = time_at(job.object, {"status", field}); end > WallTime()) return end;
  return newest_transition(json::array_at(job.object, {"status", "conditions"}));
}

WallTime start_of(const JobView& job) {
  if (info_of(job.type).kind == "MPIJob") return job.created;
  return time_at(job.object, {"status", "startTime"});
}

}  // namespace

void judge(JobView& job, const std::vector<JobRole>& roles, WallTime now) {
  if (const std::string final = final_status(job); !final.empty()) {
    job.status = final;
    if (const WallTime end = end_of(job); end > WallTime()) job.ended = end;
  } else {
    judge_unfinished(job, roles);
  }
  const WallTime start = start_of(job);
  if (start > WallTime()) job.duration = std::max(Duration::zero(), job.ended.value_or(now) - start);
}

void note_preemption(JobView& job, const std::string& by, const std::string& told) {
  if (job.status == "SUCCEEDED") return;
  if (job.status == "PENDING" && (!by.empty() || job.attempt > 1)) {
    job.status = "QUEUING";
    job.reason = "Preempted";
    const std::string place = by.empty() ? "" : fmt::format("preempted by {}; ", by);
    job.message = fmt::format("{}comes back as attempt {} when there is room{}{}", place,
                              std::max<std::int64_t>(2, job.attempt), job.message.empty() ? "" : ": ", job.message);
  }
  if (job.lacks_pods() && !told.empty()) job.message += "; " + told;
  if (told.empty() || job.status == "RUNNING") return;
  if (job.status == "QUEUING" && job.reason == "Preempted" && by.empty() && !job.message.empty()) return;
  if (job.status != "QUEUING" || by.empty()) {
    if (job.status == "FAILED" || job.reason.empty()) job.reason = "Preempted";
    job.message = job.message.empty() ? told : told + "; " + job.message;
  }
}

}  // namespace gangway::cli::arena
