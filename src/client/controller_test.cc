#include "client/controller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "client/resource.h"
#include "testing/builders.h"
#include "testing/fake_api.h"
#include "testing/manual_loop.h"

namespace gangway::client {
namespace {

using namespace std::chrono_literals;
using resources::kConfigMaps;
using resources::kPods;
using testing::a_config_map;
using testing::a_pod;
using testing::an_error;
using testing::FakeApi;

// Wants two pods for every ConfigMap, and one of them labelled as the first: enough to need order, lag and names.
class TwoPods : public Reconciler {
 public:
  std::vector<WatchRule> watches() const override {
    return {{.resource = kConfigMaps, .keys = itself(kConfigMaps), .indexed_fields = {}},
            {.resource = kPods, .keys = its_controller(kConfigMaps, "ConfigMap"), .indexed_fields = {}}};
  }

  Outcome reconcile(const api::ObjectKey& key, const View& view) const override {
    ++looks;
    setbacks = view.setbacks();
    if (takes > Duration::zero()) loop->spend(takes);
    Outcome outcome;
    const api::Version owner = view.get(kConfigMaps, key.object);
    if (!owner) return outcome;
    const auto pods = view.objects(kPods).owned_by(owner.header->uid);
    for (std::uint64_t i = 0; i < 2; ++i) {
      const std::string name = generated_name(key.object.name, owner.header->uid, "pod", i, 0);
      const auto is_it = [&](const api::Version& pod) { return pod.header->name.name == name; };
      if (std::any_of(pods.begin(), pods.end(), is_it)) continue;
      outcome.allowed_now.push_back(Create{kPods, key.object.ns,
                                           a_pod(key.object.ns, name).owner("v1", "ConfigMap", owner, true).json(),
                                           owner.header->uid});
    }
    if (pods.size() == 2 && pods[0].header->label("first").empty()) {
      outcome.allowed_now.push_back(
          Patch{target_of(kPods, pods[0]), testing::parsed(R"({"metadata":{"labels":{"first":"yes"}}})")});
    }
    return outcome;
  }

  Duration takes = Duration::zero();
  testing::ManualLoop* loop = nullptr;
  mutable int looks = 0;
  mutable std::vector<Setback> setbacks;
};

struct ControllerTest : ::testing::Test {
  testing::ManualLoop loop;
  FakeApi api{loop};
  Mirror mirror{api, loop};
  TwoPods reconciler;
  ControllerOptions options{.name = "two-pods"};
  std::unique_ptr<Controller> controller;

