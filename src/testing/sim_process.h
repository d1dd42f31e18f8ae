// SimProcess: what dies together. It owns the loops of a simulated process and its clock, not the objects that live on
// them: whoever made those drops them, once none of their tasks runs any more.
//
//   alive ── kill ──► dead: no task runs, hooks have taken what is durable ── objects dropped, then this ──► gone
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/sim_loop.h"

namespace gangway::testing {

class SimProcess {
 public:
  SimProcess(Simulation& simulation, std::string name)
      : simulation_(simulation), name_(std::move(name)), clock_(simulation) {}
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  SimLoop& add_loop(const std::string& name) {
    loops_.push_back(std::make_unique<SimLoop>(simulation_, clock_, name_ + "/" + name));
    return *loops_.back();
  }

  // As with kill -9: from here on nothing of it has an effect, not even the rest of the task that runs.
  void kill() {
    if (!std::exchange(alive_, false)) return;
    simulation_.note(name_, "killed");
    for (const auto& loop : loops_) loop->die();
    for (const auto& hook : std::exchange(on_kill_, {})) hook();
  }
  bool is_alive() const { return alive_; }
  // Runs inside kill(): takes the state of what outlives the process at this very moment.
  void on_kill(sys::Task hook) { on_kill_.push_back(std::move(hook)); }

  void pause_until(MonoTime when) {
    for (const auto& loop : loops_) loop->stall_until(when);
  }

  const std::string& name() const { return name_; }
  SimClock& clock() { return clock_; }
  Simulation& simulation() { return simulation_; }

 private:
  Simulation& simulation_;
  const std::string name_;
  SimClock clock_;
  bool alive_ = true;
  std::vector<sys::Task> on_kill_;
  std::vector<std::unique_ptr<SimLoop>> loops_;
};

}  // namespace gangway::testing
