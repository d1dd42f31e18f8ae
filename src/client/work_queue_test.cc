#include "client/work_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "testing/manual_loop.h"

namespace gangway::client {
namespace {

using namespace std::chrono_literals;
using Priority = WorkQueue::Priority;

api::ObjectKey key(const std::string& name) {
  return {"pods", {"default", name}};
}

struct WorkQueueTest : ::testing::Test {
  testing::ManualLoop loop;
  int signals = 0;
  WorkQueue queue{loop, {.first_retry = 10ms, .longest_retry = 50ms, .bound = 4}, [this] { ++signals; }};

  std::vector<std::string> drain() {
    std::vector<std::string> names;
    while (auto taken = queue.take()) {
      names.push_back(taken->object.name);
      queue.done(*taken);
    }
    return names;
  }
  using Names = std::vector<std::string>;
};

TEST_F(WorkQueueTest, KeepsTheOrderAndEachKeyOnce) {
  queue.add(key("b"));
  queue.add(key("a"));
  queue.add(key("b"));
  EXPECT_EQ(drain(), (Names{"b", "a"}));
}

TEST_F(WorkQueueTest, UrgentKeysOvertakeAndAKeyMayBecomeUrgent) {
  queue.add(key("a"));
  queue.add(key("b"));
  queue.add(key("c"), Priority::kUrgent);
  queue.add(key("b"), Priority::kUrgent);
  queue.add(key("c"));
  EXPECT_EQ(drain(), (Names{"c", "b", "a"}));
}

TEST_F(WorkQueueTest, AKeyInHandIsNotHandedOutTwice) {
  queue.add(key("a"));
  const auto taken = queue.take();
  queue.add(key("a"));
  queue.add(key("a"));
  EXPECT_FALSE(queue.take());
  queue.done(*taken);
  EXPECT_EQ(drain(), Names{"a"});
}

TEST_F(WorkQueueTest, SignalsOncePerBatchByPost) {
  queue.add(key("a"));
  queue.add(key("b"));
  EXPECT_EQ(signals, 0);
  loop.run_until_idle();
  EXPECT_EQ(signals, 1);
}

TEST_F(WorkQueueTest, TheEarliestDelayCounts) {
  queue.add_after(key("a"), 100ms);
  queue.add_after(key("a"), 20ms);
  queue.add_after(key("a"), 50ms);
  EXPECT_EQ(queue.delayed(), 1u);
  loop.advance(19ms);
  EXPECT_EQ(drain(), Names{});
  loop.advance(1ms);
  EXPECT_EQ(drain(), Names{"a"});
  loop.advance(200ms);
  EXPECT_EQ(drain(), Names{});
}

TEST_F(WorkQueueTest, AnAddEndsADelayAndADelayDoesNotPutOff) {
  queue.add_after(key("a"), 100ms);
  queue.add(key("a"));
  queue.add_after(key("a"), 100ms);
  EXPECT_EQ(queue.delayed(), 0u);
  EXPECT_EQ(drain(), Names{"a"});
}

TEST_F(WorkQueueTest, ADelayAskedForInHandStartsWhenItIsDone) {
  queue.add(key("a"));
  const auto taken = queue.take();
  queue.add_after(key("a"), 30ms);
  queue.done(*taken);
  EXPECT_EQ(drain(), Names{});
  loop.advance(30ms);
  EXPECT_EQ(drain(), Names{"a"});
}

TEST_F(WorkQueueTest, RetriesDoubleUpToTheLongestAndForgetStartsAnew) {
  const std::vector<Duration> want = {10ms, 20ms, 40ms, 50ms, 50ms};
  for (const Duration delay : want) {
    queue.retry(key("a"));
    loop.advance(delay - 1ms);
    EXPECT_EQ(queue.waiting(), 0u) << delay.count();
    loop.advance(1ms);
    EXPECT_EQ(drain(), Names{"a"}) << delay.count();
  }
  EXPECT_EQ(queue.failures(key("a")), 5u);
  queue.forget(key("a"));
  queue.retry(key("a"));
  loop.advance(10ms);
  EXPECT_EQ(drain(), Names{"a"});
}

TEST_F(WorkQueueTest, ARetryWaitsAsLongAsTheServerAsks) {
  queue.retry(key("a"), 2s);
  loop.advance(1999ms);
  EXPECT_EQ(drain(), Names{});
  loop.advance(1ms);
  EXPECT_EQ(drain(), Names{"a"});
}

TEST_F(WorkQueueTest, RefusesBeyondItsBoundAndRemembersIt) {
  for (const char* name : {"a", "b", "c"}) queue.add(key(name));
  queue.add_after(key("d"), 1s);
  EXPECT_FALSE(queue.take_overflow());
  queue.add(key("e"));
  queue.add(key("a"));
  queue.add(key("d"));
  EXPECT_TRUE(queue.take_overflow());
  EXPECT_FALSE(queue.take_overflow());
  EXPECT_EQ(drain(), (Names{"a", "b", "c", "d"}));
}

// Whatever is added, in whatever way, is handed out once its time has come, and only as often as it was added.
RC_GTEST_PROP(WorkQueueProperty, NothingIsLostAndNothingIsInvented, ()) {
  testing::ManualLoop loop;
  WorkQueue queue(loop, {}, [] {});
  std::map<std::string, int> added;
  std::map<std::string, int> seen;
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 5), rc::gen::inRange(0, 6)));
  for (const auto& [what, who] : steps) {
    const std::string name(1, static_cast<char>('a' + who));
    if (what < 4) ++added[name];
    switch (what) {
      case 0:
        queue.add(key(name));
        break;
      case 1:
        queue.add(key(name), Priority::kUrgent);
        break;
      case 2:
        queue.add_after(key(name), std::chrono::milliseconds(10 * who));
        break;
      case 3:
        queue.retry(key(name));
        break;
      default:
        if (auto taken = queue.take()) {
          ++seen[taken->object.name];
          queue.done(*taken);
        }
    }
  }
  loop.advance(1h);
  while (auto taken = queue.take()) {
    ++seen[taken->object.name];
    queue.done(*taken);
  }
  RC_ASSERT(queue.size() == 0u);
  RC_ASSERT(seen.size() == added.size());
  for (const auto& [name, times] : seen) RC_ASSERT(times <= added[name]);
}

}  // namespace
}  // namespace gangway::client
