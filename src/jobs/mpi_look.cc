#include "jobs/mpi_look.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "client/resource.h"
#include "jobs/belongings.h"
#include "jobs/mpi_access.h"
#include "jobs/mpi_objects.h"
#include "jobs/mpi_state.h"
#include "jobs/mpi_status.h"
#include "jobs/pod_groups.h"
#include "jobs/preemption.h"

namespace gangway::jobs {
namespace {

using client::Delete;
using client::Outcome;
using client::Patch;
using client::View;
using client::resources::kConfigMaps;
using client::resources::kJobs;
using client::resources::kStatefulSets;

class Look {
 public:
  Look(const MpiJob& job, const View& view)
      : job_(job), view_(view), owner_(job.owner()), state_(job, view), status_(job, view.now()) {}

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
    return std::move(outcome_);
  }

 private:
  void act(client::Action action) { outcome_.allowed_now.push_back(std::move(action)); }

  // ── not over ──

  void begin() {
    if (!status_.conditions().has(kJobCreated))
      status_.set(kJobCreated, fmt::format("MPIJob {} is created.", job_.name()));
    if (job_.policy.is_suspended || !status_.conditions().is_true(kJobSuspended)) return;
    status_.set(kJobSuspended, false, "Resumed", fmt::format("MPIJob {} is resumed.", job_.name()));
    status_.record.queued_again = view_.now();  // preemptions before that are past
  }

  void hold() {
    const std::string message = fmt::format("MPIJob {} is suspended.", job_.name());
    // What runs now is not part of what will run then.
    if (!status_.conditions().is_true(kJobSuspended)) leave_attempt();
    if (status_.conditions().is_true(kJobRunning)) status_.set(kJobRunning, false, "Suspended", message);
    status_.set(kJobSuspended, message);
    remove(kStatefulSets, state_.worker_set);
    remove(kJobs, state_.launcher.object);
    drop_group();
  }

  void leave_attempt() {
    if (state_.worker_set) ++status_.record.attempt;
    status_.launcher.clear();
    status_.workers = 0;
    status_.record.started.reset();
  }

  void go_on() {
    if (const auto by = displaced_by()) return queue_again(*by);
    if (has_launcher()) judge();
    if (status_.conditions().is_over()) return;
    keep_group();
    keep_pods(keep_belongings());
    status_.workers = state_.ready_workers;
  }

  // Of the present attempt.
  bool has_launcher() const { return state_.launcher.object && state_.launcher.attempt == job_.record.attempt; }

  // Set when the job has to be queued again: who took its room, or nothing where that is not known.
  std::optional<std::string> displaced_by() const {
    if (!job_.is_gang || job_.on_preempt != OnPreempt::kRequeue) return std::nullopt;
    // Its pods may have gone, and others come for them, before anybody looked.
    const bool is_hurt = state_.set_attempt == job_.record.attempt &&
                         (state_.ready_workers < job_.workers.count || (has_launcher() && state_.launcher.has_failed));
    if (state_.preempted_pod.empty() && !is_hurt) return std::nullopt;
    const api::Header& self = *job_.version.header;
    const auto by = last_preemptor(view_, self.name, self.created, job_.record.queued_again);
    if (by || state_.preempted_pod.empty()) return by;
    return preemptor_of(view_, state_.preempted_pod).value_or("");
  }

  // The next attempt is on record before anything is done about it: see keep_pods().
  void queue_again(const std::string& by) {
    leave_attempt();
    status_.record.queued_again = view_.now();
    status_.set(kJobRestarting, true, "Preempted",
                fmt::format("MPIJob {} was preempted by {} and is queued again as attempt {}.", job_.name(),
                            by.empty() ? "somebody of higher priority" : by, status_.record.attempt));
  }

