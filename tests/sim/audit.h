// Audit: reads everything that a server publishes, tells the laws, and knows when the cluster was last busy.
//
// It stands outside of the simulated cluster: no fault touches it. Owned by the simulation's thread; called between
// steps.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/laws.h"
#include "testing/sim_loop.h"

namespace gangway::sim {

class Audit {
 public:
  Audit(testing::Simulation& simulation, std::vector<std::unique_ptr<Law>> laws);

  // A server has opened this store; it may have been killed before.
  void begin(const store::Store& store);
  // After each step.
  void observe();
  // At the very moment of the kill.
  void killed();
  // Nothing more will happen.
  void at_rest();

  const Verdicts& verdicts() const { return verdicts_; }
  // When something was last written that was not a heartbeat or the end of an old event.
  MonoTime last_busy() const { return last_busy_; }
  // What it was, for a report.
  const std::string& last_write() const { return last_write_; }
  // When it was last written down that a gang was preempted: for an hour that counts.
  std::optional<MonoTime> last_preemption() const { return last_preemption_; }
  std::uint64_t writes() const { return writes_; }

 private:
  void follow_new_resources(const store::Root& root);
  void tell(const api::ResourceName& resource, const store::Change& change, const store::Root& root);

  testing::Simulation& simulation_;
  std::vector<std::unique_ptr<Law>> laws_;
  const store::Store* store_ = nullptr;
  std::map<api::ResourceName, std::unique_ptr<store::Cursor>> cursors_;
  api::Revision seen_ = 0;
  std::shared_ptr<const store::Root> before_;  // at the last kill
  std::shared_ptr<const store::Root> head_;
  Verdicts verdicts_;
  MonoTime last_busy_;
  std::string last_write_;
  std::optional<MonoTime> last_preemption_;
  std::uint64_t writes_ = 0;
};

// Whether the change only says that a node lives: a lease, or a node in which nothing but heartbeats is new.
bool is_heartbeat(const api::ResourceName& resource, const store::Change& change);

}  // namespace gangway::sim
