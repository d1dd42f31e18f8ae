// The contract suite of sys::EventLoop. A loop passes it by giving a LoopRig and instantiating the suite:
//
//   INSTANTIATE_TEST_SUITE_P(MyLoop, EventLoopContract, ::testing::Values([] { return std::make_unique<MyRig>(); }));
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sys/event_loop.h"

namespace gangway::testing {

// How a test drives the loop that it tests.
class LoopRig {
 public:
  virtual ~LoopRig() = default;
  virtual sys::EventLoop& loop() = 0;
  // Runs `task` as a task of the loop and waits for it.
  virtual void in_loop(const sys::Task& task) = 0;
  // Lets the loop and its time go on until `done`, asked inside the loop; false when that takes too long.
  virtual bool go_on_until(const std::function<bool()>& done) = 0;
  // A loop that only tests use may hand what escapes a task to the test instead of dropping it.
  virtual bool shows_what_escapes() const { return false; }
};

class EventLoopContract : public ::testing::TestWithParam<std::function<std::unique_ptr<LoopRig>()>> {
 protected:
  std::unique_ptr<LoopRig> rig_ = GetParam()();
  sys::EventLoop& loop_ = rig_->loop();
};

// Two connected descriptors that close themselves.
struct SocketPair {
  int near = -1, far = -1;
  SocketPair() {
    int both[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both) == 0) near = both[0], far = both[1];
  }
  ~SocketPair() { ::close(near), ::close(far); }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;
};

using Names = std::vector<std::string>;

TEST_P(EventLoopContract, TasksOfOneLaneRunInTheOrderPosted) {
  std::vector<int> ran;
  for (int i = 0; i < 1000; ++i) loop_.post([&ran, i] { ran.push_back(i); });
  ASSERT_TRUE(rig_->go_on_until([&] { return ran.size() == 1000; }));
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

TEST_P(EventLoopContract, TheSystemLaneOvertakes) {
  Names ran;
  rig_->in_loop([&] {
    loop_.post([&] { ran.push_back("normal 1"); });
    loop_.post([&] {
      ran.push_back("normal 2");
      loop_.post(sys::Lane::kSystem, [&] { ran.push_back("system 2"); });
    });
    loop_.post([&] { ran.push_back("normal 3"); });
    loop_.post(sys::Lane::kSystem, [&] { ran.push_back("system 1"); });
  });
  ASSERT_TRUE(rig_->go_on_until([&] { return ran.size() == 5; }));
  EXPECT_EQ(ran, (Names{"system 1", "normal 1", "normal 2", "system 2", "normal 3"}));
}

TEST_P(EventLoopContract, PostsOfManyThreadsAllArriveInTheirOrder) {
  std::vector<std::vector<int>> ran(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < ran.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) loop_.post([&ran, t, i] { ran[t].push_back(i); });
    });
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(rig_->go_on_until([&] {
    return std::all_of(ran.begin(), ran.end(), [](const auto& of_thread) { return of_thread.size() == 500; });
  }));
  for (const auto& of_thread : ran) EXPECT_TRUE(std::is_sorted(of_thread.begin(), of_thread.end()));
}

TEST_P(EventLoopContract, WhatEscapesATaskIsDropped) {
  if (rig_->shows_what_escapes()) GTEST_SKIP() << "this loop hands it to the test";
  bool after = false;
  bool timer_after = false;
  rig_->in_loop([&] {
    loop_.run_after(Duration::zero(), [] { std::vector<int>().at(1); });
    loop_.run_after(Duration::zero(), [&] { timer_after = true; });
  });
  loop_.post([] { std::vector<int>().at(1); });
  loop_.post([&] { after = true; });
  EXPECT_TRUE(rig_->go_on_until([&] { return after && timer_after; }));
}

TEST_P(EventLoopContract, TimersRunInTheOrderOfTheirTimes) {
  Names ran;
  MonoTime start;
  std::vector<Duration> late;
  const auto note = [&](std::string name, Duration after) {
    return [&ran, &late, &start, this, name = std::move(name), after] {
      ran.push_back(name);
      late.push_back(loop_.clock().mono() - start - after);
    };
  };
  using std::chrono::milliseconds;
  rig_->in_loop([&] {
    start = loop_.clock().mono();
    loop_.run_at(start + milliseconds(20), note("c", milliseconds(20)));
    loop_.run_at(start + milliseconds(5), note("a", milliseconds(5)));
    loop_.run_at(start + milliseconds(20), note("d", milliseconds(20)));
    loop_.run_at(start + milliseconds(10), note("b", milliseconds(10)));
  });
  ASSERT_TRUE(rig_->go_on_until([&] { return ran.size() == 4; }));
  EXPECT_EQ(ran, (Names{"a", "b", "c", "d"}));
  for (const Duration by : late) EXPECT_GE(by, Duration::zero()) << "a timer ran before its time";
}