  void start() {
    controller = std::make_unique<Controller>(api, loop, mirror, reconciler, options);
    controller->start();
    loop.run_until_idle();
  }
  std::size_t pods() const { return api.objects(kPods).size(); }
  int labelled() const {
    int count = 0;
    for (const auto& [name, pod] : api.objects(kPods)) count += pod.header->label("first") == "yes" ? 1 : 0;
    return count;
  }
};

TEST_F(ControllerTest, ReachesTheWantedStateAndRests) {
  api.create(kConfigMaps, a_config_map("default", "job"));
  start();
  EXPECT_EQ(pods(), 2u);
  EXPECT_EQ(labelled(), 1);
  EXPECT_TRUE(controller->is_idle());
  api.forget_calls();
  controller->resync();
  loop.run_until_idle();
  EXPECT_TRUE(api.writes().empty());
}

TEST_F(ControllerTest, DoesNotActAgainBeforeTheMirrorShowsTheLastActions) {
  api.create(kConfigMaps, a_config_map("default", "job"));
  api.set_watch_lag(kPods, 2s);
  start();
  EXPECT_EQ(api.writes().size(), 2u);
  EXPECT_EQ(controller->held(), 1u);
  // A change of the key's own object does not lead to a look while it is held.
  const int looks = reconciler.looks;
  api.patch(kConfigMaps, {"default", "job"}, testing::parsed(R"({"data":{"a":"b"}})"));
  loop.advance(1s);
  EXPECT_EQ(reconciler.looks, looks);
  loop.advance(10s);
  EXPECT_EQ(pods(), 2u);
  EXPECT_EQ(labelled(), 1);
  EXPECT_EQ(api.writes().size(), 3u);
  EXPECT_EQ(controller->status().hold_timeouts, 0u);
}

// Many changes are one look when a look takes long.
TEST_F(ControllerTest, AKeyWhoseLooksTakeLongHasPauses) {
  api.create(kConfigMaps, a_config_map("default", "job"));
  start();
  reconciler.loop = &loop;
  reconciler.takes = 10ms;
  loop.advance(1s);
  int value = 0;
  const auto change = [&](int times) {
    for (int i = 0; i < times; ++i) {
      const std::string data = R"({"data":{"a":")" + std::to_string(++value) + R"("}})";
      api.patch(kConfigMaps, {"default", "job"}, testing::parsed(data));
      loop.advance(1ms);
    }
  };
  const int looks = reconciler.looks;
  change(1);
  EXPECT_EQ(reconciler.looks, looks + 1);
  change(30);
  EXPECT_EQ(reconciler.looks, looks + 1);
  loop.advance(100ms);
  EXPECT_EQ(reconciler.looks, looks + 2);
  // A pause has an end, however long the look was.
  reconciler.takes = 10s;
  change(1);
  const int slow = reconciler.looks;
  change(1);
  EXPECT_EQ(reconciler.looks, slow);
  loop.advance(250ms);
  EXPECT_EQ(reconciler.looks, slow + 1);
}

TEST_F(ControllerTest, AHoldEndsEvenIfTheMirrorNeverShowsIt) {
  api.create(kConfigMaps, a_config_map("default", "job"));
  api.set_watch_lag(kPods, 1h);
  start();
  const int looks = reconciler.looks;
  loop.advance(29s);
  EXPECT_EQ(reconciler.looks, looks);
  loop.advance(2s);
  EXPECT_GT(reconciler.looks, looks);
  EXPECT_EQ(controller->status().hold_timeouts, 1u);
  // The names were the same ones: nothing was made twice.
  EXPECT_EQ(pods(), 2u);
}

TEST_F(ControllerTest, AnAnswerLostAfterCommitDoesNotMakeASecondObject) {
  api.create(kConfigMaps, a_config_map("default", "job"));
  api.set_watch_lag(kPods, 500ms);
  api.inject({.when = nullptr, .error = an_error(Reason::kTimeout), .after_commit = true, .times = 2});
  start();
  loop.advance(10s);
  EXPECT_EQ(pods(), 2u);
  EXPECT_EQ(labelled(), 1);
  EXPECT_TRUE(controller->is_idle());
}

TEST_F(ControllerTest, ANameTakenBySomebodyElseIsAnError) {
  const auto owner = api.create(kConfigMaps, a_config_map("default", "job"));
  const std::string name = generated_name("job", owner.header->uid, "pod", 0, 0);
  api.create(kPods, a_pod("default", name));
  start();
  EXPECT_EQ(controller->status().failed_actions, 1u);
  EXPECT_FALSE(controller->status().last_error.empty());
  loop.advance(1s);
  EXPECT_EQ(labelled(), 0);
}

TEST_F(ControllerTest, RetriesWithGrowingDelays) {
  api.create(kConfigMaps, a_config_map("default", "job"));
  api.inject({.when = nullptr, .error = an_error(Reason::kInternalError), .after_commit = false, .times = 8});
  start();
  EXPECT_EQ(reconciler.looks, 1);
  loop.advance(5ms);
  EXPECT_EQ(reconciler.looks, 2);
  loop.advance(9ms);
  EXPECT_EQ(reconciler.looks, 2);
  loop.advance(1ms);
  EXPECT_EQ(reconciler.looks, 3);
  loop.advance(1s);
  EXPECT_EQ(pods(), 2u);
  EXPECT_EQ(labelled(), 1);
}

TEST_F(ControllerTest, WaitsAsLongAsTheServerAsks) {
  api.create(kConfigMaps, a_config_map("default", "job"));
  api.inject({.when = nullptr, .error = an_error(Reason::kTooManyRequests, 3), .after_commit = false, .times = 2});
  start();
  loop.advance(2999ms);
  EXPECT_EQ(pods(), 0u);
  loop.advance(1ms);
  EXPECT_EQ(pods(), 2u);
}

TEST_F(ControllerTest, DoesNotLookBeforeEverythingIsMirrored) {
  api.create(kConfigMaps, a_config_map("default", "job"));
  api.fail_lists(kPods, an_error(Reason::kInternalError), 2);
  start();
  EXPECT_EQ(reconciler.looks, 0);
  loop.advance(2s);
  EXPECT_EQ(pods(), 2u);
}

TEST_F(ControllerTest, LooksAtEverythingAgainAfterAnOverflow) {
  options.queue.bound = 3;
  for (int i = 0; i < 20; ++i) api.create(kConfigMaps, a_config_map("default", "job-" + std::to_string(i)));
  start();
  loop.advance(1min);
  EXPECT_EQ(pods(), 40u);
  EXPECT_EQ(labelled(), 20);
  EXPECT_GT(controller->status().overflows, 0u);
}

TEST_F(ControllerTest, CarriesUidAndRevisionAsPreconditions) {
  api.create(kConfigMaps, a_config_map("default", "job"));
  start();
  const ApiRequest& patch = api.writes().back();
  const auto body = testing::parsed(patch.body);
  EXPECT_EQ(patch.field_manager, "two-pods");
  EXPECT_FALSE(json::string_at(body, {"metadata", "uid"}).empty());
  EXPECT_FALSE(json::string_at(body, {"metadata", "resourceVersion"}).empty());
}

TEST_F(ControllerTest, IsRightAfterBadWeather) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    FakeApi stormy(loop);
    stormy.set_weather({.refused = 200, .lost = 200, .broken_watches = 100, .seed = seed});
    stormy.set_watch_lag(100ms);
    Mirror its_mirror(stormy, loop, seed);
    Controller under_test(stormy, loop, its_mirror, reconciler, options);
    under_test.start();
    for (int i = 0; i < 10; ++i) stormy.create(kConfigMaps, a_config_map("default", "job-" + std::to_string(i)));
    loop.advance(2min);
    stormy.set_weather({});
    loop.advance(5min);
    EXPECT_EQ(stormy.objects(kPods).size(), 20u) << "seed " << seed;
    EXPECT_TRUE(under_test.is_idle()) << "seed " << seed;
  }
}

