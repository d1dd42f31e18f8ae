// World: a whole cluster under simulation: server, control plane, users, faults, and the audit of it all.
//
//   chaos: users work, faults happen, parts are killed and started again
//     ──► fair weather: what is dead is started, nothing fails any more ──► rest: the laws are asked
//     ──► a quiet hour: nobody writes anything but heartbeats
//
// One seed is one world. Owned by one thread; nothing in it uses another, or the machine's clock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/audit.h"
#include "sim/hosts.h"
#include "sim/medium.h"
#include "sim/server_life.h"
#include "sim/user.h"
#include "sim/workload.h"

namespace gangway::sim {

struct WorldOptions {
  std::uint64_t seed = 1;
  std::int64_t training_jobs =
      0;                      // above 0: a larger cluster, whose users make that many training jobs, and nothing else
  testing::Trace::Show show;  // null: nobody reads along
};

struct WorldReport {
  std::vector<std::string> broken;  // empty: all laws held
  std::uint64_t hash = 0;
  std::uint64_t steps = 0;
  std::uint64_t writes = 0;
  Duration virtual_time{0};
  std::map<std::string, testing::Faults::Site, std::less<>> sites;
};

class World {
 public:
  explicit World(const WorldOptions& options);
  ~World();

  WorldReport run();

 private:
  std::vector<std::unique_ptr<Law>> laws();
  User& add_user(const std::string& name);
  void add_workloads();
  void add_training(std::int64_t jobs);
  void start_server();
  void start_control();
  void start_simulated();
  void after_step();
  void bury();
  void weather();
  void broken(std::string what) { broken_.push_back(std::move(what)); }
  bool failed() const;
  bool is_complete() const;
  // Both end early when a law is broken.
  bool run_until(const std::function<bool()>& done, Duration at_most);
  void run_for(Duration span);

  void chaos();
  void settle();
  void quiet_hour();
  WorldReport report() const;

  const std::uint64_t most_steps_;
  testing::Simulation simulation_;
  testing::Faults faults_;
  testing::SeededEntropy entropy_;
  Wire wire_;
  Gate gate_;
  RunningPods running_;
  Audit audit_;
  std::unique_ptr<Medium> medium_;
  std::vector<agent::NodeSpec> nodes_;  // all of them; those with agents of their own are in hosts_
  std::vector<agent::NodeSpec> simulated_nodes_;
  std::vector<std::unique_ptr<User>> users_;
  std::vector<std::unique_ptr<Workload>> workloads_;
  std::size_t workloads_left_ = 0;
  unsigned lives_ = 0;
  std::unique_ptr<ServerLife> server_;
  bool server_is_ready_ = false;
  std::unique_ptr<ControlLife> control_;
  std::unique_ptr<SimulatedLife> simulated_;
  std::unique_ptr<Hosts> hosts_;
  std::vector<std::string> broken_;
};

}  // namespace gangway::sim
