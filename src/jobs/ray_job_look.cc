#include "jobs/ray_job_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/owner.h"
#include "api/ray.h"
#include "client/resource.h"
#include "jobs/pod_groups.h"
#include "jobs/preemption.h"
#include "jobs/ray_dashboard.h"
#include "jobs/ray_deletion.h"
#include "jobs/ray_job_objects.h"
#include "jobs/ray_job_state.h"
#include "jobs/ray_job_status.h"
#include "jobs/ray_simulated.h"

namespace gangway::jobs {
namespace {

using client::Create;
using client::Delete;
using client::Emit;
using client::EventType;
using client::Outcome;
using client::Patch;
using client::View;
using client::resources::kJobs;
using client::resources::kServices;
using namespace std::chrono_literals;

// How often Ray is asked what the program does.
constexpr Duration kPace = 3s;
// How long it may not say.
constexpr Duration kLongestSilence = 300s;
// How long the submitter may take to end after the program, and Ray to know of the end after the submitter.
constexpr Duration kSubmitterGrace = 300s;
constexpr Duration kProgramGrace = 30s;

constexpr std::string_view kGraceExceeded = "JobDeploymentStatusTransitionGracePeriodExceeded";

class Look {
 public:
  Look(const RayJob& job, const View& view) : job_(job), view_(view), state_(job, view), next_(job.record) {}

  Outcome run() {
    if (job_.version.header->deleting_since) {
      leave();
      return std::move(outcome_);
    }
    take_step();
    // Both would be written against the same revision.
    if (writes_metadata_) return std::move(outcome_);
    const json::Value* cluster = state_.cluster ? json::find(state_.cluster_tree, {"status"}) : nullptr;
    const bool has_cluster = cluster != nullptr && !next_.cluster.empty();
    if (auto write = write_ray_job(job_, next_, has_cluster ? *cluster : json::Value(nullptr))) act(std::move(*write));
    return std::move(outcome_);
  }

 private:
  void act(client::Action action) { outcome_.allowed_now.push_back(std::move(action)); }
  Emit event(EventType type, std::string reason, std::string message) const {
    return {job_.owner().subject(), type, std::move(reason), std::move(message)};
  }
  bool owns_cluster() const { return job_.selected_cluster.empty(); }

  void take_step() {
    switch (job_.record.deployment) {
      case RayDeployment::kNew:
        return begin();
      case RayDeployment::kInitializing:
        return initialize();
      case RayDeployment::kWaiting:
        return wait();
      case RayDeployment::kRunning:
        return follow();
      case RayDeployment::kSuspending:
        return suspend();
      case RayDeployment::kSuspended:
        return resume();
      case RayDeployment::kRetrying:
        return retry();
      case RayDeployment::kComplete:
      case RayDeployment::kFailed:
        return clean_up();
      case RayDeployment::kValidationFailed:
        return;
    }
  }

  // ── before it runs ──

  void begin() {
    if (const auto problem = ray_job_problem(job_)) {
      next_.deployment = RayDeployment::kValidationFailed;
      next_.reason = "ValidationFailed";
      next_.message = *problem;
      return act(event(EventType::kWarning, "InvalidRayJobSpec", *problem));
    }
    // Before anything is there that it would leave behind.
    if (!api::has_finalizer(*job_.version.header, api::kRayJobFinalizer)) return write_finalizers(true);
    next_.deployment = RayDeployment::kInitializing;
    next_.job_id = job_.generated_job_id();
    next_.cluster = job_.generated_cluster();
    next_.started = view_.now();
    next_.ended.reset();
  }

