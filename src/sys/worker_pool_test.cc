#include "sys/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>
#include <string>

#include "testing/manual_loop.h"

namespace gangway::sys {
namespace {

TEST(WorkerPool, AnswersOnTheLoopWithWhatTheJobMade) {
  testing::ManualLoop loop;
  WorkerPool pool(loop);
  const auto here = std::this_thread::get_id();
  std::optional<std::string> answer;
  bool elsewhere = false;
  pool.run<std::string>(
      [&]() -> Result<std::string> {
        elsewhere = std::this_thread::get_id() != here;
        return std::string("made");
      },
      [&](Result<std::string> made) {
        EXPECT_EQ(std::this_thread::get_id(), here);
        answer = *made;
      });
  EXPECT_FALSE(answer);
  ASSERT_TRUE(loop.wait_for([&] { return answer.has_value(); }));
  EXPECT_EQ(*answer, "made");
  EXPECT_TRUE(elsewhere);
}

TEST(WorkerPool, OneLongJobDoesNotHoldTheOthersUp) {
  testing::ManualLoop loop;
  WorkerPool pool(loop, 2);
  std::latch release(1);
  int answers = 0;
  pool.run<void>(
      [&]() -> Result<void> {
        release.wait();
        return {};
      },
      [&](Result<void>) { answers += 10; });
  pool.run<void>([]() -> Result<void> { return internal_error("failed"); },
                 [&](Result<void> done) { answers += done ? 100 : 1; });
  ASSERT_TRUE(loop.wait_for([&] { return answers == 1; }));
  release.count_down();
  ASSERT_TRUE(loop.wait_for([&] { return answers == 11; }));
}

TEST(WorkerPool, WaitsForWhatRunsAndAnswersNobodyAtItsEnd) {
  testing::ManualLoop loop;
  std::atomic<bool> finished = false;
  int answers = 0;
  {
    WorkerPool pool(loop, 1);
    std::latch running(1);
    pool.run<void>(
        [&]() -> Result<void> {
          running.count_down();
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          finished = true;
          return {};
        },
        [&](Result<void>) { ++answers; });
    running.wait();
  }
  EXPECT_TRUE(finished);
  loop.run_until_idle();
  EXPECT_EQ(answers, 0);
}

}  // namespace
}  // namespace gangway::sys
