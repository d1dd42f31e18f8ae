#include "jobs/replica_objects.h"

#include <algorithm>
#include <utility>

#include "api/owner.h"
#include "client/resource.h"
#include "jobs/belongings.h"

namespace gangway::jobs {
namespace {

using client::Create;
using client::Delete;
using client::Emit;
using client::EventType;
using client::resources::kJobs;
using client::resources::kPodGroups;
using client::resources::kPods;
using client::resources::kServices;

// What one look may ask for; the next one asks for more.
constexpr std::size_t kMostAtOnce = 500;

// A template that nobody admits must not cost hundreds of attempts.
std::size_t creations_allowed(const client::View& view) {
  const auto& setbacks = view.setbacks();
  const bool refused = std::any_of(setbacks.begin(), setbacks.end(),
                                   [](const client::Setback& setback) { return setback.verb == "create"; });
  return refused ? 1 : kMostAtOnce;
}

client::Announcement announcement(const KubeflowJob& job, const char* done, const char* verb, const char* thing,
                                  const std::string& name) {
  const client::EventSubject about = job.owner().subject();
  const std::string what = std::string(verb) + thing;
  return {.done = Emit{about, EventType::kNormal, "Successful" + what,
                       std::string(done) + " " + api::lower_case(thing) + ": " + name},
          .failed = Emit{about, EventType::kWarning, "Failed" + what,
                         "Error with " + api::lower_case(thing) + " " + name + ": "}};
}

}  // namespace

ReplicaObjects::ReplicaObjects(const KubeflowJob& job, const std::vector<ReplicaPod>& pods, const LauncherJob& launcher,
                               const client::View& view)
    : job_(job), pods_(pods), launcher_(launcher), view_(view), creations_left_(creations_allowed(view)) {
  if (!job.rules.has_services) return;
  view.objects(kServices).for_each_owned_by(job.version.header->uid, [&](const api::Version& service) {
    // Others may have made some for the job, TensorBoard's for one: those are no replica's.
    const bool is_of_a_replica = !service.header->label(job.rules.kind.role_label).empty();
    if (is_of_a_replica && api::is_controlled_by(*service.header, job.version.header->uid))
      services_.push_back(service);
  });
}

void ReplicaObjects::keep(std::int64_t succeeded) {
  if (job_.rules.has_services) keep_services();
  const bool has_all =
      job_.rules.keep_belongings == nullptr || job_.rules.keep_belongings(job_, pods_, view_, actions_);
  // Pods that come before their group would be told that it is missing.
  if (has_all && (!job_.is_gang || view_.get(kPodGroups, job_.version.header->name))) keep_pods();
  if (!job_.is_gang) return drop_group();
  if (auto action = keep_pod_group(view_, job_.owner(), job_.tree, job_.gang_wish(succeeded)))
    actions_.push_back(std::move(*action));
}

void ReplicaObjects::keep_pods() {
  std::set<std::string> taken;
  bool has_old = launcher_.object && launcher_.attempt != job_.record.attempt;
  for (const ReplicaPod& pod : pods_) {
    taken.insert(pod.header().name.name);
    has_old = has_old || pod.facts->attempt != job_.record.attempt;
    if (!has_a_part(job_, pod) || job_.record.replaced.contains(pod.header().uid)) remove(pod);
  }
  if (has_old) {
    if (launcher_.attempt != job_.record.attempt) remove_launcher();
    return;
  }
  for (const ReplicaSpec& spec : job_.replicas) {
    if (job_.is_by_job(spec)) {
      keep_launcher();
      continue;
    }
    for (std::int64_t index = 0; index < spec.replicas; ++index)
      if (!taken.contains(job_.pod_name(spec, index)) && may_create()) create_pod(spec, index);
  }
}

void ReplicaObjects::keep_launcher() {
  if (launcher_.object) return;
  if (auto body = job_.rules.launcher(job_, pods_))
    Belongings(job_.owner(), view_, actions_).create(kJobs, std::move(*body));
}

void ReplicaObjects::remove_launcher() {
  if (auto action = remove_whole(kJobs, launcher_.object)) actions_.push_back(std::move(*action));
}

void ReplicaObjects::keep_services() {
  std::set<std::string> wanted;
  for (const ReplicaSpec& spec : job_.replicas)
    for (std::int64_t index = 0; index < spec.replicas; ++index) wanted.insert(job_.pod_name(spec, index));
  std::set<std::string> there;
  for (const api::Version& service : services_) {
    there.insert(service.header->name.name);
    if (!wanted.contains(service.header->name.name)) remove_service(service);
  }
  for (const ReplicaSpec& spec : job_.replicas) {
    for (std::int64_t index = 0; index < spec.replicas; ++index) {
      const std::string name = job_.pod_name(spec, index);
      if (there.contains(name) || !may_create()) continue;
      Create action{kServices, job_.ns(), replica_service(job_, spec, index), job_.version.header->uid};
      action.announce = announcement(job_, "Created", "Create", "Service", name);
      actions_.emplace_back(std::move(action));
    }
  }
}

void ReplicaObjects::remove_all() {
  clean_up(CleanPods::kAll, false);
  remove_launcher();
}

void ReplicaObjects::clean_up(CleanPods which, bool keeps_running) {
  const auto stays = [&](const ReplicaPod& pod) {
    // What has not started has nothing to show, and nothing to start for.
    if (which != CleanPods::kRunning) return which == CleanPods::kNone && (pod.has_node() || pod.has_ended());
    return pod.has_ended() || (keeps_running && pod.is_running() && !pod.is_terminating());
  };
  std::set<std::string> kept;
  for (const ReplicaPod& pod : pods_) {
    if (stays(pod)) {
      kept.insert(pod.header().name.name);
    } else {
      remove(pod);
    }
  }
  for (const api::Version& service : services_)
    if (which != CleanPods::kNone && !kept.contains(service.header->name.name)) remove_service(service);
  drop_group();
}

bool ReplicaObjects::may_create() {
  if (creations_left_ == 0) return false;
  --creations_left_;
  return true;
}

void ReplicaObjects::create_pod(const ReplicaSpec& spec, std::int64_t index) {
  Create action{kPods, job_.ns(), replica_pod(job_, spec, index), job_.version.header->uid};
  action.announce = announcement(job_, "Created", "Create", "Pod", job_.pod_name(spec, index));
  actions_.emplace_back(std::move(action));
}

void ReplicaObjects::remove(const ReplicaPod& pod) {
  // Its Job decides about a pod of the Launcher.
  const bool is_by_job = !api::is_controlled_by(pod.header(), job_.version.header->uid);
  if (is_by_job || pod.is_terminating() || actions_.size() >= kMostAtOnce) return;
  Delete action{client::target_by_uid(kPods, pod.version)};
  action.announce = announcement(job_, "Deleted", "Delete", "Pod", pod.header().name.name);
  actions_.emplace_back(std::move(action));
}

void ReplicaObjects::remove_service(const api::Version& service) {
  if (controllers::is_terminating(service) || actions_.size() >= kMostAtOnce) return;
  Delete action{client::target_by_uid(kServices, service)};
  action.announce = announcement(job_, "Deleted", "Delete", "Service", service.header->name.name);
  actions_.emplace_back(std::move(action));
}

void ReplicaObjects::drop_group() {
  for (client::Action& action : drop_pod_group(view_, job_.owner())) actions_.push_back(std::move(action));
}

}  // namespace gangway::jobs