  void initialize() {
    if (is_suspended()) return;
    if (has_passed_deadlines()) return;
    if (const auto by = displaced_by()) return queue_again(*by);
    keep_group();
    if (!state_.cluster) return owns_cluster() ? create_cluster() : miss_cluster();
    keep_service();
    // Nobody tells a job of a cluster that is not its own.
    if (!owns_cluster()) outcome_.look_again(view_.now() + kPace);
    if (!state_.is_cluster_ready || !state_.head) return;
    next_.dashboard = ray_dashboard_url(job_, *json::find(state_.cluster_tree, {"spec"}));
    if (job_.submission == RaySubmission::kInteractive) {
      next_.deployment = RayDeployment::kWaiting;
    } else if (job_.submission != RaySubmission::kJob) {
      run_now();
    } else if (job_.record.dashboard == next_.dashboard) {
      // What hands the program over is told where to: that is on record first.
      keep_submitter();
    }
  }

  void miss_cluster() {
    act(event(EventType::kWarning, "RayClusterNotFound",
              fmt::format("RayCluster {}/{} set in the clusterSelector is not found", job_.ns(), job_.record.cluster)));
    outcome_.look_again(view_.now() + kPace);
  }

  void keep_submitter() {
    if (state_.submitter.version && state_.submitter.is_of_attempt) return run_now();
    if (state_.submitter.version) return remove_submitter();
    Create action{kJobs, job_.ns(), ray_submitter_job(job_), job_.uid()};
    announce(action.announce, "CreatedRayJobSubmitter", "FailedToCreateRayJobSubmitter",
             fmt::format("Kubernetes Job {}/{}", job_.ns(), job_.name()), "Created");
    act(std::move(action));
  }

  // The user hands the program over, and says which it is.
  void wait() {
    if (has_passed_deadlines()) return;
    if (!state_.cluster) return outcome_.look_again(view_.now() + kPace);
    const std::string_view given = json::string_at(job_.tree, {"spec", "jobId"});
    if (given.empty()) return;
    next_.job_id = given;
    run_now();
  }

  // Why it was tried again is told no longer.
  void run_now() {
    next_.deployment = RayDeployment::kRunning;
    next_.reason.clear();
    next_.message.clear();
  }

  // ── while it runs ──

  void follow() {
    if (is_suspended()) return;
    if (is_past(job_.deadline)) return fail("DeadlineExceeded", deadline_message("activeDeadlineSeconds"), false);
    if (const auto by = displaced_by()) return queue_again(*by);
    keep_group();
    keep_service();
    if (state_.is_simulated) return judge(simulated_program(job_, state_, view_.now()));
    if (!state_.head) return miss_head();
    if (const auto* answer = view_.answer(kAskRaySubmit)) return hear_submission(*answer);
    if (const auto* answer = view_.answer(kAskRayStatus)) return judge(read_ray_status(*answer));
    act(ask_ray_status(*state_.head, job_));
  }

  // What hands the program over is gone with a head that it was beside.
  void miss_head() {
    if (job_.submission == RaySubmission::kSidecar) return fail("AppFailed", "the cluster has lost its head", true);
    judge({.message = "the cluster has no head that runs"});
  }

  void hear_submission(const Result<json::Value>& answer) {
    if (const auto taken = read_ray_submission(answer); !taken)
      return fail("SubmissionFailed", taken.error().message, true);
    if (!state_.head) return miss_head();
    act(ask_ray_status(*state_.head, job_));
  }

  void judge(const RayProgram& program) {
    if (program.kind == RayProgram::Kind::kKnown) {
      next_.unknown_since.reset();
      next_.job_status = program.status;
      next_.program_started = program.started;
      next_.program_ended = program.ended;
      if (!program.message.empty()) next_.message = program.message;
      if (is_final_ray_status(program.status)) return finish(program);
    }
    if (submitter_is_at_fault()) return;
    if (program.kind == RayProgram::Kind::kNotThere && job_.submission == RaySubmission::kHttp && state_.head)
      return act(ask_ray_to_submit(*state_.head, job_));
    if (program.kind != RayProgram::Kind::kKnown && has_been_silent(program)) return;
    outcome_.look_again(view_.now() + kPace);
  }