TEST_P(EventLoopContract, ACancelledTimerDoesNotRun) {
  Names ran;
  auto own = sys::TimerId::kNone;
  using std::chrono::milliseconds;
  rig_->in_loop([&] {
    const auto never = loop_.run_after(milliseconds(5), [&] { ran.push_back("cancelled"); });
    own = loop_.run_after(milliseconds(10), [&] {
      ran.push_back("kept");
      loop_.cancel(own);
      loop_.cancel(sys::TimerId::kNone);
    });
    loop_.cancel(never);
    loop_.cancel(never);
    loop_.run_after(milliseconds(20), [&] { ran.push_back("last"); });
  });
  ASSERT_TRUE(rig_->go_on_until([&] { return !ran.empty() && ran.back() == "last"; }));
  EXPECT_EQ(ran, (Names{"kept", "last"}));
}

TEST_P(EventLoopContract, AReadableDescriptorIsReportedEachTime) {
  const SocketPair pair;
  std::string got;
  std::unique_ptr<sys::Subscription> watch;
  rig_->in_loop([&] {
    watch = loop_.watch_fd(pair.near, sys::EventLoop::FdEvent::kReadable, [&] {
      char c = 0;
      if (::read(pair.near, &c, 1) == 1) got.push_back(c);
    });
  });
  // One byte is read at a time, so what is left must be reported again.
  ASSERT_EQ(::write(pair.far, "ab", 2), 2);
  ASSERT_TRUE(rig_->go_on_until([&] { return got == "ab"; }));
  ASSERT_EQ(::write(pair.far, "c", 1), 1);
  EXPECT_TRUE(rig_->go_on_until([&] { return got == "abc"; }));
  rig_->in_loop([&] { watch.reset(); });
}

TEST_P(EventLoopContract, AWatchMayEndItselfAndBeginAgain) {
  const SocketPair pair;
  int reports = 0;
  std::unique_ptr<sys::Subscription> watch;
  const sys::Task once = [&] {
    ++reports;
    watch.reset();
  };
  ASSERT_EQ(::write(pair.far, "a", 1), 1);
  rig_->in_loop([&] { watch = loop_.watch_fd(pair.near, sys::EventLoop::FdEvent::kReadable, once); });
  ASSERT_TRUE(rig_->go_on_until([&] { return reports == 1; }));
  bool later = false;
  rig_->in_loop([&] { loop_.run_after(std::chrono::milliseconds(10), [&] { later = true; }); });
  ASSERT_TRUE(rig_->go_on_until([&] { return later; }));
  EXPECT_EQ(reports, 1);
  rig_->in_loop([&] { watch = loop_.watch_fd(pair.near, sys::EventLoop::FdEvent::kReadable, once); });
  EXPECT_TRUE(rig_->go_on_until([&] { return reports == 2; }));
}

TEST_P(EventLoopContract, BothDirectionsOfADescriptorCanBeWatched) {
  const SocketPair pair;
  bool readable = false;
  bool writable = false;
  std::unique_ptr<sys::Subscription> reading;
  std::unique_ptr<sys::Subscription> writing;
  rig_->in_loop([&] {
    reading = loop_.watch_fd(pair.near, sys::EventLoop::FdEvent::kReadable, [&] {
      readable = true;
      reading.reset();
    });
    writing = loop_.watch_fd(pair.near, sys::EventLoop::FdEvent::kWritable, [&] {
      writable = true;
      writing.reset();
    });
  });
  ASSERT_TRUE(rig_->go_on_until([&] { return writable; }));
  rig_->in_loop([&] { EXPECT_FALSE(readable); });
  ASSERT_EQ(::write(pair.far, "a", 1), 1);
  EXPECT_TRUE(rig_->go_on_until([&] { return readable; }));
}

TEST_P(EventLoopContract, AChildsEndIsReportedWithItsStatus) {
  const pid_t exits = ::fork();
  if (exits == 0) ::_exit(7);
  const pid_t killed = ::fork();
  if (killed == 0) {
    for (;;) ::pause();
  }
  std::vector<int> exit_status;
  std::vector<int> kill_status;
  std::unique_ptr<sys::Subscription> first;
  std::unique_ptr<sys::Subscription> second;
  rig_->in_loop([&] {
    first = loop_.on_exit(exits, [&](int status) {
      exit_status.push_back(status);
      first.reset();
    });
    second = loop_.on_exit(killed, [&](int status) { kill_status.push_back(status); });
  });
  ASSERT_TRUE(rig_->go_on_until([&] { return exit_status.size() == 1; }));
  EXPECT_TRUE(WIFEXITED(exit_status[0]));
  EXPECT_EQ(WEXITSTATUS(exit_status[0]), 7);
  rig_->in_loop([&] { EXPECT_TRUE(kill_status.empty()); });
  ::kill(killed, SIGKILL);
  ASSERT_TRUE(rig_->go_on_until([&] { return kill_status.size() == 1; }));
  EXPECT_TRUE(WIFSIGNALED(kill_status[0]));
  EXPECT_EQ(WTERMSIG(kill_status[0]), SIGKILL);
  rig_->in_loop([&] { second.reset(); });
}

}  // namespace gangway::testing