TEST_F(ControllerTest, ALookSeesWhatWentWrongWithTheLastOne) {
  const auto owner = api.create(kConfigMaps, a_config_map("default", "job"));
  api.inject({.when = nullptr, .error = an_error(Reason::kForbidden), .after_commit = false, .times = 1});
  api.set_watch_lag(kPods, 500ms);
  start();
  EXPECT_TRUE(reconciler.setbacks.empty());
  loop.advance(505ms);
  ASSERT_EQ(reconciler.setbacks.size(), 1u);
  EXPECT_EQ(reconciler.setbacks[0].verb, "create");
  EXPECT_EQ(reconciler.setbacks[0].resource, kPods);
  EXPECT_EQ(reconciler.setbacks[0].object.name, generated_name("job", owner.header->uid, "pod", 0, 0));
  EXPECT_EQ(reconciler.setbacks[0].error.reason, Reason::kForbidden);
  loop.advance(1s);
  EXPECT_TRUE(reconciler.setbacks.empty()) << "only the last look counts";
  EXPECT_EQ(pods(), 2u);
}

TEST_F(ControllerTest, ALookSeesWhatTheMirrorDidNotShow) {
  api.create(kConfigMaps, a_config_map("default", "job"));
  api.set_watch_lag(kPods, 1h);
  start();
  loop.advance(31s);
  ASSERT_EQ(reconciler.setbacks.size(), 2u);
  EXPECT_EQ(reconciler.setbacks[0].verb, "create");
  EXPECT_EQ(reconciler.setbacks[0].error.reason, Reason::kTimeout);
  EXPECT_FALSE(reconciler.setbacks[0].object.name.empty());
}

// Makes one pod for every ConfigMap and says so, and says hello at every look.
class Talker : public Reconciler {
 public:
  std::vector<WatchRule> watches() const override {
    return {{.resource = kConfigMaps, .keys = itself(kConfigMaps), .indexed_fields = {}}, {.resource = kPods}};
  }
  Outcome reconcile(const api::ObjectKey& key, const View& view) const override {
    Outcome outcome;
    const api::Version owner = view.get(kConfigMaps, key.object);
    const EventSubject about = subject_of(kConfigMaps, "ConfigMap", owner);
    outcome.allowed_now.push_back(Emit{.about = about, .reason = "Hello", .message = "hello"});
    if (view.get(kPods, key.object)) return outcome;
    Create create{kPods, key.object.ns, a_pod(key.object.ns, key.object.name)};
    create.announce.done = Emit{.about = about, .reason = "Made", .message = "made it"};
    create.announce.failed = Emit{about, EventType::kWarning, "Failed", "could not: "};
    outcome.allowed_now.push_back(std::move(create));
    return outcome;
  }
};