  // What hands the program over ends after it. When it has ended and Ray knows of no end, there will be none.
  bool submitter_is_at_fault() {
    if (!job_.is_followed()) return false;
    if (job_.submission == RaySubmission::kJob && !state_.submitter.version) {
      fail("SubmissionFailed", "the Job that hands the program over is gone", true);
      return true;
    }
    if (state_.submitter.has_failed) {
      fail("SubmissionFailed", state_.submitter.message, true);
      return true;
    }
    if (!state_.submitter.has_succeeded) return false;
    const WallTime due = state_.submitter.ended.value_or(view_.now()) + kProgramGrace;
    if (due > view_.now()) return false;
    fail(kGraceExceeded, "the submitter has finished, and Ray does not say that the job has", true);
    return true;
  }

  // A program that nobody has handed over yet is not one that Ray keeps silent about.
  bool has_been_silent(const RayProgram& program) {
    const bool is_not_yet_there = program.kind == RayProgram::Kind::kNotThere && job_.record.job_status.empty();
    if (is_not_yet_there) {
      next_.unknown_since.reset();
      return false;
    }
    if (!next_.unknown_since) next_.unknown_since = view_.now();
    const WallTime due = *next_.unknown_since + kLongestSilence;
    if (due > view_.now()) return false;
    fail("JobStatusCheckTimeoutExceeded", fmt::format("Ray does not say what the job does: {}", program.message),
         false);
    return true;
  }

  void finish(const RayProgram& program) {
    bool is_late = false;
    // A simulated head never ends by itself, and what is beside it neither.
    const bool may_end = !state_.is_simulated || job_.submission == RaySubmission::kJob;
    if (job_.is_followed() && may_end && !state_.submitter.has_ended()) {
      const WallTime due = program.ended.value_or(job_.record.program_ended.value_or(view_.now())) + kSubmitterGrace;
      is_late = due <= view_.now();
      // Its end is seen when it comes.
      if (!is_late) return outcome_.look_again(due);
    }
    if (program.status == "FAILED") return fail(is_late ? kGraceExceeded : "AppFailed", program.message, true);
    next_.deployment = RayDeployment::kComplete;
    next_.reason = is_late ? kGraceExceeded : std::string_view();
    next_.ended = view_.now();
    if (program.status == "SUCCEEDED") ++next_.succeeded;
  }

  void fail(std::string_view reason, std::string message, bool may_be_tried_again) {
    ++next_.failed;
    next_.reason = reason;
    next_.message = std::move(message);
    if (may_be_tried_again && next_.failed < job_.backoff_limit + 1) {
      next_.deployment = RayDeployment::kRetrying;
      return;
    }
    next_.deployment = RayDeployment::kFailed;
    next_.ended = view_.now();
  }

  bool is_past(const std::optional<Duration>& limit) {
    if (!limit || !job_.record.started) return false;
    const WallTime due = *job_.record.started + *limit;
    if (due > view_.now()) outcome_.look_again(due);
    return due <= view_.now();
  }

  std::string deadline_message(const char* which) const {
    return fmt::format("The RayJob has passed the {}. StartTime: {}", which,
                       to_rfc3339(job_.record.started.value_or(view_.now())));
  }

  bool has_passed_deadlines() {
    if (is_past(job_.deadline)) {
      fail("DeadlineExceeded", deadline_message("activeDeadlineSeconds"), false);
    } else if (is_past(job_.deadline_to_run)) {
      fail("PreRunningDeadlineExceeded", deadline_message("preRunningDeadlineSeconds"), true);
    } else {
      return false;
    }
    return true;
  }

  // ── preempted ──

  // Set when the job has to be queued again: who took its room, or nothing where that is not known.
  std::optional<std::string> displaced_by() const {
    if (!job_.is_gang || job_.on_preempt != OnPreempt::kRequeue || !state_.cluster) return std::nullopt;
    const api::Header& self = *job_.version.header;
    const auto by =
        last_preemptor(view_, self.name, job_.record.started.value_or(self.created), job_.record.queued_again);
    if (!state_.preempted_pod.empty()) return by ? *by : preemptor_of(view_, state_.preempted_pod).value_or("");
    // Pods may have gone, and others come for them, before anybody looked.
    const bool is_hurt = job_.record.deployment == RayDeployment::kRunning && !state_.has_all_pods;
    return by && is_hurt ? by : std::nullopt;
  }

