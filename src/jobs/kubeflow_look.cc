#include "jobs/kubeflow_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "client/resource.h"
#include "jobs/kubeflow_status.h"
#include "jobs/launcher_job.h"
#include "jobs/preemption.h"
#include "jobs/replica_objects.h"

namespace gangway::jobs {
namespace {

using client::EventType;
using client::Outcome;
using client::View;

// From this exit code on (128 and a signal) ExitCode tries again.
constexpr std::int64_t kLowestRetryable = 128;
constexpr const char* kBackoffLimit = "BackoffLimitExceeded";
constexpr const char* kDeadline = "DeadlineExceeded";
constexpr const char* kPreempted = "Preempted";
// Pods that lose one of theirs to a preemption fail as soon as they notice: longer than the lost one may take to end,
// and than it takes to find out.
constexpr Duration kLastWords = std::chrono::minutes(1);

class Look {
 public:
  Look(const KubeflowJob& job, const View& view)
      : job_(job),
        pods_(pods_of(job, view)),
        launcher_(launcher_of(job, view)),
        view_(view),
        status_(job, view.now()),
        objects_(job, pods_, launcher_, view) {}

  Outcome run() {
    if (status_.conditions().is_over()) {
      clean_up();
    } else {
      begin();
      if (job_.policy.is_suspended) {
        hold();
      } else {
        go_on();
      }
    }
    for (client::Action& action : status_.write()) outcome_.allowed_now.push_back(std::move(action));
    for (client::Action& action : objects_.actions()) outcome_.allowed_now.push_back(std::move(action));
    return std::move(outcome_);
  }

 private:
  std::string_view kind() const { return job_.rules.kind.kind; }

  static LauncherJob launcher_of(const KubeflowJob& job, const View& view) {
    const ReplicaSpec* spec = job.find(api::kLauncher);
    if (spec == nullptr || !job.is_by_job(*spec)) return {};
    return read_launcher_job(view, job.owner(), job.pod_name(*spec, 0));
  }

  // ── not over ──

  void begin() {
    if (!status_.conditions().has(kJobCreated)) {
      status_.set(kJobCreated, job_.told(job_.rules.wording.created));
      for (const ReplicaSpec& spec : job_.replicas) warn_about(spec);
    }
    if (job_.policy.is_suspended) return;
    if (status_.conditions().is_true(kJobSuspended)) {
      status_.set(kJobSuspended, false, "Resumed", job_.told(job_.rules.wording.resumed));
      status_.record.started = view_.now();
    }
    if (!status_.record.started) status_.record.started = view_.now();
  }

  void warn_about(const ReplicaSpec& spec) {
    if (json::string_at(spec.pod_template, {"spec", "restartPolicy"}).empty()) return;
    status_.tell(
        EventType::kWarning, "SetPodTemplateRestartPolicy",
        fmt::format("Restart policy in pod template of {} will be overwritten by that of the replica type", spec.type));
  }

  void hold() {
    const std::string message = job_.told(job_.rules.wording.suspended);
    const bool is_news = !status_.conditions().is_true(kJobSuspended);
    if (status_.conditions().is_true(kJobRunning)) status_.set(kJobRunning, false, "Suspended", message);
    status_.set(kJobSuspended, message);
    // What runs now is not part of what will run then.
    if (is_news && job_.record.started) ++status_.record.attempt;
    status_.count({});
    objects_.remove_all();
  }

  void go_on() {
    if (const auto displaced = displacement_of(job_, pods_, view_)) return queue_again(*displaced);
    goes_on_without_ = goes_on_without_lost(job_, pods_);
    count_restarts();
    const Tallies tallies = tally();
    status_.count(tallies);
    check_limits();
    if (!status_.conditions().is_over()) judge(tallies);
    if (status_.conditions().is_over()) return end();
    std::int64_t succeeded = 0;
    for (const auto& [type, counts] : tallies) succeeded += counts.succeeded;
    objects_.keep(succeeded);
  }

  // The next attempt is on record before anything is done about it. Then what is left of this one goes, if it does not
  // go already, and the pods of the next are made: see ReplicaObjects.
  void queue_again(const Displacement& displaced) {
    ++status_.record.attempt;
    status_.record.queued_again = view_.now();
    status_.record.replaced.clear();
    const std::string by = displaced.by.empty() ? "somebody of higher priority" : displaced.by;
    status_.set(kJobRestarting, true, "Preempted",
                fmt::format("{} {} was preempted by {} and is queued again as attempt {}.", kind(), job_.name(), by,
                            status_.record.attempt));
    status_.count({});
  }

