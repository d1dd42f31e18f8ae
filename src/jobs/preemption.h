// What a preemption means for a job: whether it goes on without the pods that it loses, or is queued again as a whole,
// and who took its room. Pure.
//
//   a pod is preempted ──► an elastic job that keeps its minimum and its chief: it shrinks; the pod is made again and
//   waits
//                      ──► Requeue, and Shrink where it cannot shrink: all pods end, the next attempt is queued in the
//                          old place in line
//                      ──► Fail: the pod counts as failed, as on any Kubernetes
//
// Pods that go at once may be gone before anybody looks. What is left of them is the record in the gang's Allotment,
// or the grant of who takes their room, which is there before the first of them is told to end, and the number of
// active pods in the job's own status.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "client/reconciler.h"
#include "client/view.h"
#include "jobs/replica_pods.h"

namespace gangway::jobs {

// Who preempted the gang of that name last, as "namespace/name": not before `since`, and after it was last
// `queued_again` for that reason. For a gang without an Allotment it looks through all grants: ask where pods are
// missing.
std::optional<std::string> last_preemptor(const client::View& view, const api::ObjectName& gang, WallTime since,
                                          std::optional<WallTime> queued_again);

// Who was promised the room of the pod with this uid, as "namespace/name". A gang of one pod has no record of its own
// to be asked, but its preemptor's grant names its victims. Looks through all grants.
std::optional<std::string> preemptor_of(const client::View& view, const std::string& uid);

// An Allotment concerns the job of `jobs` that its gang is called after.
client::KeyMapper its_gang(const client::Resource& jobs);

// The job runs on although these pods of it go.
bool goes_on_without_lost(const KubeflowJob& job, const std::vector<ReplicaPod>& pods);

// Set when the job has to be queued again: who took its room, or nothing where that is not known.
struct Displacement {
  std::string by;
};
std::optional<Displacement> displacement_of(const KubeflowJob& job, const std::vector<ReplicaPod>& pods,
                                            const client::View& view);

// Some of its pods are being preempted, or were since then.
bool was_preempted(const KubeflowJob& job, const std::vector<ReplicaPod>& pods, const client::View& view,
                   WallTime since);

// A pod whose end does not count as a failure of the job.
bool is_forgiven(const KubeflowJob& job, const ReplicaPod& pod, bool goes_on_without);

}  // namespace gangway::jobs
