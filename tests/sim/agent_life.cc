#include "sim/agent_life.h"

#include <fmt/format.h>

#include "base/check.h"

namespace gangway::sim {
namespace {

// Whatever runs in the pods of a simulation is well.
class AllIsWell final : public sys::Fetch {
 public:
  explicit AllIsWell(sys::EventLoop& loop) : loop_(loop) {}
  void fetch(sys::FetchRequest, sys::Completion<sys::FetchAnswer> done) override {
    loop_.post([done = std::move(done)] { done(sys::FetchAnswer{.status = 200, .location = {}, .body = {}}); });
  }
  void connect(std::string, std::uint16_t, Duration, sys::Completion<void> done) override {
    loop_.post([done = std::move(done)] { done({}); });
  }

 private:
  sys::EventLoop& loop_;
};

}  // namespace

std::string node_user(const std::string& node) {
  return "system:node:" + node;
}

AgentLife::AgentLife(Wire& wire, Gate& gate, Machine& machine, unsigned number, agent::NodeSpec spec)
    : process_(wire.simulation(), fmt::format("agent-{}-{}", spec.name, number)), loop_(process_.add_loop("agent")) {
  loop_.post([this, &wire, &gate, &machine, spec = std::move(spec)] { begin(wire, gate, machine, spec); });
}

AgentLife::~AgentLife() = default;

void AgentLife::begin(Wire& wire, Gate& gate, Machine& machine, const agent::NodeSpec& spec) {
  client_ = std::make_unique<SimClient>(
      wire, gate, process_, loop_,
      apiserver::UserInfo{node_user(spec.name), "", {"system:nodes", "system:authenticated"}, {}});
  fetch_ = std::make_unique<AllIsWell>(loop_);
  runtime_ = machine.runtime(process_, loop_);
  agent_ = std::make_unique<agent::NodeAgent>(agent::NodeAgentParts{.loop = loop_,
                                                                    .runtime = *runtime_,
                                                                    .records = machine.records(process_),
                                                                    .fetch = *fetch_,
                                                                    .nodes = {{spec, client_.get()}}});
  GW_CHECK(agent_->start().has_value());
}

}  // namespace gangway::sim
