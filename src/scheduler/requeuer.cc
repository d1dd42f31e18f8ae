#include "scheduler/requeuer.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "api/gang.h"
#include "api/pod_phase.h"
#include "client/resource.h"
#include "json/access.h"
#include "scheduler/allotment.h"
#include "scheduler/requeue.h"

namespace gangway::scheduler {
namespace {

using client::Create;
using client::Delete;
using client::Emit;
using client::EventType;
using client::KeySink;
using client::ObjectCache;
using client::ObjectChange;
using client::Outcome;
using client::PatchStatus;
using client::View;
using client::WorkQueue;
using client::resources::kPods;

constexpr const char* kByPod = "requeues_by_pod";      // namespace/name of the victim, and of who has its place
constexpr const char* kByGroup = "requeues_by_group";  // namespace/name
constexpr const char* kByOwner = "requeues_by_owner";  // uid

std::string joined(const std::string& ns, const std::string& name) {
  return ns + "/" + name;
}

std::vector<std::string> pods_of(const ObjectCache& cache, const api::Version& record) {
  const auto facts = cache.facts(record, read_requeue);
  std::vector<std::string> pods{joined(record.header->name.ns, facts->pod)};
  if (!facts->successor_uid.empty() && facts->successor.name != facts->pod)
    pods.push_back(joined(facts->successor.ns, facts->successor.name));
  return pods;
}

std::vector<std::string> group_of(const ObjectCache& cache, const api::Version& record) {
  const auto facts = cache.facts(record, read_requeue);
  if (facts->group.empty()) return {};
  return {joined(record.header->name.ns, facts->group)};
}

std::vector<std::string> owner_of(const ObjectCache& cache, const api::Version& record) {
  const auto facts = cache.facts(record, read_requeue);
  if (facts->owner_uid.empty()) return {};
  return {facts->owner_uid};
}

void tell(const std::vector<api::Version>& records, const KeySink& sink) {
  for (const api::Version& record : records)
    sink(client::key_of(kRequeuedPods, record.header->name), WorkQueue::Priority::kNormal);
}

// The records that a pod's coming, going or ending may concern: its own, its group's and its owner's.
void on_pod(const ObjectChange& change, const View& view, const KeySink& sink) {
  const ObjectCache& records = view.objects(kRequeuedPods);
  if (records.size() == 0) return;
  const api::Header& pod = *(change.now ? change.now : change.before).header;
  const auto own = records.with_key(kByPod, joined(pod.name.ns, pod.name.name));
  tell(own, sink);
  for (const api::Version& record : own)
    for (const std::string& group : group_of(records, record)) tell(records.with_key(kByGroup, group), sink);
  if (const auto* owner = controller_of(pod)) tell(records.with_key(kByOwner, owner->uid), sink);
}

// A ticket that was taken back needs no victims any more.
void on_allotment(const ObjectChange& change, const View& view, const KeySink& sink) {
  const ObjectCache& records = view.objects(kRequeuedPods);
  if (records.size() == 0) return;
  const api::Version& known = change.now ? change.now : change.before;
  for (const auto& victim : read_allotment(known).victims)
    tell(records.with_key(kByPod, joined(victim.pod.ns, victim.pod.name)), sink);
}

void on_group(const ObjectChange& change, const View& view, const KeySink& sink) {
  const api::Header& group = *(change.now ? change.now : change.before).header;
  tell(view.objects(kRequeuedPods).with_key(kByGroup, joined(group.name.ns, group.name.name)), sink);
}

// One look at one record.
class Return {
 public:
  Return(const api::Version& record, const View& view)
      : record_(record),
        view_(view),
        facts_(view.objects(kRequeuedPods).facts(record, read_requeue)),
        ns_(record.header->name.ns) {}

  Outcome run() {
    if (!facts_->successor_uid.empty()) {
      if (!lives(view_.get(kPods, facts_->successor), facts_->successor_uid)) forget();
    } else if (const api::Version victim = view_.get(kPods, {ns_, facts_->pod}); is_victim(victim)) {
      if (!is_going(victim)) forget();
    } else if (facts_->owner_uid.empty()) {
      victim ? take_place(victim) : make_again();
    } else {
      find_successor();
    }
    return std::move(outcome_);
  }

 private:
  bool is_victim(const api::Version& pod) const { return pod && pod.header->uid == facts_->uid; }
  static bool lives(const api::Version& pod, const std::string& uid) {
    return pod && pod.header->uid == uid && !api::has_ended(*pod.header);
  }

  // It ends, or somebody still means it to.
  bool is_going(const api::Version& victim) const {
    if (victim.header->deleting_since) return true;
    if (api::has_ended(*victim.header)) return false;
    const ObjectCache& allotments = view_.objects(kAllotments);
    const auto tickets = allotments.with_key(allotments_by_victim().name, facts_->uid);
    return std::any_of(tickets.begin(), tickets.end(),
                       [&](const api::Version& ticket) { return allotments.facts(ticket, read_allotment)->is_open(); });
  }

