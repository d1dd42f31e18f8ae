// Workload: what a user does to the cluster in a simulation, by dice, and what must be there in the end because of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/laws.h"
#include "sim/user.h"

namespace gangway::sim {

class Workload {
 public:
  virtual ~Workload() = default;
  // Runs `done` when nothing more comes.
  virtual void start(sys::Task done) = 0;
  // Everything is at rest: is there what should be, and nothing else?
  virtual void judge(const store::Root& root, Verdicts& verdicts) const = 0;
};

// Namespaces with configuration that owns other configuration; deleted in all ways there are.
std::unique_ptr<Workload> configuration_workload(User& user);
// Pods of all sizes that run for a while or for ever, and are deleted by hand.
std::unique_ptr<Workload> pod_workload(User& user);
// Deployments and StatefulSets that are made, scaled, rolled out and deleted.
std::unique_ptr<Workload> set_workload(User& user);
// Jobs that end well or badly, and are suspended and deleted on the way.
std::unique_ptr<Workload> job_workload(User& user);
// Gangs of all kinds, elastic ones too, that compete for a cluster that may be too small.
std::unique_ptr<Workload> gang_workload(User& user);
// Pods of several PriorityClasses, with budgets, that preempt each other.
std::unique_ptr<Workload> priority_workload(User& user);
// So many training jobs of all kinds, that are made, suspended, resumed, resized and deleted; 0: a few.
std::unique_ptr<Workload> training_workload(User& user, std::int64_t jobs = 0);
// Cordons and uncordons these nodes, and changes the Configuration.
std::unique_ptr<Workload> operator_workload(User& user, std::vector<std::string> nodes);

}  // namespace gangway::sim