  // Where a pod that goes is just made again it says nothing about the job, but for a Launcher that has failed.
  bool is_lost(const ReplicaPod& pod) const {
    if (job_.rules.fails_by_loss || !pod.is_terminating()) return false;
    return pod.is_running() || (pod.has_failed() && pod.spec->type != api::kLauncher);
  }

  Tallies tally() const {
    Tallies tallies;
    for (const ReplicaSpec& spec : job_.replicas) tallies[spec.type];
    for (const ReplicaPod& pod : pods_) {
      if (!has_a_part(job_, pod) || is_lost(pod) || is_forgiven(job_, pod, goes_on_without_)) continue;
      ReplicaTally& counts = tallies.find(pod.spec->type)->second;
      if (job_.is_by_job(*pod.spec)) {
        // How a Launcher ends, its Job says.
        if (pod.is_running()) ++counts.active;
      } else if (pod.has_succeeded()) {
        ++counts.succeeded;
        counts.has_first_succeeded = counts.has_first_succeeded || pod.index == 0;
      } else if (pod.has_failed() || (pod.is_running() && pod.is_terminating())) {
        ++counts.failed;
        if (pod.has_failed() && status_.record.replaced.contains(pod.header().uid)) {
          ++counts.replacing;
        } else if (pod.is_evicted()) {
          ++counts.evicted;
        }
      } else if (pod.is_running()) {
        ++counts.active;
      }
    }
    if (launcher_.object && launcher_.attempt == job_.record.attempt)
      tally_launcher(tallies[std::string(api::kLauncher)]);
    return tallies;
  }

  void tally_launcher(ReplicaTally& counts) const {
    counts.succeeded = launcher_.has_succeeded ? 1 : 0;
    counts.failed = launcher_.has_failed ? 1 : 0;
    counts.reason = launcher_.reason;
    counts.message = launcher_.message;
    if (!launcher_.has_failed || launcher_.reason != kBackoffLimit) return;
    // What is to be known of the last try is said with it.
    const ReplicaPod* last = nullptr;
    for (const ReplicaPod& pod : pods_)
      if (has_a_part(job_, pod) && job_.is_by_job(*pod.spec) && pod.has_failed() &&
          (last == nullptr || last->header().created <= pod.header().created))
        last = &pod;
    if (last == nullptr) return;
    if (!last->facts->reason.empty()) counts.reason += "/" + last->facts->reason;
    if (!last->facts->message.empty()) counts.message += ": " + last->facts->message;
  }

  // Pods that are to be replaced are counted once, before they are deleted; those that have gone are forgotten.
  void count_restarts() {
    std::set<std::string> there;
    for (const ReplicaPod& pod : pods_) there.insert(pod.header().uid);
    std::erase_if(status_.record.replaced, [&](const std::string& uid) { return !there.contains(uid); });
    for (const ReplicaPod& pod : pods_) {
      if (!has_a_part(job_, pod) || status_.record.replaced.contains(pod.header().uid)) continue;
      if (job_.is_by_job(*pod.spec) || is_lost(pod)) continue;
      if (pod.has_failed()) {
        take_failure(pod);
      } else if (pod.is_running() && pod.is_terminating() && !pod.is_preempted() &&
                 pod.spec->restart != RestartPolicy::kNever && !is_forgiven(job_, pod, goes_on_without_)) {
        count_restart(pod);
      }
    }
  }

  // The Workers of an elastic job come and go, by themselves or not: only whom it cannot do without counts.
  bool counts(const ReplicaPod& pod) const {
    return !job_.gang_wish().is_elastic() || job_.is_chief(*pod.spec, pod.index);
  }

  void count_restart(const ReplicaPod& pod) {
    status_.record.replaced.insert(pod.header().uid);
    if (counts(pod)) ++status_.record.restarts;
  }

  void take_failure(const ReplicaPod& pod) {
    const auto code = exit_code(job_, pod);
    if (code)
      status_.tell(EventType::kNormal, "ExitedWithCode",
                   fmt::format("Pod: {}.{} exited with code {}", job_.ns(), pod.header().name.name, *code));
    const std::string& type = pod.spec->type;
    if (pod.spec->restart == RestartPolicy::kNever) return;
    if (is_forgiven(job_, pod, goes_on_without_)) {
      status_.record.replaced.insert(pod.header().uid);
      return;
    }
    // One that could not say how it ended was taken away, and is worth another try.
    if (pod.spec->restart == RestartPolicy::kExitCode && code && *code < kLowestRetryable) {
      status_.set(kJobFailed,
                  fmt::format("job \"{}\" is failing because \"{}\" replica(s) failed.", job_.name(), type));
      return;
    }
    if (pod.is_preempted()) {
      status_.record.replaced.insert(pod.header().uid);
    } else {
      count_restart(pod);
    }
    status_.set(kJobRestarting, fmt::format("job {} is restarting because {} replica(s) failed.", job_.name(), type));
  }