  // What the launcher does is what the job does.
  void judge() {
    const LauncherJob& launcher = state_.launcher;
    if (launcher.started && !status_.record.started) status_.record.started = launcher.started;
    if (launcher.has_succeeded || launcher.has_failed) {
      status_.launcher = launcher.has_succeeded ? "Succeeded" : "Failed";
      status_.record.completed = launcher.ended.value_or(view_.now());
    } else if (launcher.is_active) {
      status_.launcher = "Active";
    }
    if (launcher.has_succeeded) {
      status_.set(kJobSucceeded, fmt::format("MPIJob {} is successfully completed.", job_.name()));
    } else if (launcher.has_failed) {
      status_.set(kJobFailed,
                  fmt::format("MPIJob {} has failed because its launcher has: {}", job_.name(), launcher.message));
    } else if (launcher.is_launched) {
      status_.set(kJobRunning, fmt::format("MPIJob {} is running.", job_.name()));
    }
  }

  void keep_group() {
    if (!job_.is_gang) return drop_group();
    if (auto action = keep_pod_group(view_, owner_, job_.tree, mpi_gang_wish(job_))) act(std::move(*action));
  }

  void drop_group() {
    for (client::Action& action : drop_pod_group(view_, owner_)) act(std::move(action));
  }

  // True when all of it is there.
  bool keep_belongings() {
    Belongings belongings(owner_, view_, outcome_.allowed_now);
    belongings.keep(kConfigMaps, mpi_config_map(owner_, mpi_texts(job_, state_.running_workers)), "data");
    keep_mpi_account(belongings, owner_, mpi_launcher_account(owner_, job_.pod_template()), job_.worker_names());
    return belongings.are_there();
  }

  void create(const client::Resource& resource, json::Value body) {
    Belongings(owner_, view_, outcome_.allowed_now).create(resource, std::move(body));
  }

  // What is of an earlier attempt goes; while it is there, nothing of the present one is made. So a gang that is queued
  // again comes back as one.
  void keep_pods(bool are_belongings_there) {
    const bool has_old_set = state_.worker_set && state_.set_attempt != job_.record.attempt;
    const bool has_old_launcher = state_.launcher.object && !has_launcher();
    if (has_old_set) remove(kStatefulSets, state_.worker_set);
    if (has_old_launcher) remove(kJobs, state_.launcher.object);
    if (has_old_set || has_old_launcher) return;
    if (!state_.worker_set) return create(kStatefulSets, mpi_worker_set(job_));
    resize_workers(job_.workers.count);
    if (state_.launcher.object || !are_belongings_there) return;
    if (state_.ready_workers >= job_.workers.count && state_.set_size == job_.workers.count)
      create(kJobs, mpi_launcher_job(job_));
  }

  void resize_workers(std::int64_t count) {
    if (!state_.worker_set || state_.set_size == count || state_.worker_set.header->deleting_since) return;
    act(Patch{client::target_of(kStatefulSets, state_.worker_set),
              json::Object{{"spec", json::Object{{"replicas", count}}}}});
  }

  void remove(const client::Resource& resource, const api::Version& object) {
    if (auto action = remove_whole(resource, object)) act(std::move(*action));
  }

  // ── over ──

  void clean_up() {
    // Workers that stay may be lost and made again, and belong to the group then too.
    if (!job_.keeps_workers) {
      drop_group();
      resize_workers(0);
      status_.workers = state_.ready_workers;
    }
    if (!job_.policy.time_to_live || !job_.record.completed) return;
    const WallTime due = *job_.record.completed + *job_.policy.time_to_live;
    if (due > view_.now()) return outcome_.look_again(due);
    act(Delete{client::target_of(mpi_jobs(), job_.version), client::Propagation::kBackground});
  }

  const MpiJob& job_;
  const View& view_;
  const controllers::Owner owner_;
  const MpiState state_;
  MpiStatus status_;
  Outcome outcome_;
};

}  // namespace

Outcome look_at(const MpiJob& job, const View& view) {
  return Look(job, view).run();
}

}  // namespace gangway::jobs
