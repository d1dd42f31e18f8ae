#include "jobs/ray_cluster_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "api/owner.h"
#include "api/ray.h"
#include "client/resource.h"
#include "jobs/belongings.h"
#include "jobs/preemption.h"
#include "jobs/ray_autoscaler.h"
#include "jobs/ray_cluster_state.h"
#include "jobs/ray_cluster_status.h"
#include "jobs/ray_pods.h"

namespace gangway::jobs {
namespace {

using client::Create;
using client::Delete;
using client::Emit;
using client::EventType;
using client::Outcome;
using client::View;
using client::resources::kPodGroups;
using client::resources::kPods;
using client::resources::kServiceAccounts;
using client::resources::kServices;
using namespace std::chrono_literals;

// What one look may ask for; the next one asks for more.
constexpr std::size_t kMostAtOnce = 500;
// A pod that ends sooner is left for so long: one that always fails must not be made again without a pause.
constexpr Duration kShortestLife = 5s;
// Pods that may be lost between two looks without a name being forgotten.
constexpr std::uint64_t kRecent = 64;

class Look {
 public:
  Look(const RayCluster& cluster, const View& view)
      : cluster_(cluster), view_(view), state_(cluster, view), status_(cluster, view.now()) {
    // A template that nobody admits must not cost hundreds of attempts.
    for (const client::Setback& setback : view.setbacks()) {
      if (setback.verb != "create" || setback.resource != kPods) continue;
      creations_left_ = 1;
      refusal_ = &setback;
      tried_.insert(setback.object.name);
    }
  }

  Outcome run() {
    // Begun, it is carried through: who changes their mind gets a cluster that was suspended.
    if (cluster_.is_suspended || status_.is_true(kRaySuspending)) {
      hold();
    } else {
      go_on();
    }
    status_.observe(state_, view_);
    if (auto write = status_.write()) act(std::move(*write));
    return std::move(outcome_);
  }

 private:
  void act(client::Action action) { outcome_.allowed_now.push_back(std::move(action)); }
  Emit event(EventType type, std::string reason, std::string message) const {
    return {cluster_.owner().subject(), type, std::move(reason), std::move(message)};
  }
  bool stands_alone() const { return cluster_.job.empty(); }

  // ── suspended ──

  void hold() {
    if (status_.is_true(kRaySuspended)) return;
    status_.set(kRaySuspending, true, "UserRequestSuspend", "");
    for (const auto* pods : {&state_.pods, &state_.old})
      for (const RayPod& pod : *pods) remove(pod, "DeletedPod", "Pod");
    drop_group();
    if (!state_.pods.empty() || !state_.old.empty()) return;
    status_.set(kRaySuspending, false, "RayClusterSuspended", "");
    status_.set(kRaySuspended, true, "RayClusterSuspended", "");
    status_.set(kRayProvisioned, false, "RayClusterSuspended", "");
    status_.set_state("suspended");
  }

  void resume() {
    status_.set(kRaySuspended, false, "UserRequestResume", "");
    status_.set_state("");
    begin_attempt();
  }

  // What ran before is not part of what will run; preemptions before it are past.
  void begin_attempt() {
    ++status_.record.attempt;
    status_.record.queued_again = view_.now();
  }

  // ── not suspended ──

  void go_on() {
    if (status_.is_true(kRaySuspended)) return resume();
    if (const auto by = displaced_by()) return queue_again(*by);
    keep_service();
    if (cluster_.groups.is_autoscaled) keep_account();
    keep_group();
    // Pods that come before their group would be told that it is missing.
    if (!cluster_.is_gang || view_.get(kPodGroups, {cluster_.ns(), cluster_.gang()})) keep_pods();
    judge();
  }

  // Set when it has to be queued again: who took its room, or nothing where that is not known. That of a job's cluster
  // is the job's affair.
  std::optional<std::string> displaced_by() const {
    if (!stands_alone() || !cluster_.is_gang || cluster_.on_preempt != OnPreempt::kRequeue) return std::nullopt;
    const api::Header& self = *cluster_.version.header;
    const auto by = last_preemptor(view_, self.name, self.created, cluster_.record.queued_again);
    if (const RayPod* lost = state_.preempted())
      return by ? *by : preemptor_of(view_, lost->version.header->uid).value_or("");
    const bool is_hurt = status_.state() == "ready" && !state_.is_complete(cluster_);
    return by && is_hurt ? by : std::nullopt;
  }

