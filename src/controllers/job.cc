#include "controllers/job.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/conditions.h"
#include "api/owner.h"
#include "client/resource.h"
#include "controllers/job_status.h"
#include "controllers/job_verdict.h"
#include "controllers/new_pod_names.h"
#include "controllers/owned.h"

namespace gangway::controllers {
namespace {

using client::Create;
using client::Delete;
using client::Emit;
using client::EventType;
using client::ObjectChange;
using client::Outcome;
using client::Patch;
using client::Update;
using client::View;
using client::WorkQueue;
using client::resources::kJobs;
using client::resources::kPods;

constexpr std::size_t kMostAtOnce = 500;
constexpr const char* kOurs = "kubernetes.io/job-controller";

Patch patch_finalizers(const api::Version& pod, bool tracked) {
  json::Array finalizers;
  for (const std::string& name : pod.header->finalizers)
    if (name != kTrackingFinalizer) finalizers.push_back(json::Value(name));
  if (tracked) finalizers.push_back(json::Value(kTrackingFinalizer));
  json::Value body = json::Object();
  json::object_at(body, {"metadata"})["finalizers"] = std::move(finalizers);
  return Patch{client::target_of(kPods, pod), std::move(body)};
}

bool is_tracked(const api::Version& pod) {
  return api::has_finalizer(*pod.header, kTrackingFinalizer);
}

// Nobody will count it.
bool is_orphan(const api::Version& pod, const View& view) {
  if (!is_tracked(pod)) return false;
  const api::OwnerReference* owner = api::controller_of(*pod.header);
  if (owner == nullptr || owner->kind != "Job" || client::group_of(owner->api_version) != "batch") return true;
  const api::Version job = view.get(kJobs, {pod.header->name.ns, owner->name});
  return !job || job.header->uid != owner->uid;
}

void orphans_of(const api::Version& job, const View& view, const client::KeySink& sink) {
  for (const api::Version& pod : view.objects(kPods).owned_by(job.header->uid))
    if (is_tracked(pod)) sink(client::key_of(kPods, pod.header->name), WorkQueue::Priority::kNormal);
}

JobState state_of(const api::Version& job, json::Value tree, std::vector<api::Version> versions, const View& view) {
  std::vector<JobPod> pods;
  for (api::Version& pod : versions) {
    auto facts = view.objects(kPods).facts(pod, read_job_pod);
    pods.push_back({std::move(pod), std::move(facts)});
  }
  return {job, std::move(tree), std::move(pods)};
}

// A pod whose creation was not known of when its Job ended must not go on.
Outcome sweep(const JobState& job) {
  Outcome outcome;
  for (const JobPod& pod : job.pods) {
    if (!pod.is_tracked()) continue;
    outcome.allowed_now.push_back(patch_finalizers(pod.version, false));
    if (pod.is_active()) outcome.allowed_now.push_back(Delete{client::target_by_uid(kPods, pod.version)});
  }
  return outcome;
}

Outcome let_orphan_go(const api::ObjectName& name, const View& view) {
  Outcome outcome;
  const api::Version pod = view.get(kPods, name);
  if (pod && is_orphan(pod, view)) outcome.allowed_now.push_back(patch_finalizers(pod, false));
  return outcome;
}

}  // namespace

class JobController::Look {
 public:
  Look(const JobState& job, FailureHistory& history, const View& view)
      : job_(job), tally_(job), verdict_(judge(job, tally_, view.now())), history_(history), view_(view) {}

  Outcome run() {
    if (is_terminating(job_.version)) {
      // The garbage collector deletes them, and nobody reads the count.
      for (const JobPod& pod : job_.pods)
        if (pod.is_tracked()) let_go(pod);
      return std::move(outcome_);
    }
    history_.observe(job_);
    switch (verdict_.kind) {
      case JobVerdict::Kind::kGoesOn:
        go_on();
        break;
      case JobVerdict::Kind::kFails:
        for (const JobPod* pod : tally_.active) remove(*pod);
        break;
      case JobVerdict::Kind::kSucceeds:
        if (verdict_.is_recorded) take_back(tally_.active);
        break;
    }
    for (const JobPod* pod : pods_to_let_go(job_, tally_, verdict_)) let_go(*pod);
    write_status();
    return std::move(outcome_);
  }

 private:
  void go_on() {
    if (const auto deadline = deadline_of(job_)) outcome_.look_again(*deadline);
    const std::int64_t wanted = wanted_active(job_, tally_);
    const auto surplus = surplus_pods(job_, tally_, wanted, view_.now());
    take_back(surplus);
    for (const JobPod* pod : tally_.active) {
      const bool is_surplus = std::find(surplus.begin(), surplus.end(), pod) != surplus.end();
      if (!pod->is_tracked() && !is_surplus) outcome_.allowed_now.push_back(patch_finalizers(pod->version, true));
    }
    if (!surplus.empty()) return;
    // Those that are being deleted hold their place until they have failed, where the Job says so.
    const std::int64_t held = job_.spec.replaces_only_failed ? tally_.terminating : 0;
    const std::int64_t missing = wanted - held - static_cast<std::int64_t>(tally_.active.size());
    if (missing > 0) make(missing);
  }

