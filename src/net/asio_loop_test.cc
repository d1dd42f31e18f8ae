#include "net/asio_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "testing/event_loop_contract.h"

namespace gangway::net {
namespace {

class AsioRig final : public testing::LoopRig {
 public:
  sys::EventLoop& loop() override { return thread_.loop(); }
  void in_loop(const sys::Task& task) override {
    std::promise<void> ran;
    thread_.loop().post([&] {
      task();
      ran.set_value();
    });
    ran.get_future().wait();
  }
  bool go_on_until(const std::function<bool()>& done) override {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (bool is_done = false; std::chrono::steady_clock::now() < deadline; std::this_thread::yield()) {
      in_loop([&] { is_done = done(); });
      if (is_done) return true;
    }
    return false;
  }

 private:
  LoopThread thread_{"loop-test"};
};

TEST(AsioLoop, StopBeforeRunIsKept) {
  AsioLoop loop;
  bool ran = false;
  loop.post([&] { ran = true; });
  loop.stop();
  loop.run();
  EXPECT_FALSE(ran);
}

TEST(AsioLoop, TasksLeftAtTheEndAreDroppedWithWhatTheyOwn) {
  const auto owned = std::make_shared<int>(1);
  {
    AsioLoop loop;
    loop.post([owned] {});
    loop.run_after(std::chrono::hours(1), [owned, &loop] { loop.post([owned] {}); });
    int both[2];
    ASSERT_EQ(::pipe(both), 0);
    const std::shared_ptr<sys::Subscription> watch =
        loop.watch_fd(both[0], sys::EventLoop::FdEvent::kReadable, [owned] {});
    loop.post([watch] {});
    ::close(both[1]);
  }
  EXPECT_EQ(owned.use_count(), 1);
}

TEST(AsioLoop, AFloodOfTasksDoesNotKeepTimersWaiting) {
  LoopThread thread("flood");
  auto& loop = thread.loop();
  std::atomic<bool> timer_ran = false;
  std::atomic<int> floods = 0;
  std::function<void()> flood = [&] {
    ++floods;
    if (!timer_ran) loop.post(flood);
  };
  std::promise<void> done;
  loop.post([&] {
    loop.run_after(std::chrono::milliseconds(1), [&] {
      timer_ran = true;
      loop.post([&] { done.set_value(); });
    });
    flood();
  });
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_GT(floods, 0);
}

}  // namespace
}  // namespace gangway::net

namespace gangway::testing {

INSTANTIATE_TEST_SUITE_P(AsioLoop, EventLoopContract, ::testing::Values([]() -> std::unique_ptr<LoopRig> {
                           return std::make_unique<net::AsioRig>();
                         }));

}  // namespace gangway::testing