  void check_limits() {
    if (job_.rules.launcher != nullptr) return;  // they are its Job's
    if (const auto& limit = job_.policy.backoff_limit; limit && restarts() >= std::max<std::int64_t>(1, *limit))
      return fail_by(kBackoffLimit, "it has reached the specified backoff limit");
    if (!job_.policy.deadline) return;
    const WallTime due = *status_.record.started + *job_.policy.deadline;
    if (due <= view_.now()) return fail_by(kDeadline, "it was active longer than specified deadline");
    outcome_.look_again(due);
  }

  // In place, and with new pods.
  std::int64_t restarts() const {
    std::int64_t sum = status_.record.restarts;
    for (const ReplicaPod& pod : pods_)
      if (has_a_part(job_, pod) && pod.is_running() && pod.spec->restart != RestartPolicy::kNever && counts(pod))
        sum += pod.facts->restarts;
    return sum;
  }

  void fail_by(const char* limit, const char* why) {
    if (status_.conditions().is_over()) return;
    status_.record.ended_by = limit;
    status_.set(kJobFailed, fmt::format("Job {} has failed because {}", job_.name(), why));
  }

  void judge(const Tallies& tallies) {
    for (const Finding& finding : job_.rules.judge(job_, tallies)) {
      if (finding.reason.empty()) {
        status_.set(finding.type, finding.message);
      } else {
        status_.set_because(finding.type, finding.reason, finding.message);
      }
    }
  }

  void end() {
    // Workers that only sleep do not end by themselves.
    if (job_.rules.fails_by_loss && status_.conditions().is_true(kJobFailed) && status_.record.ended_by.empty() &&
        was_preempted(job_, pods_, view_, view_.now() - kLastWords))
      status_.record.ended_by = kPreempted;
    status_.end(launcher_.ended);
  }

  // ── over ──

  void clean_up() {
    if (status_.conditions().is_true(kJobSucceeded)) status_.settle_success();
    clean_up_pods();
    if (!job_.policy.time_to_live || !job_.record.completed || job_.policy.is_suspended) return;
    const WallTime due = *job_.record.completed + *job_.policy.time_to_live;
    if (due > view_.now()) return outcome_.look_again(due);
    // The revision too: whoever has just made the time longer is heard.
    client::Delete action{client::target_of(job_.rules.resource, job_.version), client::Propagation::kBackground};
    action.announce.done =
        client::Emit{job_.owner().subject(), EventType::kNormal, "SuccessfulDeletePod", "Deleted job: " + job_.name()};
    outcome_.allowed_now.push_back(std::move(action));
  }

  // Where one Worker that is done makes the job succeed, the others are about to be: what they still do, and the log of
  // the first, is not cut off.
  bool ends_together() const {
    const ReplicaSpec* workers = job_.find(api::kWorker);
    return job_.elastic && workers != nullptr && job_.is_chief(*workers, 0) &&
           status_.conditions().is_true(kJobSucceeded);
  }

  void clean_up_pods() {
    const bool is_preempted = job_.record.ended_by == kPreempted;
    // Who ran into a limit was not over when its pods had to go, so that the policy does not hold for them.
    if (!is_preempted && !job_.record.ended_by.empty()) return objects_.clean_up(CleanPods::kAll, false);
    const WallTime due = job_.record.completed.value_or(view_.now()) + kLastWords;
    const bool keeps_running = (is_preempted || ends_together()) && due > view_.now();
    if (keeps_running) outcome_.look_again(due);
    objects_.clean_up(job_.policy.clean, keeps_running);
  }

  const KubeflowJob& job_;
  const std::vector<ReplicaPod> pods_;
  const LauncherJob launcher_;
  const View& view_;
  KubeflowStatus status_;
  ReplicaObjects objects_;
  Outcome outcome_;
  bool goes_on_without_ = false;
};

}  // namespace

Outcome look_at(const KubeflowJob& job, const View& view) {
  return Look(job, view).run();
}

}  // namespace gangway::jobs
