// The contract of every Runtime, run against each: without processes, and with real containers where they can run.
#include "agent/runtime_contract.h"

#include <gtest/gtest.h>

#include "agent/oci/test_node.h"
#include "agent/simulated/simulated_runtime.h"
#include "testing/manual_loop.h"

namespace gangway::agent {
namespace {

using namespace std::chrono_literals;

class SimulatedBench final : public RuntimeBench {
 public:
  SimulatedBench() : runtime_(std::make_unique<SimulatedRuntime>(loop_)) {}

  Runtime& runtime() override { return *runtime_; }
  ContainerSpec lasting(const ContainerId& id) override {
    ContainerSpec spec;
    spec.id = id;
    spec.pod.uid = id.pod_uid;
    return spec;
  }
  ContainerSpec ending(const ContainerId& id, int code) override {
    ContainerSpec spec = lasting(id);
    spec.annotations = {{"gangway.dev/simulated-duration", "2s"},
                        {"gangway.dev/simulated-exit-code", std::to_string(code)}};
    return spec;
  }
  bool turn_until(const std::function<bool()>& done) override {
    for (int i = 0; i < 100 && !done(); ++i) loop_.advance(100ms);
    return done();
  }
  // What the next one knows comes from pods' statuses, which have what was started and nothing more.
  void restart(const std::vector<ContainerSpec>& running) override {
    const WallTime now = loop_.clock().wall();
    runtime_ = std::make_unique<SimulatedRuntime>(loop_);
    for (const ContainerSpec& spec : running) {
      runtime_->adopt_sandbox(spec.id.pod_uid, {"100.64.0.1"});
      runtime_->adopt_container(spec, now);
    }
  }

  testing::ManualLoop loop_;

 private:
  std::unique_ptr<SimulatedRuntime> runtime_;
};

class OciBench final : public RuntimeBench {
 public:
  // The contract recovers by itself, with its own sink.
  OciBench() { node_.make_runtime(); }
  Runtime& runtime() override { return node_.runtime(); }
  ContainerSpec lasting(const ContainerId& id) override { return shell(id, "exec sleep 1000"); }
  ContainerSpec ending(const ContainerId& id, int code) override {
    return shell(id, "sleep 0.05; exit " + std::to_string(code));
  }
  bool turn_until(const std::function<bool()>& done) override { return node_.loop().wait_for(done); }
  void restart(const std::vector<ContainerSpec>&) override {
    node_.stop();
    node_.make_runtime();
  }

 private:
  static ContainerSpec shell(const ContainerId& id, const std::string& script) {
    return oci::TestNode::shell(id.pod_uid, script, id.container, id.attempt);
  }
  oci::TestNode node_;
};

std::vector<MakeRuntimeBench> benches() {
  std::vector<MakeRuntimeBench> all{[] { return std::make_unique<SimulatedBench>(); }};
  if (oci::TestNode::lacks().empty()) all.emplace_back([] { return std::make_unique<OciBench>(); });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Runtimes, RuntimeContract, ::testing::ValuesIn(benches()),
                         [](const auto& instance) { return std::string(instance.index == 0 ? "Simulated" : "Oci"); });

}  // namespace
}  // namespace gangway::agent
