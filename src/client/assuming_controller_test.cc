// A reconciler that assumes its own effects: objects are held, its key is not.
#include <gtest/gtest.h>

#include <string>

#include "client/resource.h"
#include "testing/builders.h"
#include "testing/controller_bench.h"

namespace gangway::client {
namespace {

using namespace std::chrono_literals;
using resources::kConfigMaps;
using testing::a_config_map;

const api::ObjectKey kAll{"all", {"", "config maps"}};

// Labels every ConfigMap, under one key for all of them, and never looks at what it may not touch.
class Labels : public Reconciler {
 public:
  std::vector<WatchRule> watches() const override {
    return {{.resource = kConfigMaps, .keys = [](const ObjectChange&, const View&, const KeySink& sink) {
               sink(kAll, WorkQueue::Priority::kNormal);
             }}};
  }
  bool assumes_its_effects() const override { return true; }
  Outcome reconcile(const api::ObjectKey&, const View& view) const override {
    setbacks += view.setbacks().size();
    Outcome outcome;
    for (const auto& [name, version] : view.objects(kConfigMaps).all()) {
      if (!version.header->label("seen").empty()) continue;
      if (view.is_held(kConfigMaps, name) && !is_careless) continue;
      outcome.allowed_now.push_back(
          Patch{target_of(kConfigMaps, version), testing::parsed(R"({"metadata":{"labels":{"seen":"yes"}}})")});
    }
    return outcome;
  }
  bool is_careless = false;
  mutable std::size_t setbacks = 0;
};

struct AssumingControllerTest : ::testing::Test {
  testing::ControllerBench bench;
  testing::FakeApi& api = bench.api;
  Labels labels;

  void make(const std::string& name) {
    api.create(kConfigMaps, a_config_map("default", name));
    bench.loop.advance(1ms);
  }
  std::size_t writes() { return api.writes().size(); }
};

TEST_F(AssumingControllerTest, LooksAgainWhileAnswersAreMissing) {
  bench.start(labels);
  api.set_answer_lag(1s);
  make("a");
  make("b");
  EXPECT_EQ(writes(), 2u);
  EXPECT_EQ(bench.controller->held(), 2u);
  EXPECT_FALSE(bench.controller->is_idle());
  bench.loop.advance(1s);
  EXPECT_TRUE(bench.controller->is_idle());
}

TEST_F(AssumingControllerTest, HoldsAnObjectUntilTheMirrorShowsTheEffect) {
  labels.is_careless = true;
  bench.start(labels);
  api.set_watch_lag(1s);
  make("a");
  bench.loop.advance(1s);
  ASSERT_EQ(writes(), 1u);
  make("b");
  bench.loop.advance(998ms);
  EXPECT_EQ(writes(), 1u) << "b is not shown yet, and a not as it is now";
  bench.loop.advance(1min);
  EXPECT_EQ(writes(), 2u);
  EXPECT_TRUE(bench.controller->is_idle());
}

TEST_F(AssumingControllerTest, OneThatFailsRestsLongerEachTimeAndKeepsNobodyWaiting) {
  bench.start(labels);
  api.inject({.when = [](const auto& request) { return request.object.name == "a"; },
              .error = testing::an_error(Reason::kServiceUnavailable),
              .times = 3});
  make("a");
  EXPECT_EQ(writes(), 1u);
  make("b");
  EXPECT_EQ(writes(), 2u);
  EXPECT_EQ(labels.setbacks, 1u);
  // It rests for 5, then 10, then 20 ms.
  bench.loop.advance(3ms);
  EXPECT_EQ(writes(), 3u);
  bench.loop.advance(9ms);
  EXPECT_EQ(writes(), 3u);
  bench.loop.advance(1ms);
  EXPECT_EQ(writes(), 4u);
  bench.loop.advance(20ms);
  EXPECT_EQ(writes(), 5u);
  EXPECT_EQ(labels.setbacks, 3u);
  EXPECT_EQ(api.get(kConfigMaps, {"default", "a"}).header->label("seen"), "yes");
  EXPECT_TRUE(bench.controller->is_idle());
}

TEST_F(AssumingControllerTest, WhatIsNeverShownIsFreeAfterAWhile) {
  bench.start(labels);
  api.set_watch_lag(1ms);
  api.create(kConfigMaps, a_config_map("default", "a"));
  api.set_watch_lag(1h);
  bench.loop.advance(1ms);
  ASSERT_EQ(writes(), 1u);
  EXPECT_EQ(bench.controller->held(), 1u);
  bench.loop.advance(30s);
  EXPECT_EQ(bench.controller->status().hold_timeouts, 1u);
  // Its effect cannot be counted on; and to ask again on what the mirror shows is a conflict.
  EXPECT_EQ(labels.setbacks, 2u);
  EXPECT_EQ(writes(), 2u);
}

}  // namespace
}  // namespace gangway::client