  void forget() { outcome_.allowed_now.push_back(Delete{client::target_of(kRequeuedPods, record_)}); }

  void take_place(const api::Version& pod) {
    json::Value body = json::Object();
    json::object_at(body, {"status"}) = {{"pod", pod.header->name.name}, {"uid", pod.header->uid}};
    outcome_.allowed_now.push_back(PatchStatus{client::target_of(kRequeuedPods, record_), std::move(body)});
  }

  bool is_group_deleted() const {
    const json::Value& pod = facts_->pod_to_make;
    const std::string_view group = json::string_at(pod, {"metadata", "labels", api::kPodGroupLabel});
    if (group.empty()) return false;
    const api::Version found = view_.get(kPodGroups, {ns_, std::string(group)});
    return !found || found.header->deleting_since;
  }

  // Others of its group that had to go, and have not gone yet.
  bool must_wait_for_others() const {
    if (facts_->group.empty()) return false;
    const ObjectCache& records = view_.objects(kRequeuedPods);
    const auto siblings = records.with_key(kByGroup, joined(ns_, facts_->group));
    return std::any_of(siblings.begin(), siblings.end(), [&](const api::Version& sibling) {
      const auto other = records.facts(sibling, read_requeue);
      const api::Version pod = view_.get(kPods, {ns_, other->pod});
      return pod && pod.header->uid == other->uid;
    });
  }

  void make_again() {
    if (is_group_deleted()) return forget();
    if (must_wait_for_others()) return;
    Create create{kPods, ns_, facts_->pod_to_make};
    const client::EventSubject about{"v1", "Pod", {ns_, facts_->pod}, facts_->uid};
    create.announce.done =
        Emit{about, EventType::kNormal, "Requeued", fmt::format("made again as attempt {}", facts_->attempt)};
    create.announce.failed = Emit{about, EventType::kWarning, "FailedRequeue", "cannot be made again"};
    outcome_.allowed_now.push_back(std::move(create));
  }

  // Of the pods that its owner has made since: the one of its name, else of its index, else the first.
  void find_successor() {
    const WallTime deadline = record_.header->created + Requeuer::kOwnersTime;
    if (const api::Version pod = best_candidate()) return take_place(pod);
    if (view_.now() >= deadline) return forget();
    outcome_.look_again(deadline);
  }

  api::Version best_candidate() const {
    const auto distance = [&](const api::Version& pod) {
      const bool same_index = !facts_->index.empty() && index_of(*pod.header) == facts_->index;
      return std::make_tuple(pod.header->name.name != facts_->pod, !same_index, pod.header->created,
                             pod.header->name.name);
    };
    api::Version best;
    view_.objects(kPods).for_each_owned_by(facts_->owner_uid, [&](const api::Version& pod) {
      if (pod.header->uid == facts_->uid || !may_be_later(pod) || is_taken(pod)) return;
      if (pod.header->deleting_since || api::has_ended(*pod.header)) return;
      if (!best || distance(pod) < distance(best)) best = pod;
    });
    return best;
  }

  // Times have whole seconds: of those that are as old as the record, only one that waits can have come after it.
  bool may_be_later(const api::Version& pod) const {
    if (pod.header->created != record_.header->created) return pod.header->created > record_.header->created;
    return pod.header->field("spec.nodeName").empty();
  }

  // Has another one's place, or is to come back itself.
  bool is_taken(const api::Version& pod) const {
    const ObjectCache& records = view_.objects(kRequeuedPods);
    const auto others = records.with_key(kByOwner, facts_->owner_uid);
    return std::any_of(others.begin(), others.end(), [&](const api::Version& other) {
      const auto facts = records.facts(other, read_requeue);
      return facts->successor_uid == pod.header->uid || facts->uid == pod.header->uid;
    });
  }

  const api::Version& record_;
  const View& view_;
  std::shared_ptr<const RequeueFacts> facts_;
  const std::string& ns_;
  Outcome outcome_;
};

}  // namespace

std::vector<client::WatchRule> Requeuer::watches() const {
  client::WatchRule records{.resource = kRequeuedPods, .keys = client::itself(kRequeuedPods)};
  records.indexes = {{kByPod, pods_of}, {kByGroup, group_of}, {kByOwner, owner_of}};
  client::WatchRule allotments{.resource = kAllotments, .keys = on_allotment};
  allotments.indexes = {allotments_by_victim()};
  return {std::move(records),
          {.resource = kPods, .keys = on_pod},
          std::move(allotments),
          {.resource = kPodGroups, .keys = on_group}};
}

Outcome Requeuer::reconcile(const api::ObjectKey& key, const View& view) const {
  const api::Version record = view.get(kRequeuedPods, key.object);
  if (!record || record.header->deleting_since) return {};
  return Return(record, view).run();
}

}  // namespace gangway::scheduler