struct AnnouncementTest : ::testing::Test {
  testing::ManualLoop loop;
  FakeApi api{loop};
  Mirror mirror{api, loop};
  Talker talker;
  Controller controller{api, loop, mirror, talker, {.name = "talker"}};

  // "reason: message x count" of all events, sorted.
  std::vector<std::string> events() const {
    std::vector<std::string> all;
    for (const auto& [name, version] : api.objects(resources::kEvents)) {
      const auto event = testing::parsed(*version.json);
      all.push_back(std::string(json::string_at(event, {"reason"})) + ": " +
                    std::string(json::string_at(event, {"message"})) + " x " +
                    json::serialize(*json::find(event, {"count"})));
    }
    std::sort(all.begin(), all.end());
    return all;
  }
};

// The node that a deletion is about tells of the end before the answer is here: the story is told in its order all the
// same.
TEST_F(AnnouncementTest, EventsAreOfTheMomentTheirEffectWasAskedFor) {
  api.create(kConfigMaps, a_config_map("default", "sky"));
  api.set_answer_lag(5s);
  controller.start();
  loop.advance(1min);
  std::map<std::string, std::string> moments;
  for (const auto& [name, version] : api.objects(resources::kEvents)) {
    const auto event = testing::parsed(*version.json);
    moments[std::string(json::string_at(event, {"reason"}))] = json::string_at(event, {"firstTimestamp"});
  }
  ASSERT_EQ(moments.size(), 2u);
  EXPECT_EQ(moments["Made"], moments["Hello"]) << "both were decided in one look";
}

TEST_F(AnnouncementTest, EventsFollowTheirEffectsAndHoldNothing) {
  api.create(kConfigMaps, a_config_map("default", "sky"));
  controller.start();
  loop.run_until_idle();
  EXPECT_EQ(events(), (std::vector<std::string>{"Hello: hello x 2", "Made: made it x 1"}));
  EXPECT_TRUE(controller.is_idle());
  EXPECT_EQ(controller.status().actions, 1u);
  const auto event = testing::parsed(*api.objects(resources::kEvents).begin()->second.json);
  EXPECT_EQ(json::string_at(event, {"source", "component"}), "talker");
}

TEST_F(AnnouncementTest, AFailureIsToldWithItsReason) {
  api.inject({.when = [](const ApiRequest& request) { return request.resource == kPods; },
              .error = an_error(Reason::kForbidden)});
  api.create(kConfigMaps, a_config_map("default", "sky"));
  controller.start();
  loop.advance(1s);
  EXPECT_EQ(events(), (std::vector<std::string>{"Failed: could not: scripted: Forbidden x 1", "Hello: hello x 3",
                                                "Made: made it x 1"}));
}

TEST_F(AnnouncementTest, AnEventThatCannotBeWrittenHoldsNothing) {
  api.inject({.when = [](const ApiRequest& request) { return request.resource == resources::kEvents; },
              .error = an_error(Reason::kForbidden),
              .times = 100});
  api.create(kConfigMaps, a_config_map("default", "sky"));
  controller.start();
  loop.run_until_idle();
  EXPECT_EQ(api.objects(kPods).size(), 1u);
  EXPECT_TRUE(controller.is_idle());
  EXPECT_EQ(controller.queue().delayed(), 0u);
  EXPECT_EQ(controller.status().failed_actions, 0u);
}

TEST_F(AnnouncementTest, NothingIsToldInANamespaceThatEnds) {
  Error ending = an_error(Reason::kForbidden);
  ending.causes.push_back({"NamespaceTerminating", "it ends", "metadata.namespace"});
  api.inject({.when = [](const ApiRequest& request) { return request.resource == kPods; }, .error = ending});
  api.create(kConfigMaps, a_config_map("default", "sky"));
  controller.start();
  loop.run_until_idle();
  EXPECT_EQ(events(), (std::vector<std::string>{"Hello: hello x 1"}));
}