  // The next attempt is on record before anything is done about it: see keep_pods().
  void queue_again(const std::string& by) {
    begin_attempt();
    status_.set_state("");
    status_.set(kRayProvisioned, false, "RayClusterPreempted",
                fmt::format("RayCluster {} was preempted by {} and is queued again as attempt {}.", cluster_.name(),
                            by.empty() ? "somebody of higher priority" : by, status_.record.attempt));
  }

  void judge() {
    if (refusal_ != nullptr) {
      status_.set(kRayReplicaFailure, true, "FailedCreatePod", refusal_->error.message);
    } else {
      status_.drop(kRayReplicaFailure);
    }
    if (state_.old.empty() && state_.is_complete(cluster_)) {
      status_.set(kRayProvisioned, true, "AllPodRunningAndReadyFirstTime", "All Ray Pods are ready for the first time");
      status_.set_state("ready");
    } else if (!status_.is_true(kRayProvisioned) && !is_queued_again()) {
      status_.set(kRayProvisioned, false, "RayClusterPodsProvisioning",
                  "RayCluster Pods are being provisioned for first time");
    }
  }

  bool is_queued_again() const {
    for (const json::Value& condition : json::array_at(cluster_.tree, {"status", "conditions"}))
      if (json::string_at(condition, {"type"}) == kRayProvisioned)
        return json::string_at(condition, {"reason"}) == "RayClusterPreempted";
    return false;
  }

  // ── what is not a pod ──

  void keep_service() {
    const std::string name = cluster_.head_service();
    if (!view_.get(kServices, {cluster_.ns(), name}))
      create(kServices, ray_head_service_object(cluster_), "Service", "CreatedService", name);
  }

  void keep_account() {
    if (ray_autoscaler_account(cluster_) == cluster_.name())
      keep(kServiceAccounts, ray_autoscaler_service_account(cluster_), "CreatedServiceAccount");
    keep(kRoles, ray_autoscaler_role(cluster_), "CreatedRole");
    // Nobody may bind a Role that is not there: what it allows is looked at.
    if (view_.get(kRoles, {cluster_.ns(), cluster_.name()}))
      keep(kRoleBindings, ray_autoscaler_binding(cluster_), "CreatedRoleBinding");
  }

  void keep(const client::Resource& resource, json::Value wanted, const char* reason) {
    if (view_.get(resource, {cluster_.ns(), cluster_.name()})) return;
    const std::string kind(json::string_at(wanted, {"kind"}));
    create(resource, std::move(wanted), kind, reason, cluster_.name());
  }

  // That of a job's cluster is made and kept by the job.
  void keep_group() {
    if (!stands_alone()) return;
    if (!cluster_.is_gang) return drop_group();
    if (auto action =
            keep_pod_group(view_, cluster_.owner(), cluster_.tree, cluster_.groups.gang_wish(cluster_.on_preempt)))
      act(std::move(*action));
  }

  void drop_group() {
    if (!stands_alone()) return;
    for (client::Action& action : drop_pod_group(view_, cluster_.owner())) act(std::move(action));
  }

  void create(const client::Resource& resource, json::Value body, const std::string& kind, std::string reason,
              const std::string& name) {
    Create action{resource, cluster_.ns(), std::move(body), cluster_.uid()};
    action.announce.done =
        event(EventType::kNormal, std::move(reason), fmt::format("Created {} {}/{}", kind, cluster_.ns(), name));
    action.announce.failed = event(EventType::kWarning, "FailedToCreate" + kind,
                                   fmt::format("Failed to create {} {}/{}: ", kind, cluster_.ns(), name));
    act(std::move(action));
  }

  // ── pods ──

  // What is of an earlier attempt goes; while it is there, nothing of the present one is made. So a gang that is queued
  // again comes back as one.
  void keep_pods() {
    for (const RayPod& pod : state_.old) remove_of_group(pod);
    if (!state_.old.empty()) return;
    keep_head();
    for (const RayGroup& group : cluster_.groups.workers) keep_workers(group);
    for (const RayPod& pod : state_.pods)
      if (cluster_.find_group(pod.group) == nullptr) remove_of_group(pod);
  }

