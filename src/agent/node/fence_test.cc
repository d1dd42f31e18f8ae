#include "agent/node/fence.h"

#include <gtest/gtest.h>

namespace gangway::agent {
namespace {

using namespace std::chrono_literals;

MonoTime at(Duration time) {
  return MonoTime(time);
}

TEST(Fence, ComesFiveMinutesAfterTheLastRenewal) {
  const MonoTime contact = last_contact(at(0s), at(100s), LocalServer::kNone, at(110s));
  EXPECT_EQ(contact, at(100s));
  EXPECT_FALSE(is_fenced(contact, at(399s)));
  EXPECT_TRUE(is_fenced(contact, at(400s)));
}

TEST(Fence, AServerThatRunsHereAndDoesNotAnswerIsNoContact) {
  EXPECT_EQ(last_contact(at(0s), at(100s), LocalServer::kRunning, at(200s)), at(100s));
}

TEST(Fence, WhileNoServerRunsNobodyCanGiveAnythingAway) {
  MonoTime contact = at(0s);
  for (auto now = 0s; now <= 1h; now += 10s) contact = last_contact(contact, at(0s), LocalServer::kStopped, at(now));
  EXPECT_FALSE(is_fenced(contact, at(1h)));
  // It is back, and does not answer: time counts from when it was last seen not to run.
  contact = last_contact(contact, at(0s), LocalServer::kRunning, at(1h + 10s));
  EXPECT_FALSE(is_fenced(contact, at(1h + 299s)));
  EXPECT_TRUE(is_fenced(contact, at(1h + 300s)));
}

}  // namespace
}  // namespace gangway::agent