  void queue_again(const std::string& by) {
    next_.deployment = RayDeployment::kRetrying;
    next_.reason = "Preempted";
    next_.message = fmt::format("RayJob {} was preempted by {} and is queued again as attempt {}.", job_.name(),
                                by.empty() ? "somebody of higher priority" : by, job_.record.attempt + 1);
    next_.queued_again = view_.now();
    act(event(EventType::kWarning, "RayJobPreempted", next_.message));
  }

  // ── from one attempt to the next ──

  bool is_suspended() {
    if (!job_.is_suspended) return false;
    next_.deployment = RayDeployment::kSuspending;
    return true;
  }

  void forget_attempt() {
    next_.job_id.clear();
    next_.cluster.clear();
    next_.dashboard.clear();
    next_.job_status.clear();
    next_.program_started.reset();
    next_.program_ended.reset();
    next_.unknown_since.reset();
  }

  // What runs now is not part of what will run then.
  bool is_cleared() {
    remove_cluster();
    remove_submitter();
    return !state_.cluster && !state_.submitter.version;
  }

  void suspend() {
    drop_group();
    if (!is_cleared()) return;
    forget_attempt();
    next_.reason.clear();
    next_.message.clear();
    next_.deployment = RayDeployment::kSuspended;
  }

  void resume() {
    if (job_.is_suspended) return;
    forget_attempt();
    ++next_.attempt;
    next_.queued_again = view_.now();  // preemptions before that are past
    next_.deployment = RayDeployment::kNew;
  }

  // The PodGroup stays, and with it the place in line. Why it is tried again is said until it runs.
  void retry() {
    if (!is_cleared()) return;
    forget_attempt();
    ++next_.attempt;
    next_.deployment = RayDeployment::kNew;
  }

  // ── over ──

  void clean_up() {
    const RayDeletion due = ray_deletion(job_, view_.now());
    if (due.look_again_at) outcome_.look_again(*due.look_again_at);
    if (due.deletes_self)
      return act(Delete{client::target_of(ray_jobs(), job_.version), client::Propagation::kBackground});
    if (!owns_cluster()) return;
    // While the cluster is there its pods need the group, should one have to be made again.
    if (!state_.cluster) return leave_cluster();
    if (due.deletes_cluster) return remove_cluster();
    if (due.deletes_workers) suspend_workers();
  }

  // Whoever hands a program over to a cluster that is gone has nothing to do any more. One that has ended stays: its
  // pod has what the program printed.
  void leave_cluster() {
    drop_group();
    if (!state_.submitter.has_ended()) remove_submitter();
  }

  void suspend_workers() {
    json::Array groups = json::array_at(state_.cluster_tree, {"spec", "workerGroupSpecs"});
    bool has_any = false;
    for (json::Value& group : groups) {
      if (!group.is_object() || json::flag_at(group, {"suspend"})) continue;
      group.get_object()["suspend"] = true;
      has_any = true;
    }
    if (!has_any || controllers::is_terminating(state_.cluster)) return;
    act(Patch{client::target_of(ray_clusters(), state_.cluster),
              json::Object{{"spec", json::Object{{"workerGroupSpecs", std::move(groups)}}}}});
  }

  // It is being deleted: Ray is told once, and whether it hears that or not, the job goes.
  void leave() {
    if (!api::has_finalizer(*job_.version.header, api::kRayJobFinalizer)) return;
    const bool runs = job_.record.deployment == RayDeployment::kRunning && !is_final_ray_status(job_.record.job_status);
    if (runs && state_.head && !state_.is_simulated && view_.answer(kAskRayStop) == nullptr)
      return act(ask_ray_to_stop(*state_.head, job_));
    write_finalizers(false);
  }

  // ── objects ──