  void keep_head() {
    bool is_there = false;
    const RayPod* head = state_.head();
    for (const RayPod* pod : state_.of_group(cluster_.groups.head.name)) {
      is_there = true;  // also one that goes: two heads would both be found
      if (pod->has_ended()) {
        replace(*pod);
      } else if (pod != head) {
        remove_of_group(*pod);
      }
    }
    const bool stays_down = annotation(api::kRayKeepHeadDown) == "true" && status_.is_true(kRayProvisioned);
    if (!is_there && !stays_down) create_pod(cluster_.groups.head, 0);
  }

  void keep_workers(const RayGroup& group) {
    std::vector<const RayPod*> living;
    std::set<std::int64_t> taken;
    for (const RayPod* pod : state_.of_group(group.name)) {
      taken.insert(pod->slot);
      if (pod->has_ended()) {
        replace(*pod);
      } else if (group.to_delete.contains(pod->name())) {
        remove_of_group(*pod);
      } else if (pod->is_living()) {
        living.push_back(pod);
      }
    }
    const auto wanted = static_cast<std::size_t>(group.pods());
    std::int64_t slot = 0;
    for (std::size_t count = living.size(); count < wanted; ++count, ++slot) {
      while (taken.contains(slot)) ++slot;
      if (!create_pod(group, slot)) return;
    }
    // The autoscaler names those that it wants to be rid of; who suspends a group wants none.
    if (living.size() > wanted && (!cluster_.groups.is_autoscaled || group.is_suspended))
      drop_surplus(std::move(living), wanted);
  }

  // Those without a node first, then from the last.
  void drop_surplus(std::vector<const RayPod*> living, std::size_t wanted) {
    std::sort(living.begin(), living.end(), [](const RayPod* a, const RayPod* b) {
      const bool has_node = !a->facts->node.empty();
      const bool other_has = !b->facts->node.empty();
      return has_node != other_has ? has_node : a->slot < b->slot;
    });
    for (std::size_t i = wanted; i < living.size(); ++i) remove_of_group(*living[i]);
  }

  bool create_pod(const RayGroup& group, std::int64_t slot) {
    if (creations_left_ == 0) return false;
    --creations_left_;
    const std::string name = name_for(group, slot);
    create(kPods, ray_pod(cluster_, group, slot, name), group.is_head ? "HeadPod" : "WorkerPod",
           group.is_head ? "CreatedHeadPod" : "CreatedWorkerPod", name);
    return true;
  }

  // One that was tried and may be there, unseen, is tried again under the name that it had then.
  std::string name_for(const RayGroup& group, std::int64_t slot) const {
    const std::uint64_t lost = view_.objects(kPods).departed(cluster_.uid());
    for (std::uint64_t before = 1; !tried_.empty() && before <= std::min(lost, kRecent); ++before)
      if (const std::string name = ray_pod_name(cluster_, group, slot, lost - before); tried_.contains(name))
        return name;
    return ray_pod_name(cluster_, group, slot, lost);
  }

  void replace(const RayPod& pod) {
    const WallTime due = pod.version.header->created + kShortestLife;
    if (due > view_.now()) return outcome_.look_again(due);
    remove_of_group(pod);
  }

  void remove_of_group(const RayPod& pod) {
    const bool is_head = pod.group == cluster_.groups.head.name;
    remove(pod, is_head ? "DeletedHeadPod" : "DeletedWorkerPod", is_head ? "head Pod" : "worker Pod");
  }

  void remove(const RayPod& pod, const char* reason, const char* what) {
    if (pod.is_terminating() || outcome_.allowed_now.size() >= kMostAtOnce) return;
    Delete action{client::target_by_uid(kPods, pod.version)};
    action.announce.done =
        event(EventType::kNormal, reason, fmt::format("Deleted {} {}/{}", what, cluster_.ns(), pod.name()));
    action.announce.failed = event(EventType::kWarning, std::string("FailedToDelete") + "Pod",
                                   fmt::format("Failed to delete {} {}/{}: ", what, cluster_.ns(), pod.name()));
    act(std::move(action));
  }

  std::string_view annotation(std::string_view key) const {
    return json::string_at(cluster_.tree, {"metadata", "annotations", key});
  }

  const RayCluster& cluster_;
  const View& view_;
  const RayClusterState state_;
  RayClusterStatus status_;
  std::size_t creations_left_ = kMostAtOnce;
  const client::Setback* refusal_ = nullptr;
  std::set<std::string> tried_;  // names of pods whose making failed, as far as is known
  Outcome outcome_;
};

}  // namespace

Outcome look_at(const RayCluster& cluster, const View& view) {
  return Look(cluster, view).run();
}

}  // namespace gangway::jobs
