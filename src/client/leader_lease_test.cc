#include "client/leader_lease.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "client/resource.h"
#include "testing/builders.h"
#include "testing/fake_api.h"
#include "testing/manual_loop.h"

namespace gangway::client {
namespace {

using namespace std::chrono_literals;
using resources::kLeases;

struct LeaderLeaseTest : ::testing::Test {
  testing::ManualLoop loop;
  testing::FakeApi api{loop};
  std::vector<std::string> told;

  std::unique_ptr<LeaderLease> candidate(const std::string& name) {
    LeaderLeaseOptions options;
    options.lease = {"kube-system", "leader"};
    options.identity = name;
    return std::make_unique<LeaderLease>(
        api, loop, options, [this, name] { told.push_back("+" + name); }, [this, name] { told.push_back("-" + name); });
  }
  std::string holder() {
    return std::string(json::string_at(api.tree(kLeases, {"kube-system", "leader"}), {"spec", "holderIdentity"}));
  }
  using Told = std::vector<std::string>;
};

TEST_F(LeaderLeaseTest, TheFirstLeadsAndRenewsTheSecondWaits) {
  auto a = candidate("a");
  auto b = candidate("b");
  a->start();
  loop.run_until_idle();
  b->start();
  loop.advance(10min);
  EXPECT_TRUE(a->is_leading());
  EXPECT_FALSE(b->is_leading());
  EXPECT_EQ(b->holder(), "a");
  EXPECT_EQ(told, Told{"+a"});
}

TEST_F(LeaderLeaseTest, AReleasedLeaseIsTakenAtTheNextAttempt) {
  auto a = candidate("a");
  auto b = candidate("b");
  a->start();
  loop.run_until_idle();
  b->start();
  loop.advance(5s);
  a->release();
  loop.advance(3s);
  EXPECT_TRUE(b->is_leading());
  EXPECT_EQ(told, (Told{"+a", "-a", "+b"}));
  const json::Value lease = api.tree(kLeases, {"kube-system", "leader"});
  EXPECT_EQ(*json::find(lease, {"spec", "leaseTransitions"}), json::Value(1));
}

TEST_F(LeaderLeaseTest, ADeadLeaderIsReplacedAfterItsLeaseAndNotBefore) {
  auto a = candidate("a");
  auto b = candidate("b");
  a->start();
  loop.run_until_idle();
  b->start();
  loop.advance(1s);
  a.reset();
  loop.advance(13s);
  EXPECT_FALSE(b->is_leading());
  loop.advance(5s);
  EXPECT_TRUE(b->is_leading());
}

TEST_F(LeaderLeaseTest, StopsLeadingBeforeAnotherCouldBegin) {
  auto a = candidate("a");
  a->start();
  loop.advance(3s);
  api.inject(
      {.when = nullptr, .error = testing::an_error(Reason::kServiceUnavailable), .after_commit = false, .times = 1000});
  // It was renewed 2 s after the start, so it counts until 12 s after it.
  loop.advance(8999ms);
  EXPECT_TRUE(a->is_leading());
  loop.advance(1ms);
  EXPECT_FALSE(a->is_leading());
  EXPECT_EQ(told, (Told{"+a", "-a"}));
}

TEST_F(LeaderLeaseTest, LosesWhenAnotherTookIt) {
  auto a = candidate("a");
  a->start();
  loop.advance(1s);
  api.patch(kLeases, {"kube-system", "leader"}, testing::parsed(R"({"spec":{"holderIdentity":"thief"}})"));
  loop.advance(2s);
  EXPECT_FALSE(a->is_leading());
  EXPECT_EQ(holder(), "thief");
}

TEST_F(LeaderLeaseTest, EveryTermHasAGreaterNumber) {
  auto a = candidate("a");
  a->start();
  loop.run_until_idle();
  EXPECT_EQ(a->epoch(), 1);
  EXPECT_FALSE(a->has_taken_over()) << "there was nobody before";
  const api::Revision began = a->term_began();
  EXPECT_EQ(began, api.get(kLeases, {"kube-system", "leader"}).header->revision);
  loop.advance(1min);
  EXPECT_EQ(a->epoch(), 1) << "renewals begin no term";
  EXPECT_EQ(a->term_began(), began);
  a->release();
  loop.run_until_idle();
  auto b = candidate("b");
  b->start();
  loop.run_until_idle();
  EXPECT_EQ(b->epoch(), 2);
  EXPECT_FALSE(b->has_taken_over()) << "it was handed over";
  b.reset();
  auto again = candidate("b");
  again->start();
  loop.run_until_idle();
  EXPECT_EQ(again->epoch(), 3) << "another process of that name is another leader";
  EXPECT_TRUE(again->has_taken_over());
  again.reset();
  auto c = candidate("c");
  c->start();
  loop.advance(30s);
  EXPECT_EQ(c->epoch(), 4);
  EXPECT_TRUE(c->has_taken_over());
}

TEST_F(LeaderLeaseTest, WhoIsAloneTakesTheLeaseAtOnceAndWritesItOnce) {
  auto a = candidate("a");
  a->start();
  loop.run_until_idle();
  a.reset();
  LeaderLeaseOptions options{.lease = {"kube-system", "leader"}, .identity = "alone", .is_sole = true};
  LeaderLease alone(api, loop, options, [this] { told.push_back("+alone"); }, [this] { told.push_back("-alone"); });
  alone.start();
  loop.run_until_idle();
  EXPECT_TRUE(alone.is_leading());
  EXPECT_EQ(alone.epoch(), 2);
  EXPECT_FALSE(alone.has_taken_over()) << "whoever held it is gone with the store";
  api.forget_calls();
  loop.advance(1h);
  EXPECT_TRUE(alone.is_leading());
  EXPECT_TRUE(api.writes().empty());
}

TEST_F(LeaderLeaseTest, OneThatSeizesTheLeaseTakesItOnceAndExpectsWritesOfTheOther) {
  auto a = candidate("a");
  a->start();
  loop.run_until_idle();
  LeaderLeaseOptions options{.lease = {"kube-system", "leader"}, .identity = "b", .seizes = true};
  LeaderLease b(api, loop, options, [this] { told.push_back("+b"); }, [this] { told.push_back("-b"); });
  b.start();
  loop.run_until_idle();
  EXPECT_TRUE(b.is_leading());
  EXPECT_TRUE(b.has_taken_over());
  loop.advance(3s);
  EXPECT_FALSE(a->is_leading());
  api.patch(kLeases, {"kube-system", "leader"}, testing::parsed(R"({"spec":{"holderIdentity":"c"}})"));
  loop.advance(5s);
  EXPECT_FALSE(b.is_leading());
  EXPECT_EQ(holder(), "c") << "after its first term it waits as all others do";
}

TEST_F(LeaderLeaseTest, ReleaseSaysWhenItIsWritten) {
  api.set_answer_lag(1s);
  auto a = candidate("a");
  bool done = false;
  a->release([&] { done = true; });
  loop.run_until_idle();
  EXPECT_TRUE(done) << "nothing was held";
  done = false;
  a->start();
  loop.advance(4s);
  ASSERT_TRUE(a->is_leading());
  a->release([&] { done = true; });
  EXPECT_FALSE(a->is_leading());
  loop.advance(500ms);
  EXPECT_FALSE(done);
  loop.advance(1s);
  EXPECT_TRUE(done);
  EXPECT_EQ(holder(), "");
}

TEST_F(LeaderLeaseTest, AnAbandonedLeaseIsLeftToItsEnd) {
  auto a = candidate("a");
  a->start();
  loop.run_until_idle();
  a->abandon();
  loop.advance(1min);
  EXPECT_FALSE(a->is_leading());
  EXPECT_EQ(holder(), "a");
  EXPECT_EQ(told, (Told{"+a", "-a"}));
}

TEST_F(LeaderLeaseTest, TellsWhyItCannotLead) {
  std::vector<std::string> troubles;
  LeaderLeaseOptions options{.lease = {"kube-system", "leader"}, .identity = "a"};
  options.on_trouble = [&](const Error& error) { troubles.push_back(std::string(to_string(error.reason))); };
  api.inject({.when = nullptr, .error = testing::an_error(Reason::kForbidden), .after_commit = false, .times = 1});
  LeaderLease a(api, loop, options, [] {}, [] {});
  a.start();
  loop.advance(10s);
  EXPECT_EQ(troubles, std::vector<std::string>{"Forbidden"});
  EXPECT_TRUE(a.is_leading());
}

TEST_F(LeaderLeaseTest, TwoThatStartTogetherDoNotBothLead) {
  auto a = candidate("a");
  auto b = candidate("b");
  a->start();
  b->start();
  loop.advance(1min);
  EXPECT_NE(a->is_leading(), b->is_leading());
}

}  // namespace
}  // namespace gangway::client