  void make(std::int64_t missing) {
    if (!job_.spec.backoff_limit_per_index) {
      const auto next = history_.next_attempt();
      if (next && *next > view_.now()) return outcome_.look_again(*next);
    }
    if (job_.spec.is_indexed) return make_indexed(missing);
    const auto names = names_for_new_pods(view_, job_.version, static_cast<std::size_t>(missing), tally_.active.size());
    for (const std::string& name : names) create(name, job_pod(job_, name));
  }

  void make_indexed(std::int64_t missing) {
    const auto count = std::min<std::int64_t>(missing, static_cast<std::int64_t>(step()));
    const IndexPlan plan = next_indexes(job_, tally_, count, view_.now());
    if (plan.later) outcome_.look_again(*plan.later);
    for (const IndexAttempt& attempt : plan.now) {
      const std::string name = indexed_pod_name(job_, attempt.index);
      create(name, indexed_job_pod(job_, name, attempt));
    }
  }

  // No more at once than there are, and after a failure one: a template that nobody admits must not cost thousands of
  // attempts.
  std::size_t step() const {
    const auto& setbacks = view_.setbacks();
    const bool failed = std::any_of(setbacks.begin(), setbacks.end(), [](const client::Setback& setback) {
      return setback.verb == "create" && setback.resource == kPods;
    });
    return failed ? 1 : std::clamp<std::size_t>(tally_.active.size(), 1, kMostAtOnce);
  }

  client::EventSubject subject() const { return client::subject_of(kJobs, "Job", job_.version); }

  void create(const std::string& name, json::Value pod) {
    Create action{kPods, job_.version.header->name.ns, std::move(pod), job_.version.header->uid};
    action.announce.done = Emit{subject(), EventType::kNormal, "SuccessfulCreate", "Created pod: " + name};
    action.announce.failed = Emit{subject(), EventType::kWarning, "FailedCreate", "Error creating: "};
    outcome_.allowed_now.push_back(std::move(action));
  }

  void remove(const JobPod& pod) {
    Delete action{client::target_by_uid(kPods, pod.version)};
    action.announce.done =
        Emit{subject(), EventType::kNormal, "SuccessfulDelete", "Deleted pod: " + pod.header().name.name};
    action.announce.failed = Emit{subject(), EventType::kWarning, "FailedDelete", "Error deleting: "};
    outcome_.allowed_now.push_back(std::move(action));
  }

  void take_back(const std::vector<const JobPod*>& pods) {
    for (std::size_t i = 0; i < std::min(pods.size(), kMostAtOnce); ++i) {
      if (pods[i]->is_tracked()) {
        let_go(*pods[i]);
      } else {
        remove(*pods[i]);
      }
    }
  }

  void let_go(const JobPod& pod) {
    if (let_go_.insert(pod.header().uid).second) outcome_.allowed_now.push_back(patch_finalizers(pod.version, false));
  }

  void write_status() {
    NextStatus next = next_status(job_, tally_, verdict_, view_.now());
    const json::Value* present = json::find(job_.tree, {"status"});
    if (present != nullptr && json::equal(*present, next.status)) return;
    json::Value body = job_.tree;
    body.as_object()["status"] = std::move(next.status);
    Update update{client::target_of(kJobs, job_.version), std::move(body), "status"};
    update.announce.done = std::move(next.event);
    outcome_.allowed_now.push_back(std::move(update));
  }

  const JobState& job_;
  JobTally tally_;
  JobVerdict verdict_;
  FailureHistory& history_;
  const View& view_;
  std::set<std::string> let_go_;
  Outcome outcome_;
};

std::vector<client::WatchRule> JobController::watches() const {
  const auto itself = client::itself(kJobs);
  const auto owners = its_owners(kJobs, "Job");
  return {
      {.resource = kJobs,
       .keys =
           [this, itself](const ObjectChange& change, const View& view, const client::KeySink& sink) {
             itself(change, view, sink);
             if (change.type != ObjectChange::Type::kDeleted) return;
             failures_.erase(change.now.header->uid);
             orphans_of(change.now, view, sink);
           }},
      {.resource = kPods, .keys = [owners](const ObjectChange& change, const View& view, const client::KeySink& sink) {
         owners(change, view, sink);
         if (change.type != ObjectChange::Type::kDeleted && is_orphan(change.now, view))
           sink(client::key_of(kPods, change.now.header->name), WorkQueue::Priority::kNormal);
       }}};
}

Outcome JobController::reconcile(const api::ObjectKey& key, const View& view) const {
  if (key.resource == client::resource_name(kPods)) return let_orphan_go(key.object, view);
  Outcome outcome;
  const api::Version object = view.get(kJobs, key.object);
  if (!object) return outcome;
  auto tree = json::parse(*object.json);
  if (!tree) return outcome;
  const std::string_view manager = json::string_at(*tree, {"spec", "managedBy"});
  if (!manager.empty() && manager != kOurs) return outcome;

  if (api::condition_is_true(*tree, "Complete") || api::condition_is_true(*tree, "Failed")) {
    failures_.erase(object.header->uid);
    return sweep(state_of(object, std::move(*tree), view.objects(kPods).owned_by(object.header->uid), view));
  }
  Claims claims = claim(view, kPods, {kJobs, "Job", object}, *selector_of(view, kJobs, object));
  if (!claims.actions.empty()) {
    outcome.allowed_now = std::move(claims.actions);
    return outcome;
  }
  const JobState job = state_of(object, std::move(*tree), std::move(claims.held), view);
  return Look(job, failures_[object.header->uid], view).run();
}

}  // namespace gangway::controllers
