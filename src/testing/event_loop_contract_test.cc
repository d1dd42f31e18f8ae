#include "testing/event_loop_contract.h"

#include <chrono>
#include <memory>

#include "testing/manual_loop.h"

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

INSTANTIATE_TEST_SUITE_P(ManualLoop, EventLoopContract,
                         ::testing::Values([]() -> std::unique_ptr<LoopRig> { return std::make_unique<ManualRig>(); }));

}  // namespace
}  // namespace gangway::testing
