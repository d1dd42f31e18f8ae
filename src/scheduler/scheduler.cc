#include "scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "api/pod_phase.h"
#include "client/resource.h"
#include "scheduler/look.h"
#include "scheduler/requeue.h"
#include "volumes/claim_indexes.h"

namespace gangway::scheduler {
namespace {

using client::ObjectChange;
using client::Outcome;
using client::View;
using client::WorkQueue;
using client::resources::kDisruptionBudgets;
using client::resources::kNamespaces;
using client::resources::kNodes;
using client::resources::kPersistentVolumeClaims;
using client::resources::kPersistentVolumes;
using client::resources::kPods;
using client::resources::kStorageClasses;

constexpr const char* kNodeName = "spec.nodeName";

const api::ObjectKey kTheCluster{"scheduling", {"", "the cluster"}};

bool holds_room(const api::Header& pod) {
  return is_bound(pod) && !api::has_ended(pod);
}

// A pod that waits is one more to place; one that is gone, ends, or is ending, changes what can be planned.
bool changes_room(const ObjectChange& pod, const View&) {
  const bool is_gone = pod.type == ObjectChange::Type::kDeleted;
  if (!is_gone && !is_bound(*pod.now.header)) return true;
  if (!pod.before) return false;
  const bool held = holds_room(*pod.before.header) || !is_bound(*pod.before.header);
  if (!held) return false;
  return is_gone || !holds_room(*pod.now.header) ||
         pod.before.header->deleting_since.has_value() != pod.now.header->deleting_since.has_value();
}

// Heartbeats change a node all the time, and nothing that matters here.
bool changes_offer(const ObjectChange& node, const View& view) {
  if (node.type != ObjectChange::Type::kModified) return true;
  return node.before.header->deleting_since != node.now.header->deleting_since ||
         !(read_node(node.before) == *view.objects(kNodes).facts(node.now, read_node));
}

// Claims, volumes and classes say where pods may be.
bool somebody_waits(const ObjectChange&, const View& view) {
  return view.objects(kPods).count_with_field(kNodeName, "") > 0;
}

bool always(const ObjectChange&, const View&) {
  return true;
}

}  // namespace

client::WatchRule Scheduler::watch(const client::Resource& resource,
                                   bool (*concerns)(const ObjectChange&, const View&)) const {
  client::WatchRule rule{.resource = resource};
  rule.keys = [this, resource, concerns](const ObjectChange& change, const View& view, const client::KeySink& sink) {
    const api::Version& known = change.now ? change.now : change.before;
    model_.touch(resource, known.header->name);
    api::Revision& newest = basis_[resource.plural];
    newest = std::max(newest, known.header->revision);
    if (concerns(change, view)) sink(kTheCluster, WorkQueue::Priority::kNormal);
  };
  return rule;
}

std::vector<client::WatchRule> Scheduler::watches() const {
  client::WatchRule pods = watch(kPods, changes_room);
  pods.indexed_fields = {kNodeName};
  pods.indexes = {volumes::pods_by_claim()};
  client::WatchRule persistent = watch(kPersistentVolumes, somebody_waits);
  persistent.indexes = {volumes::free_volumes_by_class(), volumes::volumes_by_claim()};
  return {std::move(pods),
          watch(kNodes, changes_offer),
          watch(kPodGroups, always),
          watch(kAllotments, always),
          watch(kRequeuedPods, always),
          watch(kNamespaces, somebody_waits),
          watch(kDisruptionBudgets, somebody_waits),
          watch(kPriorityClasses, somebody_waits),
          watch(kConfigurations, somebody_waits),
          watch(kPersistentVolumeClaims, somebody_waits),
          std::move(persistent),
          watch(kStorageClasses, somebody_waits)};
}

void Scheduler::take_over(std::int64_t epoch, api::Revision term_began) {
  lead(epoch);
  fence_.raise(term_began);
}

Outcome Scheduler::reconcile(const api::ObjectKey&, const View& view) const {
  return Look(*this, view).run();
}

}  // namespace gangway::scheduler
