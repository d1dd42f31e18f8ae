// Hosts: the nodes that are machines with agents of their own, and what befalls them.
//
//   agent killed ──► started again within the time that it has before it would be fenced; its containers go on
//   power lost ───► everything on the machine ends; minutes later it boots, with its disk as it was
//   network cut ──► the agent is alone, and stops its pods in time
//
// Owned by the simulation's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/agent_life.h"
#include "sim/machine.h"
#include "sim/solitude.h"

namespace gangway::sim {

class Hosts {
 public:
  Hosts(Wire& wire, Gate& gate, RunningPods& pods, const std::vector<agent::NodeSpec>& nodes);

  // Now and then, while faults happen.
  void weather();
  // Between steps.
  void after_step();
  // What is off is switched on, what is cut is mended.
  void begin_fair_weather();
  bool are_all_up() const;
  // The laws that machines see to.
  const Verdicts* broken() const;

 private:
  struct Host {
    agent::NodeSpec spec;
    std::unique_ptr<Machine> machine;
    std::unique_ptr<AgentLife> agent;
    unsigned lives = 0;
    Duration ahead{0};  // of its clock
    Solitude solitude;
    bool power_fails = false;
    bool start_is_planned = false;
  };

  void start(Host& host);
  void start_later(Host& host, Duration after);
  void befall(Host& host);
  void judge_solitude(Host& host);

  Wire& wire_;
  Gate& gate_;
  RunningPods& pods_;
  Verdicts verdicts_;
  std::vector<std::unique_ptr<Host>> hosts_;
};

}  // namespace gangway::sim
