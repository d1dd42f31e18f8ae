#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "apiserver/auth/flow_control.h"
#include "testing/manual_loop.h"

namespace gangway::apiserver {
namespace {

using Verdict = FlowQueue::Verdict;

Attributes by(std::string user, std::vector<std::string> groups = {}) {
  Attributes a;
  a.user = {.name = std::move(user), .uid = {}, .groups = std::move(groups), .extra = {}};
  a.verb = "get";
  a.is_resource = true;
  a.resource = "pods";
  return a;
}

TEST(FlowLaneTest, GoesByWhoAsks) {
  EXPECT_EQ(lane_of(by("system:node:n0", {"system:nodes"})), FlowLane::kSystem);
  EXPECT_EQ(lane_of(by("admin", {"system:masters"})), FlowLane::kSystem);
  EXPECT_EQ(lane_of(by("system:kube-scheduler")), FlowLane::kSystem);
  EXPECT_EQ(lane_of(by("system:gangway:control")), FlowLane::kSystem);
  EXPECT_EQ(lane_of(by("system:serviceaccount:kube-system:gc", {"system:serviceaccounts:kube-system"})),
            FlowLane::kSystem);
  EXPECT_EQ(lane_of(by("system:serviceaccount:default:x", {"system:serviceaccounts:default"})), FlowLane::kWorkload);
  EXPECT_EQ(lane_of(by("system:anonymous", {"system:unauthenticated"})), FlowLane::kWorkload);
  EXPECT_EQ(lane_of(by("system:node:n0")), FlowLane::kWorkload) << "the name alone makes no node";
  auto lease = by("alice");
  lease.group = "coordination.k8s.io";
  lease.resource = "leases";
  lease.verb = "update";
  EXPECT_EQ(lane_of(lease), FlowLane::kWorkload);
  Attributes health;
  health.path = "/readyz";
  EXPECT_EQ(lane_of(health), FlowLane::kExempt);
}

TEST(FlowQueueTest, UsersCannotTakeTheSystemsSeats) {
  FlowQueue queue({.seats = 2, .queued = 2, .queued_per_user = 2}, {.seats = 2, .queued = 4, .queued_per_user = 4});
  FlowQueue::Request id = 0;
  int rejected = 0;
  for (int i = 0; i < 1000; ++i) {
    rejected += queue.admit(FlowLane::kWorkload, "mallory", ++id).verdict == Verdict::kRejected ? 1 : 0;
  }
  EXPECT_EQ(rejected, 1000 - 2 - 4);
  EXPECT_EQ(queue.admit(FlowLane::kSystem, "system:node:n0", ++id).verdict, Verdict::kNow);
  EXPECT_EQ(queue.admit(FlowLane::kSystem, "system:node:n1", ++id).verdict, Verdict::kNow);
  EXPECT_EQ(queue.admit(FlowLane::kExempt, "probe", ++id).verdict, Verdict::kNow);
}

TEST(FlowQueueTest, UsersTakeTurns) {
  FlowQueue queue({}, {.seats = 1, .queued = 100, .queued_per_user = 50});
  ASSERT_EQ(queue.admit(FlowLane::kWorkload, "mallory", 1).verdict, Verdict::kNow);
  for (FlowQueue::Request id = 2; id <= 40; ++id) {
    ASSERT_EQ(queue.admit(FlowLane::kWorkload, "mallory", id).verdict, Verdict::kQueued);
  }
  ASSERT_EQ(queue.admit(FlowLane::kWorkload, "alice", 100).verdict, Verdict::kQueued);
  ASSERT_EQ(queue.admit(FlowLane::kWorkload, "alice", 101).verdict, Verdict::kQueued);
  ASSERT_EQ(queue.admit(FlowLane::kWorkload, "bob", 200).verdict, Verdict::kQueued);
  const FlowQueue::Request want[] = {2, 100, 200, 3, 101, 4, 5, 6};
  for (auto id : want) EXPECT_EQ(queue.release(FlowLane::kWorkload), id);
}

TEST(FlowQueueTest, AFullQueueStillTakesWhoDoesNotWaitYet) {
  FlowQueue queue({}, {.seats = 1, .queued = 3, .queued_per_user = 3});
  FlowQueue::Request id = 0;
  for (int i = 0; i < 4; ++i) ASSERT_NE(queue.admit(FlowLane::kWorkload, "mallory", ++id).verdict, Verdict::kRejected);
  EXPECT_EQ(queue.admit(FlowLane::kWorkload, "mallory", 5).verdict, Verdict::kRejected);
  auto answer = queue.admit(FlowLane::kWorkload, "alice", 6);
  EXPECT_EQ(answer.verdict, Verdict::kQueued);
  EXPECT_EQ(answer.displaced, 4U) << "the newest of the one who waits with the most";
  EXPECT_EQ(queue.admit(FlowLane::kWorkload, "alice", 7).verdict, Verdict::kRejected);
  EXPECT_EQ(queue.queued(FlowLane::kWorkload), 3U);
}

// However a flood and others interleave: seats are never exceeded, every request is answered once, and nobody who waits
// is passed over by one user twice.
RC_GTEST_PROP(FlowQueueTest, NobodyStarves, ()) {
  const FlowQueue::Limits limits{.seats = 2, .queued = 20, .queued_per_user = 10};
  FlowQueue queue({}, limits);
  std::map<FlowQueue::Request, std::string> waiting;
  std::map<FlowQueue::Request, std::map<std::string, int>> passed;
  FlowQueue::Request last = 0;
  auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 8));
  for (int step : steps) {
    if (step < 5) {
      std::string user = step < 3 ? "mallory" : step == 3 ? "alice" : "bob";
      auto answer = queue.admit(FlowLane::kWorkload, user, ++last);
      if (answer.displaced) RC_ASSERT(waiting.erase(*answer.displaced) == 1U);
      if (answer.verdict == Verdict::kQueued) waiting[last] = user;
    } else if (queue.running(FlowLane::kWorkload) > 0) {
      auto started = queue.release(FlowLane::kWorkload);
      RC_ASSERT(started.has_value() == !waiting.empty());
      if (!started) continue;
      auto user = waiting.at(*started);
      waiting.erase(*started);
      std::set<std::string> seen;
      for (const auto& [request, owner] : waiting) {
        // Only a user's oldest waiting request counts: the others wait for their own.
        if (owner == user || !seen.insert(owner).second) continue;
        RC_ASSERT(++passed[request][user] <= 1);
      }
    }
    RC_ASSERT(queue.running(FlowLane::kWorkload) <= limits.seats);
    RC_ASSERT(queue.queued(FlowLane::kWorkload) == waiting.size());
  }
}

