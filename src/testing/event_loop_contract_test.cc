#include "testing/event_loop_contract.h"

#include <chrono>
#include <memory>

#include "testing/manual_loop.h"
#include "testing/sim_loop.h"

namespace gangway::testing {
namespace {

class ManualRig final : public LoopRig {
 public:
  sys::EventLoop& loop() override { return loop_; }
  void in_loop(const sys::Task& task) override {
    loop_.post(task);
    loop_.run_until_idle();
  }
  bool go_on_until(const std::function<bool()>& done) override {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline) {
      if (loop_.wait_for(done, std::chrono::milliseconds(5))) return true;
      loop_.advance(std::chrono::milliseconds(1));
    }
    return false;
  }
  bool shows_what_escapes() const override { return true; }

 private:
  ManualLoop loop_;
};

// Turned by dice, with tasks that take their time.
class SimRig final : public LoopRig {
 public:
  explicit SimRig(std::uint64_t seed) : simulation_(seed) {
    simulation_.set_longest_task(std::chrono::microseconds(5));
  }
  sys::EventLoop& loop() override { return loop_; }
  void in_loop(const sys::Task& task) override {
    bool ran = false;
    loop_.post([&] {
      task();
      ran = true;
    });
    ASSERT_TRUE(simulation_.run_until([&] { return ran; }, std::chrono::seconds(1)));
  }
  bool go_on_until(const std::function<bool()>& done) override {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline) {
      if (simulation_.run_until(done, std::chrono::milliseconds(1))) return true;
      loop_.run_ready_watches();
    }
    return false;
  }
  bool shows_what_escapes() const override { return true; }

 private:
  Simulation simulation_;
  SimClock clock_{simulation_};
  SimLoop other_{simulation_, clock_, "other"};
  SimLoop loop_{simulation_, clock_, "tested"};
};

INSTANTIATE_TEST_SUITE_P(SimLoop, EventLoopContract,
                         ::testing::Values([]() -> std::unique_ptr<LoopRig> { return std::make_unique<SimRig>(1); },
                                           []() -> std::unique_ptr<LoopRig> { return std::make_unique<SimRig>(2); }));

INSTANTIATE_TEST_SUITE_P(ManualLoop, EventLoopContract,
                         ::testing::Values([]() -> std::unique_ptr<LoopRig> { return std::make_unique<ManualRig>(); }));

}  // namespace
}  // namespace gangway::testing
