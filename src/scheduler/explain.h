// Why a gang waits, what would let it run, and what could end it once it runs: one answer as a value, with names only.
//
// Everything about placement is asked of the planner; what is about objects (images, suspended jobs) is the business of
// explain_subject.h. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "json/value.h"
#include "planning/plan.h"
#include "planning/snapshot.h"
#include "scheduler/changes.h"

namespace gangway::scheduler {

// A gang as people know it: a PodGroup, or a pod of its own.
struct GangName {
  std::string kind;  // "Pod" or "PodGroup"
  std::string ns;
  std::string name;
  std::string full() const { return ns + "/" + name; }
  bool operator==(const GangName&) const = default;
};
GangName name_of(const planning::Gang& gang);

// Somebody who has room that the asker needs.
struct Holder {
  GangName gang;
  std::int64_t gpus = 0;
  std::int64_t pods = 0;
  std::int64_t priority = 0;
  WallTime since = {};
  std::optional<WallTime> ends = {};  // at the latest, where that is known
  std::string why_not = {};           // it is not preempted; empty: it may be, but that would not make enough room
};

struct ChangeReport {
  std::string text = {};
  json::Array steps = {};  // {"kind": …}, for programs
  Granted granted = {};
};

struct WaitReport {
  enum class Code : std::uint8_t {
    kUnschedulable,
    kGangIncomplete,
    kWaitsForVictims,  // has its room, and waits for those who leave it
    kHasRoom,          // nothing is in its way: it is placed at the next look of the scheduler
  };
  GangName gang;
  std::vector<std::string> pods = {};  // that wait
  std::int64_t running = 0;
  std::int64_t min_members = 1;
  std::int64_t priority = 0;
  bool never_preempts = false;
  WallTime since = {};
  std::size_t position = 1;  // in line
  std::size_t in_line = 1;
  std::vector<std::string> ahead = {};  // the first few before it
  Code code = Code::kUnschedulable;
  std::string message = {};                                      // as kube-scheduler words it
  std::string needs = {};                                        // of the pod that finds no place
  std::string nearest = {};                                      // the node that is nearest to taking it
  std::string lacks = {};                                        // and what it is short of
  std::vector<Holder> holders = {};                              // there, the cheapest to move first
  std::string room_kept_for = {};                                // another gang, which waits longer
  std::optional<WallTime> starts = {};                           // at the latest, where that is known
  std::vector<std::pair<std::string, std::string>> places = {};  // pod, node: that it has or would get
  std::vector<std::string> leaving = {};                         // pods that it waits for
  std::vector<ChangeReport> changes = {};                        // the smallest first
};

struct RunReport {
  struct Place {
    std::string pod;
    std::string node;
    WallTime since = {};
    std::optional<WallTime> ends = {};
    bool is_ending = false;
  };
  GangName gang;
  std::int64_t priority = 0;
  std::vector<Place> places = {};
  std::vector<PriorityClass> above = {};  // classes whose pods may preempt it
  std::string promised_to = {};           // somebody whose room it is about to be
  std::string protection = {};            // why it is left alone now
  std::optional<WallTime> protected_until = {};
  std::int64_t top_priority = 0;  // who has at least this disturbs it all the same
  std::int64_t preempted = 0;     // in the last hour
  std::int64_t max_preemptions = 0;
  std::int64_t lost_gpu_seconds = 0;  // of work, if it were stopped now
  planning::OnPreempt on_preempt = planning::OnPreempt::kFail;
  bool is_elastic = false;
  std::vector<std::string> budgets = {};  // "default/web allows 0 more disruptions"
};

class GangExplainer {
 public:
  GangExplainer(const planning::Snapshot& snapshot, const planning::Policies& policies,
                std::vector<PriorityClass> classes);

  // Requires: members of the gang, or the pod that is asked for, wait.
  WaitReport why_waits(const Asker& asker) const;
  // Requires: members of the gang run.
  RunReport how_it_runs(planning::GangId gang) const;

  const planning::Plan& plan() const { return plan_; }

 private:
  void tell_line(const Asker& asker, WaitReport& report) const;
  void tell_verdict(const Asker& asker, WaitReport& report) const;
  void tell_holders(const planning::Verdict& verdict, WaitReport& report) const;
  std::string why_kept(planning::GangId holder, planning::GangId asker, const WaitReport& report) const;
  std::string promised_to(planning::GangId gang) const;

  const planning::Snapshot& snapshot_;
  const planning::Policies& policies_;
  std::vector<PriorityClass> classes_;  // by value
  planning::Plan plan_;
};

}  // namespace gangway::scheduler