TEST(FlowControlTest, SlotsPassFromRequestToRequest) {
  testing::ManualLoop loop;
  FlowControl flow({.seats = 1, .queued = 1, .queued_per_user = 1}, {.seats = 1, .queued = 1, .queued_per_user = 1});
  std::shared_ptr<FlowControl::Slot> first;
  std::shared_ptr<FlowControl::Slot> second;
  int refused = 0;
  auto keep = [](std::shared_ptr<FlowControl::Slot>& slot) {
    return [&slot](FlowControl::Admission admission) {
      ASSERT_TRUE(admission);
      slot = *admission;
    };
  };
  flow.admit(by("alice"), loop, keep(first));
  ASSERT_NE(first, nullptr);
  flow.admit(by("alice"), loop, keep(second));
  EXPECT_EQ(second, nullptr);
  flow.admit(by("alice"), loop, [&](FlowControl::Admission admission) {
    ASSERT_FALSE(admission);
    EXPECT_EQ(admission.error().reason, Reason::kTooManyRequests);
    EXPECT_EQ(admission.error().retry_after_seconds, 1);
    ++refused;
  });
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(flow.status(FlowLane::kWorkload).queued, 1U);

  first.reset();
  EXPECT_EQ(second, nullptr) << "answers come by post";
  loop.run_until_idle();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(flow.status(FlowLane::kWorkload).running, 1U);
  second.reset();
  EXPECT_EQ(flow.status(FlowLane::kWorkload).running, 0U);
}

TEST(FlowControlTest, WhoIsDisplacedIsTold) {
  testing::ManualLoop loop;
  FlowControl flow({}, {.seats = 1, .queued = 2, .queued_per_user = 2});
  std::shared_ptr<FlowControl::Slot> held;
  std::vector<std::string> events;
  flow.admit(by("mallory"), loop, [&](FlowControl::Admission admission) { held = *admission; });
  for (const char* name : {"m1", "m2"}) {
    flow.admit(by("mallory"), loop, [&, name](const FlowControl::Admission& admission) {
      events.push_back(std::string(name) + (admission ? " runs" : " refused"));
    });
  }
  flow.admit(by("alice"), loop, [&](const FlowControl::Admission& admission) {
    events.push_back(admission ? "alice runs" : "alice refused");
  });
  loop.run_until_idle();
  EXPECT_EQ(events, std::vector<std::string>{"m2 refused"});
  held.reset();
  loop.run_until_idle();
  EXPECT_EQ(events, (std::vector<std::string>{"m2 refused", "m1 runs", "alice runs"}));
}

}  // namespace
}  // namespace gangway::apiserver
