// Machine: what there is of a node besides its agent. Its containers go on while the agent is dead, its disk keeps the
// agent's records when the power goes, and it sees to the laws that only a machine can see:
//
// - an attempt of a container is started once, whatever dies;
// - it has its pod's sandbox from its start to its end;
// - no GPU is given to two pods at a time;
// - how a container ended is written down as the machine saw it, whoever was dead at the time;
// - nothing runs under the name of a pod while an earlier pod of that name still does, here or elsewhere;
// - nothing of a pod is started once the API says that it is over.
//
// That it runs nothing once its agent has been alone for long is seen to by Hosts, who know when it is.
//
// Owned by the simulation's thread; everything that runs on it runs on its own loop.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/records.h"
#include "agent/runtime.h"
#include "agent/simulated/simulated_runtime.h"
#include "sim/laws.h"
#include "sim/running_pods.h"
#include "testing/faults.h"

namespace gangway::sim {

class Machine final : private agent::RuntimeSink {
 public:
  Machine(testing::Simulation& simulation, testing::Faults& faults, RunningPods& pods, std::string name);
  ~Machine() override;

  const std::string& name() const { return name_; }
  // The machine's disk, for one life of an agent: what is not saved when it is killed never will be.
  agent::Records& records(testing::SimProcess& agent);
  bool has_power() const { return process_ != nullptr; }
  // It is about to lose it, at a bad moment.
  bool power_fails() const { return power_fails_; }
  // Everything that runs ends, and nobody sees how.
  void lose_power();
  void restore_power();

  // The machine as an agent sees it, for one life of that agent.
  std::unique_ptr<agent::Runtime> runtime(testing::SimProcess& agent, testing::SimLoop& loop);

  const Verdicts& verdicts() const { return verdicts_; }
  std::size_t running() const { return running_.size(); }

 private:
  class Face;
  class Disk;
  struct Run {
    agent::ContainerSpec spec;
    agent::Started started;
  };

  void on_exit(const agent::ContainerId& container, const agent::Exit& exit) override;
  void start(const agent::ContainerSpec& spec, sys::Completion<agent::Started> done);
  void judge_start(const agent::ContainerSpec& spec);
  void remove_sandbox(const std::string& pod_uid, sys::Completion<void> done);
  void judge_ends(const agent::PodRecord& record);
  agent::Found found() const;
  void stop_counting(const Run& run);

  testing::Simulation& simulation_;
  testing::Faults& faults_;
  RunningPods& pods_;
  const std::string name_;
  Verdicts verdicts_;
  std::unique_ptr<Disk> disk_;
  std::set<agent::ContainerId> used_;       // every attempt that was ever started
  std::map<agent::ContainerId, int> ends_;  // the exit codes of all that were ever seen to end
  unsigned boots_ = 0;
  unsigned faces_ = 0;     // made so far
  unsigned answered_ = 0;  // the last that was told what is here
  bool power_fails_ = false;

  // What the power keeps up.
  std::unique_ptr<testing::SimProcess> process_;
  testing::SimLoop* loop_ = nullptr;
  std::unique_ptr<agent::SimulatedRuntime> runtime_;
  std::map<std::string, agent::Sandbox> sandboxes_;
  std::map<agent::ContainerId, Run> running_;
  std::map<agent::ContainerId, agent::Exit> exited_;  // and not removed
  std::weak_ptr<Face*> face_;                         // of the agent that is connected, if any
};

std::string text_of(const agent::ContainerId& id);

}  // namespace gangway::sim
