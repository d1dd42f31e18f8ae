#include "testing/manual_loop.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <thread>
#include <vector>

namespace gangway::testing {
namespace {

using namespace std::chrono_literals;

TEST(ManualLoopTest, RunsTasksInOrderAndTheSystemLaneFirst) {
  ManualLoop loop;
  std::vector<int> ran;
  loop.post([&] { ran.push_back(1); });
  loop.post([&] { ran.push_back(2); });
  loop.post(sys::Lane::kSystem, [&] { ran.push_back(0); });
  loop.run_until_idle();
  EXPECT_EQ(ran, (std::vector{0, 1, 2}));
}

TEST(ManualLoopTest, TimersRunAtTheirTimeAndNotBefore) {
  ManualLoop loop;
  std::vector<std::pair<int, Duration>> ran;
  auto note = [&](int what) { return [&, what] { ran.emplace_back(what, loop.clock().mono().time_since_epoch()); }; };
  loop.run_after(20ms, note(2));
  loop.run_after(10ms, note(1));
  const auto cancelled = loop.run_after(15ms, note(9));
  loop.run_after(31ms, note(3));
  loop.cancel(cancelled);
  loop.run_until_idle();
  EXPECT_TRUE(ran.empty());
  loop.advance(30ms);
  EXPECT_EQ(ran, (std::vector<std::pair<int, Duration>>{{1, 10ms}, {2, 20ms}}));
  EXPECT_EQ(loop.clock().mono().time_since_epoch(), Duration(30ms));
  loop.advance(1ms);
  EXPECT_EQ(ran.back().first, 3);
}

TEST(ManualLoopTest, WallTimeMovesWithTheLoop) {
  ManualLoop loop;
  const auto before = loop.clock().wall();
  loop.advance(90s);
  EXPECT_EQ(loop.clock().wall() - before, Duration(90s));
}

TEST(ManualLoopTest, WaitsForWhatAnotherThreadPosts) {
  ManualLoop loop;
  bool posted = false;
  std::thread other([&] { loop.post([&] { posted = true; }); });
  EXPECT_TRUE(loop.wait_for([&] { return posted; }));
  other.join();
  EXPECT_FALSE(loop.wait_for([] { return false; }, 1ms));
}

TEST(ManualLoopTest, SeesDescriptorsAndChildren) {
  ManualLoop loop;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  int readable = 0;
  auto watch = loop.watch_fd(ends[0], sys::EventLoop::FdEvent::kReadable, [&] {
    char byte = 0;
    readable += static_cast<int>(::read(ends[0], &byte, 1));
  });
  loop.run_until_idle();
  EXPECT_EQ(readable, 0);
  ASSERT_EQ(::write(ends[1], "ab", 2), 2);
  loop.run_until_idle();
  EXPECT_EQ(readable, 2);
  watch.reset();
  ASSERT_EQ(::write(ends[1], "c", 1), 1);
  loop.run_until_idle();
  EXPECT_EQ(readable, 2);

  const pid_t child = ::fork();
  if (child == 0) ::_exit(7);
  std::optional<int> status;
  auto exit = loop.on_exit(child, [&](int s) { status = s; });
  EXPECT_TRUE(loop.wait_for([&] { return status.has_value(); }));
  EXPECT_EQ(WEXITSTATUS(*status), 7);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace gangway::testing
