// FlowControl between threads: what one loop asks for, another loop's request may make possible. Worth a run under
// TSan.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "apiserver/auth/flow_control.h"
#include "testing/manual_loop.h"

namespace gangway::apiserver {
namespace {

constexpr std::size_t kLoops = 4;
constexpr int kRequests = 1500;  // of one loop
constexpr std::size_t kSeats = 3;

// What all loops together have seen of one lane.
struct Seen {
  std::atomic<std::size_t> running = 0;
  std::atomic<std::size_t> most = 0;
};

class Requests {
 public:
  // Turns the loop number `own` and asks, some requests ahead of the answers.
  void run(std::size_t own) {
    auto& loop = loops_[own];
    for (int i = 0; i < kRequests; ++i) {
      ask(own, i);
      if (i % 16 == 0) loop.run_until_idle();
    }
    EXPECT_TRUE(loop.wait_for([this] { return answered_ == kLoops * kRequests && released_ == admitted_; }));
  }

  void expect_all_is_over() {
    EXPECT_EQ(answered_, kLoops * kRequests);
    EXPECT_EQ(refused_ + admitted_, answered_);
    EXPECT_GT(admitted_, kLoops * kSeats) << "seats were passed on";
    EXPECT_GT(refused_, 0u) << "the queues were full at times";
    for (auto lane : {FlowLane::kSystem, FlowLane::kWorkload}) {
      EXPECT_LE(seen(lane).most, kSeats);
      EXPECT_EQ(flow_.status(lane).running, 0u);
      EXPECT_EQ(flow_.status(lane).queued, 0u);
    }
  }

 private:
  Seen& seen(FlowLane lane) { return lane == FlowLane::kSystem ? system_ : workload_; }

  // A flood that all loops share, a user of each loop, and the system's own.
  static Attributes attributes(std::size_t own, int i) {
    Attributes a;
    a.is_resource = true;
    a.user.name = i % 8 == 0 ? "system:kube-scheduler" : i % 8 == 1 ? "user-" + std::to_string(own) : "mallory";
    return a;
  }

  void ask(std::size_t own, int i) {
    auto who = attributes(own, i);
    auto lane = lane_of(who);
    auto thread = std::this_thread::get_id();
    flow_.admit(who, loops_[own], [this, own, i, lane, thread](FlowControl::Admission admission) {
      EXPECT_EQ(std::this_thread::get_id(), thread) << "answers come on the loop that asked";
      if (admission) {
        ++admitted_;
        hold(lane, loops_[(own + static_cast<std::size_t>(i)) % kLoops], std::move(*admission));
      } else {
        EXPECT_EQ(admission.error().reason, Reason::kTooManyRequests);
        ++refused_;
      }
      ++answered_;
    });
  }

  // Lets go on any loop, the own one or another.
  void hold(FlowLane lane, sys::EventLoop& until, std::shared_ptr<FlowControl::Slot> slot) {
    auto running = ++seen(lane).running;
    auto most = seen(lane).most.load();
    while (running > most && !seen(lane).most.compare_exchange_weak(most, running)) {
    }
    until.post([this, lane, slot = std::move(slot)]() mutable {
      --seen(lane).running;
      slot.reset();
      ++released_;
    });
  }

  FlowControl flow_{{.seats = kSeats, .queued = 20, .queued_per_user = 20},
                    {.seats = kSeats, .queued = 40, .queued_per_user = 30}};
  Seen system_;
  Seen workload_;
  std::atomic<std::size_t> answered_ = 0;
  std::atomic<std::size_t> admitted_ = 0;
  std::atomic<std::size_t> refused_ = 0;
  std::atomic<std::size_t> released_ = 0;
  testing::ManualLoop loops_[kLoops];
};

TEST(FlowThreads, EveryRequestIsAnsweredOnceOnItsOwnLoop) {
  Requests requests;
  std::vector<std::thread> threads;
  for (std::size_t own = 0; own < kLoops; ++own) threads.emplace_back([&requests, own] { requests.run(own); });
  for (auto& thread : threads) thread.join();
  requests.expect_all_is_over();
}

// A connection may end, and with it what waits on its loop, while its seat is still taken elsewhere.
TEST(FlowThreads, SeatsMayBeGivenBackAfterTheEndOfFlowControl) {
  testing::ManualLoop loop;
  std::shared_ptr<FlowControl::Slot> held;
  bool ran = false;
  {
    FlowControl flow({.seats = 1, .queued = 4, .queued_per_user = 4}, {.seats = 1, .queued = 4, .queued_per_user = 4});
    Attributes alice;
    alice.user.name = "alice";
    alice.is_resource = true;
    flow.admit(alice, loop, [&](FlowControl::Admission admission) { held = *admission; });
    flow.admit(alice, loop, [&](const FlowControl::Admission& admission) { ran = admission.has_value(); });
  }
  std::thread([&held] { held.reset(); }).join();
  loop.run_until_idle();
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace gangway::apiserver