  void write_finalizers(bool with_ours) {
    writes_metadata_ = true;
    json::Array finalizers;
    for (const std::string& known : job_.version.header->finalizers)
      if (known != api::kRayJobFinalizer) finalizers.emplace_back(known);
    if (with_ours) finalizers.emplace_back(api::kRayJobFinalizer);
    act(Patch{client::target_of(ray_jobs(), job_.version),
              json::Object{{"metadata", json::Object{{"finalizers", std::move(finalizers)}}}}});
  }

  void announce(client::Announcement& announcement, const char* done, const char* failed, const std::string& what,
                const char* verb) const {
    announcement.done = event(EventType::kNormal, done, fmt::format("{} {}", verb, what));
    announcement.failed = event(EventType::kWarning, failed, fmt::format("Failed with {}: ", what));
  }

  void create_cluster() {
    Create action{ray_clusters(), job_.ns(), ray_job_cluster(job_), job_.uid()};
    announce(action.announce, "CreatedRayCluster", "FailedToCreateRayCluster",
             fmt::format("RayCluster {}/{}", job_.ns(), job_.record.cluster), "Created");
    act(std::move(action));
  }

  // With all of its pods: it is gone when they are.
  void remove_cluster() {
    if (!owns_cluster() || !state_.cluster || state_.cluster.header->deleting_since) return;
    Delete action{client::target_by_uid(ray_clusters(), state_.cluster), client::Propagation::kForeground};
    announce(action.announce, "DeletedRayCluster", "FailedToDeleteRayCluster",
             fmt::format("RayCluster {}/{}", job_.ns(), state_.cluster.header->name.name), "Deleted");
    act(std::move(action));
  }

  void remove_submitter() {
    if (!state_.submitter.version || state_.submitter.version.header->deleting_since) return;
    Delete action{client::target_by_uid(kJobs, state_.submitter.version), client::Propagation::kForeground};
    announce(action.announce, "DeletedRayJobSubmitter", "FailedToDeleteRayJobSubmitter",
             fmt::format("submitter Job {}/{}", job_.ns(), job_.name()), "Deleted");
    act(std::move(action));
  }

  void keep_group() {
    if (!owns_cluster()) return;
    if (!job_.is_gang) return drop_group();
    GangWish wish = RayGroups(job_.cluster_spec()).gang_wish(job_.on_preempt);
    if (job_.submission == RaySubmission::kJob)
      wish.late.push_back({std::string(kRaySubmitterMember), 1, ray_submitter_template(job_)});
    if (auto action = keep_pod_group(view_, job_.owner(), job_.tree, wish)) act(std::move(*action));
  }

  void drop_group() {
    for (client::Action& action : drop_pod_group(view_, job_.owner())) act(std::move(action));
  }

  void keep_service() {
    if (!owns_cluster()) return;
    const api::Version present = view_.get(kServices, {job_.ns(), job_.service()});
    if (!present) {
      Create action{kServices, job_.ns(), ray_job_service(job_), job_.uid()};
      announce(action.announce, "CreatedService", "FailedToCreateService",
               fmt::format("Service {}/{}", job_.ns(), job_.service()), "Created");
      return act(std::move(action));
    }
    if (present.header->deleting_since || !api::is_controlled_by(*present.header, job_.uid())) return;
    const auto tree = json::parse(*present.json);
    const json::Object wanted = ray_job_service_selector(job_);
    if (!tree || json::equal(json::Value(json::map_at(*tree, {"spec", "selector"})), json::Value(wanted))) return;
    Patch action{client::target_of(kServices, present), json::Object{{"spec", json::Object{{"selector", wanted}}}}};
    announce(action.announce, "UpdatedService", "FailedToUpdateService",
             fmt::format("Service {}/{}", job_.ns(), job_.service()), "Updated");
    act(std::move(action));
  }

  const RayJob& job_;
  const View& view_;
  const RayJobState state_;
  RayJobRecord next_;
  bool writes_metadata_ = false;
  Outcome outcome_;
};

}  // namespace

Outcome look_at(const RayJob& job, const View& view) {
  return Look(job, view).run();
}

}  // namespace gangway::jobs
