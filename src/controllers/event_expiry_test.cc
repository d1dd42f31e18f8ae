#include "controllers/event_expiry.h"

#include <gtest/gtest.h>

#include "controllers/test_catalog.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kEvents;

struct EventExpiryTest : ::testing::Test {
  Bench bench;
  EventExpiry reconciler;

  void make(const std::string& name) { bench.api.create(kEvents, testing::an_object("v1", "Event", "default", name)); }
  // What an update of the event leaves in it.
  void write(const std::string& name, WallTime when) {
    bench.api.patch(kEvents, {"default", name},
                    testing::parsed(R"({"metadata":{"managedFields":[{"manager":"kubelet","operation":"Update",
                        "time":")" + to_rfc3339(when) +
                                    R"("}]}})"));
    bench.loop.run_until_idle();
  }
  bool is_there(const std::string& name) { return static_cast<bool>(bench.api.get(kEvents, {"default", name})); }
  WallTime now() { return bench.loop.clock().wall(); }
};

TEST_F(EventExpiryTest, AnEventStaysAnHour) {
  make("old");
  bench.start(reconciler);
  bench.loop.advance(30min);
  make("young");
  bench.loop.advance(29min);
  EXPECT_TRUE(is_there("old"));
  bench.loop.advance(2min);
  EXPECT_FALSE(is_there("old"));
  EXPECT_TRUE(is_there("young"));
  bench.loop.advance(30min);
  EXPECT_FALSE(is_there("young"));
}

TEST_F(EventExpiryTest, AWriteGivesItAnotherHour) {
  bench.start(reconciler);
  make("a");
  bench.loop.advance(40min);
  write("a", now());
  bench.loop.advance(59min);
  EXPECT_TRUE(is_there("a"));
  bench.loop.advance(2min);
  EXPECT_FALSE(is_there("a"));
}

TEST_F(EventExpiryTest, TimesToComeCountForNothing) {
  bench.start(reconciler);
  make("a");
  write("a", now() + 1000h);
  bench.loop.advance(61min);
  EXPECT_FALSE(is_there("a"));
}

TEST_F(EventExpiryTest, WhatAgedWhileNobodyLookedGoesAtOnce) {
  make("a");
  make("b");
  bench.loop.advance(50min);
  write("b", now());
  bench.loop.advance(20min);
  bench.start(reconciler);
  EXPECT_FALSE(is_there("a"));
  EXPECT_TRUE(is_there("b"));
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

}  // namespace
}  // namespace gangway::controllers
