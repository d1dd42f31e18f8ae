// The wires of a simulated cluster: how long a message takes, and which messages never come.
//
// A message that is on its way belongs to nobody: it outlives who sent it, and finds out when it arrives whether its
// receiver still lives. Owned by the simulation's thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "testing/faults.h"

namespace gangway::sim {

class Wire {
 public:
  Wire(testing::Simulation& simulation, testing::Faults& faults)
      : simulation_(simulation), faults_(faults), clock_(simulation), loop_(simulation, clock_, "wire") {
    // Some seeds have a quick network, some a slow one.
    const std::vector<Duration> usual = {std::chrono::microseconds(50), std::chrono::microseconds(500),
                                         std::chrono::milliseconds(5)};
    usual_ = simulation.random().pick(usual);
  }

  // How long the next message takes.
  Duration way() {
    auto& random = simulation_.random();
    if (faults_.happens("wire.slow", 100'000)) return random.up_to(std::chrono::seconds(3));
    // Longer than callers wait: what they gave up lands all the same.
    if (faults_.happens("wire.very_slow", 20'000)) return random.up_to(std::chrono::seconds(90));
    return random.up_to(usual_);
  }
  // Arrives after that time, in nobody's process.
  void carry(Duration way, sys::Task arrive) { loop_.run_after(way, std::move(arrive)); }

  // Nothing goes to or from that user's process until then.
  void cut(const std::string& user, MonoTime until) { cuts_[user] = until; }
  bool is_cut(const std::string& user) const {
    const auto at = cuts_.find(user);
    return at != cuts_.end() && at->second > simulation_.now();
  }
  void mend_all() { cuts_.clear(); }

  // Hears of requests that the server could make nothing of: whoever sent them is wrong, whatever the weather.
  void on_nonsense(std::function<void(std::string)> hear) { on_nonsense_ = std::move(hear); }
  void report_nonsense(std::string what) {
    if (on_nonsense_) on_nonsense_(std::move(what));
  }

  testing::Simulation& simulation() { return simulation_; }
  testing::Faults& faults() { return faults_; }
  testing::SimLoop& loop() { return loop_; }

 private:
  testing::Simulation& simulation_;
  testing::Faults& faults_;
  testing::SimClock clock_;
  testing::SimLoop loop_;
  Duration usual_{0};
  std::map<std::string, MonoTime> cuts_;
  std::function<void(std::string)> on_nonsense_;
};

}  // namespace gangway::sim
