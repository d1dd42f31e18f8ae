// Scheduler: the shell around the planner. Takes a snapshot, has it planned, and carries the plan to the API.
//
//   changes ─► ClusterModel ─► schedule() ─┬─ one pod, room is there ──► bind
//                                          ├─ a gang, or somebody must go ──► Allotment ─ next look ─► evict ─► bind
//                                          └─ verdicts ──► PodScheduled=False, FailedScheduling
//
// One key for the whole cluster, and no waiting for answers: what was asked for and is not shown yet is assumed
// (ClusterModel), and only the objects concerned are left alone until it is (View::is_held). Everything that must be
// remembered is in an object before anything else happens: a look that finds an open Allotment goes on with it, whoever
// wrote it, but writes down first that it is now his. A write whose answer was lost is assumed to have happened, and
// asked for again, until its object has left the revision that it was decided on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/reconciler.h"
#include "scheduler/cluster_model.h"
#include "scheduler/cycle_sink.h"
#include "scheduler/fence.h"

namespace gangway::scheduler {

class Scheduler final : public client::Reconciler {
 public:
  // `sink`, where there is one, outlives it.
  explicit Scheduler(std::string name = kDefaultName, CycleSink* sink = nullptr,
                     volumes::ClaimBinding claims = volumes::ClaimBinding::kFollowsPods)
      : name_(name), sink_(sink), claims_(claims), model_(std::move(name), claims) {}

  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;
  bool assumes_its_effects() const override { return true; }

  // Before the first look: the term that this one leads in, greater than all before it.
  void lead(std::int64_t epoch) { epoch_ = epoch; }
  // The same after a leader who did not hand over, by a write of revision `term_began`: nothing is given before none of
  // his bindings can succeed any more. Requires: what was there at that revision is in the mirror at the first look.
  void take_over(std::int64_t epoch, api::Revision term_began);

  static constexpr const char* kDefaultName = "default-scheduler";
  // A pod is told anew what is in its way no sooner than this after the last time.
  static constexpr Duration kRepeatAfter = std::chrono::seconds(10);

 private:
  class Look;

  client::WatchRule watch(const client::Resource& resource,
                          bool (*concerns)(const client::ObjectChange&, const client::View&)) const;

  std::string name_;
  CycleSink* sink_;
  volumes::ClaimBinding claims_;
  // Looks and the changes before them come on one loop.
  mutable ClusterModel model_;
  mutable Basis basis_;
  mutable std::map<std::string, WallTime> last_told_;  // by the pod's uid
  mutable std::int64_t epoch_ = 0;
  mutable bool has_looked_ = false;
  mutable Fence fence_;
};

}  // namespace gangway::scheduler
