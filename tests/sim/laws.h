// Laws: what must hold in a cluster whatever happens to it. Each sees what the server publishes and, once faults are
// over and everything is at rest, the whole.
//
// A law shares no code with what it judges. It knows nothing of faults or processes: a unit test breaks it by hand.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace gangway::sim {

// Where laws say that they are broken.
class Verdicts {
 public:
  void broken(std::string what) { all_.push_back(std::move(what)); }
  bool empty() const { return all_.empty(); }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::vector<std::string> all_;
};

class Law {
 public:
  virtual ~Law() = default;
  // Something was published; `root` has it.
  virtual void on_change(const api::ResourceName& resource, const store::Change& change, const store::Root& root,
                         Verdicts& verdicts);
  // The server was killed, and is back with `root`. `before` is what it had published, `head` what it had accepted.
  virtual void on_restart(const store::Root& before, const store::Root& head, const store::Root& root,
                          Verdicts& verdicts);
  // Nothing more will happen.
  virtual void at_rest(const store::Root& root, Verdicts& verdicts);
};

// What happened to these resources between two roots without being told: first what has gone, then the rest in its
// order. For laws that follow changes across a restart.
using ToldChange = std::pair<api::ResourceName, store::Change>;
std::vector<ToldChange> changes_between(const store::Root& before, const store::Root& root,
                                        const std::vector<api::ResourceName>& resources);

// ── of the store ──

// Every change has a revision above all earlier ones; what it replaces is what was there.
std::unique_ptr<Law> revisions_grow();
// What was published and durable is there after a restart, in that state or one that was on its way.
std::unique_ptr<Law> nothing_acknowledged_is_lost();

// ── of objects ──

// No object outlives its owners, and none is still being deleted.
std::unique_ptr<Law> no_orphans();
// Every object of a namespace has that namespace; each has its account and its authority.
std::unique_ptr<Law> namespaces_are_whole();

// ── of pods ──

// What the pods of a node ask for, those that have ended left out, is no more than it has.
std::unique_ptr<Law> nodes_have_room();
// A pod stays on its node, ends once, does not begin again, and never forgets a restart.
std::unique_ptr<Law> pods_only_go_forward();
// Every pod that is Pending says why.
std::unique_ptr<Law> what_waits_knows_why();

// ── of training jobs ──

// A job ends once, well or badly, and stays so; its attempts only grow.
std::unique_ptr<Law> jobs_end_once();
// No pod of an attempt is made while one of an earlier attempt is there. One that was asked for earlier and came later
// than the attempt began is nobody's fault.
std::unique_ptr<Law> attempts_do_not_overlap();
// A job succeeds when its program does, and fails only when its program does, or a pod was taken from it, or its time
// is up. One that is to come back after a preemption does not fail by it.
std::unique_ptr<Law> jobs_fail_for_a_reason();
// At rest: what is over has no group and none of the pods that were to go, what is suspended has nothing, and what is
// neither has all of its pods, which wait or run.
std::unique_ptr<Law> jobs_are_as_they_say();

// Those of placement too (placement_laws.h). `now` is the time that is everybody's.
std::vector<std::unique_ptr<Law>> all_laws(std::function<MonoTime()> now);

}  // namespace gangway::sim