// Asks, waits a second after the answer, then writes it down.
class Asker : public Reconciler {
 public:
  std::vector<WatchRule> watches() const override {
    return {{.resource = kConfigMaps, .keys = itself(kConfigMaps), .indexed_fields = {}}};
  }
  Outcome reconcile(const api::ObjectKey& key, const View& view) const override {
    Outcome outcome;
    const api::Version object = view.get(kConfigMaps, key.object);
    if (!object || !object.header->label("answer").empty()) return outcome;
    const auto* answer = view.answer("colour");
    if (answer == nullptr || !*answer) {
      outcome.allowed_now.push_back(Probe{"colour", json::Value(key.object.name)});
    } else {
      json::Value patch = json::Object();
      json::object_at(patch, {"metadata", "labels"})["answer"] = **answer;
      outcome.allowed_now.push_back(Patch{target_of(kConfigMaps, object), patch});
    }
    return outcome;
  }
};

class Colours : public ProbeRunner {
 public:
  explicit Colours(sys::EventLoop& loop) : loop_(loop) {}
  void ask(const Probe& probe, sys::Completion<json::Value> done) override {
    asked.push_back(std::string(probe.question.get_string()));
    Result<json::Value> answer = json::Value("blue");
    if (failures-- > 0) answer = an_error(Reason::kServiceUnavailable);
    loop_.post([done = std::move(done), answer = std::move(answer)] { done(answer); });
  }
  std::vector<std::string> asked;
  int failures = 0;

 private:
  sys::EventLoop& loop_;
};

TEST(ProbeTest, TheAnswerIsPartOfTheNextView) {
  testing::ManualLoop loop;
  FakeApi api(loop);
  Mirror mirror(api, loop);
  Asker asker;
  Colours colours(loop);
  colours.failures = 2;
  Controller controller(api, loop, mirror, asker, {.name = "asker"}, &colours);
  api.create(kConfigMaps, a_config_map("default", "sky"));
  controller.start();
  loop.run_until_idle();
  EXPECT_EQ(colours.asked, std::vector<std::string>{"sky"});
  loop.advance(1s);
  EXPECT_EQ(colours.asked.size(), 3u);
  EXPECT_EQ(api.get(kConfigMaps, {"default", "sky"}).header->label("answer"), "blue");
}

// Always wants something else.
class Restless : public Reconciler {
 public:
  std::vector<WatchRule> watches() const override {
    return {{.resource = kConfigMaps, .keys = itself(kConfigMaps), .indexed_fields = {}}};
  }
  Outcome reconcile(const api::ObjectKey& key, const View& view) const override {
    Outcome outcome;
    json::Value patch = json::Object();
    json::object_at(patch, {"data"})["n"] = std::to_string(++looks);
    outcome.allowed_now.push_back(Patch{target_of(kConfigMaps, view.get(kConfigMaps, key.object)), patch});
    return outcome;
  }
  mutable int looks = 0;
};

TEST(RestlessTest, AReconcilerThatNeverRestsIsSlowedDown) {
  testing::ManualLoop loop;
  FakeApi api(loop);
  Mirror mirror(api, loop);
  Restless restless;
  Controller controller(api, loop, mirror, restless, {.name = "restless"});
  api.create(kConfigMaps, a_config_map("default", "a"));
  controller.start();
  loop.advance(10s);
  EXPECT_GE(restless.looks, 16);
  EXPECT_LE(restless.looks, 60);
}

TEST(GeneratedNameTest, IsTheSameForEverAndFitsItsLength) {
  const std::string name = generated_name("train", "uid-1", "worker", 3, 0);
  EXPECT_EQ(name, generated_name("train", "uid-1", "worker", 3, 0));
  EXPECT_EQ(name.substr(0, 6), "train-");
  EXPECT_EQ(name.size(), 16u);
  EXPECT_NE(name, generated_name("train", "uid-2", "worker", 3, 0));
  EXPECT_NE(name, generated_name("train", "uid-1", "launcher", 3, 0));
  EXPECT_NE(name, generated_name("train", "uid-1", "worker", 4, 0));
  EXPECT_NE(name, generated_name("train", "uid-1", "worker", 3, 1));
  EXPECT_NE(generated_name("x", "a", "bc", 0, 0), generated_name("x", "ab", "c", 0, 0));
  EXPECT_EQ(generated_name(std::string(52, 'a') + ".b", "u", "r", 0, 0).size(), 63u);
  EXPECT_EQ(generated_name(std::string(51, 'a') + ".b", "u", "r", 0, 0)[51], '-');
}

}  // namespace
}  // namespace gangway::client
