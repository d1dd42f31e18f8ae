#include "controllers/garbage_collector.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controllers/test_catalog.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kConfigMaps;
using testing::a_config_map;
using testing::an_error;
using testing::an_object;
using testing::ObjectBuilder;

ObjectBuilder a_widget(std::string_view name) {
  return an_object("example.com/v1", "Widget", "default", name);
}
ObjectBuilder a_gadget(std::string_view name) {
  return an_object("example.com/v1", "Gadget", "", name);
}

struct GarbageCollectorTest : ::testing::Test {
  Bench bench;
  testing::FakeApi& api = bench.api;
  GarbageCollector collector{bench.catalog};
  OwnerProbe probe{api, bench.loop};
  std::unique_ptr<GarbageFeed> feed;

  void start() {
    api.set_bookmarks(true);
    bench.start(collector, &probe);
    feed = std::make_unique<GarbageFeed>(collector, bench.catalog, *bench.controller, bench.mirror);
    settle();
  }
  void settle() { bench.loop.advance(10s); }
  bool exists(const client::Resource& resource, const std::string& name) {
    return static_cast<bool>(api.get(resource, {resource == kGadgets ? "" : "default", name}));
  }
};

TEST_F(GarbageCollectorTest, BackgroundTakesDependentsOfDependentsWithIt) {
  const auto a = api.create(kConfigMaps, a_config_map("default", "a"));
  const auto b = api.create(kWidgets, a_widget("b").owner("v1", "ConfigMap", a));
  api.create(kConfigMaps, a_config_map("default", "c").owner("example.com/v1", "Widget", b));
  api.create(kConfigMaps, a_config_map("default", "free"));
  start();
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
  api.remove(kConfigMaps, {"default", "a"}, "Background");
  settle();
  EXPECT_FALSE(exists(kWidgets, "b"));
  EXPECT_FALSE(exists(kConfigMaps, "c"));
  EXPECT_TRUE(exists(kConfigMaps, "free"));
}

TEST_F(GarbageCollectorTest, OneOwnerLeftKeepsTheObjectAndTheOtherReferenceGoes) {
  const auto a = api.create(kConfigMaps, a_config_map("default", "a"));
  const auto b = api.create(kConfigMaps, a_config_map("default", "b"));
  api.create(kWidgets, a_widget("w").owner("v1", "ConfigMap", a).owner("v1", "ConfigMap", b, true));
  start();
  api.remove(kConfigMaps, {"default", "a"}, "Background");
  settle();
  const auto kept = api.get(kWidgets, {"default", "w"});
  ASSERT_TRUE(kept);
  ASSERT_EQ(kept.header->owners.size(), 1u);
  EXPECT_EQ(kept.header->owners[0].uid, b.header->uid);
  EXPECT_TRUE(kept.header->owners[0].controller);
}

TEST_F(GarbageCollectorTest, ForegroundWaitsForBlockingDependentsOnly) {
  const auto a = api.create(kConfigMaps, a_config_map("default", "a"));
  api.create(kWidgets, a_widget("blocking").owner("v1", "ConfigMap", a, false, true).finalizer("example.com/hold"));
  api.create(kWidgets, a_widget("other").owner("v1", "ConfigMap", a).finalizer("example.com/hold"));
  start();
  api.remove(kConfigMaps, {"default", "a"}, "Foreground");
  settle();
  EXPECT_TRUE(exists(kConfigMaps, "a"));
  EXPECT_TRUE(api.get(kWidgets, {"default", "blocking"}).header->deleting_since);
  api.patch(kWidgets, {"default", "blocking"}, testing::parsed(R"({"metadata":{"finalizers":[]}})"));
  settle();
  EXPECT_FALSE(exists(kWidgets, "blocking"));
  EXPECT_FALSE(exists(kConfigMaps, "a"));
  EXPECT_TRUE(api.get(kWidgets, {"default", "other"}).header->deleting_since);
}

TEST_F(GarbageCollectorTest, ForegroundGoesDownTheTree) {
  const auto a = api.create(kConfigMaps, a_config_map("default", "a"));
  const auto b = api.create(kWidgets, a_widget("b").owner("v1", "ConfigMap", a, true, true));
  api.create(kWidgets, a_widget("c").owner("example.com/v1", "Widget", b, true, true).finalizer("example.com/hold"));
  start();
  api.remove(kConfigMaps, {"default", "a"}, "Foreground");
  settle();
  EXPECT_TRUE(exists(kConfigMaps, "a"));
  EXPECT_TRUE(exists(kWidgets, "b"));
  api.patch(kWidgets, {"default", "c"}, testing::parsed(R"({"metadata":{"finalizers":[]}})"));
  settle();
  EXPECT_FALSE(exists(kConfigMaps, "a"));
  EXPECT_FALSE(exists(kWidgets, "b"));
}

TEST_F(GarbageCollectorTest, ACircleOfOwnersDoesNotWaitForItself) {
  const auto a = api.create(kConfigMaps, a_config_map("default", "a"));
  const auto b = api.create(kConfigMaps, a_config_map("default", "b").owner("v1", "ConfigMap", a, false, true));
  auto owner = a_config_map("default", "a").owner("v1", "ConfigMap", b, false, true);
  api.patch(kConfigMaps, {"default", "a"}, owner);
  start();
  api.remove(kConfigMaps, {"default", "a"}, "Foreground");
  settle();
  EXPECT_FALSE(exists(kConfigMaps, "a"));
  EXPECT_FALSE(exists(kConfigMaps, "b"));
}

TEST_F(GarbageCollectorTest, OrphansStayWithoutTheReference) {
  const auto a = api.create(kConfigMaps, a_config_map("default", "a"));
  api.create(kWidgets, a_widget("w").owner("v1", "ConfigMap", a, true, true));
  start();
  api.remove(kConfigMaps, {"default", "a"}, "Orphan");
  settle();
  EXPECT_FALSE(exists(kConfigMaps, "a"));
  ASSERT_TRUE(exists(kWidgets, "w"));
  EXPECT_TRUE(api.get(kWidgets, {"default", "w"}).header->owners.empty());
}

// The watch of one kind may be far behind that of another.
TEST_F(GarbageCollectorTest, DependentsThatTheMirrorHasNotShownYetAreOrphanedToo) {
  const auto a = api.create(kConfigMaps, a_config_map("default", "a"));
  start();
  api.set_watch_lag(kWidgets, 5s);
  api.create(kWidgets, a_widget("late").owner("v1", "ConfigMap", a, true, true));
  api.remove(kConfigMaps, {"default", "a"}, "Orphan");
  bench.loop.advance(2s);
  EXPECT_TRUE(exists(kConfigMaps, "a")) << "somebody may still be owned by it";
  settle();
  EXPECT_FALSE(exists(kConfigMaps, "a"));
  ASSERT_TRUE(exists(kWidgets, "late"));
  EXPECT_TRUE(api.get(kWidgets, {"default", "late"}).header->owners.empty());
}

TEST_F(GarbageCollectorTest, NobodyIsLetGoWhileAKindCouldNotBeListed) {
  const auto a = api.create(kConfigMaps, a_config_map("default", "a"));
  api.create(kWidgets, a_widget("unseen").owner("v1", "ConfigMap", a, true, true));
  api.fail_lists(kWidgets, an_error(Reason::kTimeout), 12);
  start();
  // Longer than the collector waits for a kind before it begins its work.
  bench.loop.advance(60s);
  api.remove(kConfigMaps, {"default", "a"}, "Orphan");
  bench.loop.advance(5min);
  EXPECT_FALSE(exists(kConfigMaps, "a"));
  EXPECT_TRUE(exists(kWidgets, "unseen"));
}

TEST_F(GarbageCollectorTest, ForegroundWaitsForBlockingDependentsThatTheMirrorHasNotShownYet) {
  const auto a = api.create(kConfigMaps, a_config_map("default", "a"));
  start();
  api.set_watch_lag(kWidgets, 5s);
  api.create(kWidgets, a_widget("late").owner("v1", "ConfigMap", a, true, true).finalizer("example.com/hold"));
  api.remove(kConfigMaps, {"default", "a"}, "Foreground");
  settle();
  EXPECT_TRUE(exists(kConfigMaps, "a"));
  api.patch(kWidgets, {"default", "late"}, testing::parsed(R"({"metadata":{"finalizers":[]}})"));
  settle();
  EXPECT_FALSE(exists(kWidgets, "late"));
  EXPECT_FALSE(exists(kConfigMaps, "a"));
}

struct OwnerCase {
  const char* name;
  const char* api_version;
  const char* kind;
  const char* owner_name;
  bool right_uid;
  bool survives;
};

TEST_F(GarbageCollectorTest, OnlyAnOwnerThatIsKnownToBeGoneCounts) {
  const OwnerCase cases[] = {
      {"exists", "v1", "ConfigMap", "here", true, true},
      {"another-uid", "v1", "ConfigMap", "here", false, false},
      {"absent", "v1", "ConfigMap", "nowhere", false, false},
      {"other-namespace", "v1", "ConfigMap", "elsewhere", true, false},
      {"unknown-kind", "example.com/v1", "Gizmo", "here", false, true},
      {"other-version", "example.com/v1beta1", "Gadget", "big", true, true},
  };
  std::map<std::string, api::Version> owners;
  owners["here"] = api.create(kConfigMaps, a_config_map("default", "here"));
  owners["elsewhere"] = api.create(kConfigMaps, a_config_map("other", "elsewhere"));
  owners["big"] = api.create(kGadgets, a_gadget("big"));
  for (const OwnerCase& c : cases) {
    const std::string uid = c.right_uid ? owners[c.owner_name].header->uid : "no-such-uid";
    api.create(kWidgets, a_widget(c.name).owner(c.api_version, c.kind, c.owner_name, uid));
  }
  start();
  for (const OwnerCase& c : cases) EXPECT_EQ(exists(kWidgets, c.name), c.survives) << c.name;
}

TEST_F(GarbageCollectorTest, AClusterScopedObjectIsNotLostToANamespacedOwner) {
  api.create(kGadgets, a_gadget("g").owner("v1", "ConfigMap", "nowhere", "no-such-uid"));
  start();
  EXPECT_TRUE(exists(kGadgets, "g"));
}

TEST_F(GarbageCollectorTest, AnOwnerThatTheMirrorHasNotShownYetIsAskedForAndKept) {
  start();
  api.set_watch_lag(kConfigMaps, 5s);
  const auto a = api.create(kConfigMaps, a_config_map("default", "a"));
  api.create(kWidgets, a_widget("w").owner("v1", "ConfigMap", a));
  bench.loop.advance(1s);
  EXPECT_TRUE(exists(kWidgets, "w"));
  settle();
  EXPECT_TRUE(exists(kWidgets, "w"));
  api.remove(kConfigMaps, {"default", "a"});
  settle();
  EXPECT_FALSE(exists(kWidgets, "w"));
}

TEST_F(GarbageCollectorTest, FollowsResourcesThatComeAndGo) {
  const auto all = bench.catalog.all;
  auto without = all;
  std::erase_if(without, [](const ResourceInfo& info) { return info.resource == kWidgets; });
  bench.catalog.all = without;
  const auto a = api.create(kConfigMaps, a_config_map("default", "a"));
  api.create(kWidgets, a_widget("w").owner("v1", "ConfigMap", a));
  start();
  api.remove(kConfigMaps, {"default", "a"});
  settle();
  EXPECT_TRUE(exists(kWidgets, "w"));
  bench.catalog.set(all);
  settle();
  EXPECT_FALSE(exists(kWidgets, "w"));
  bench.catalog.set(without);
  settle();
  EXPECT_EQ(bench.mirror.find(kWidgets), nullptr);
}

TEST_F(GarbageCollectorTest, AFailedReadOfTheOwnerIsNotItsEnd) {
  start();
  class Unreachable final : public client::ProbeRunner {
   public:
    explicit Unreachable(sys::EventLoop& loop) : loop_(loop) {}
    void ask(const client::Probe&, sys::Completion<json::Value> done) override {
      loop_.post([done = std::move(done)] { done(an_error(Reason::kServiceUnavailable)); });
    }

   private:
    sys::EventLoop& loop_;
  } unreachable(bench.loop);
  feed.reset();
  bench.start(collector, &unreachable);
  feed = std::make_unique<GarbageFeed>(collector, bench.catalog, *bench.controller, bench.mirror);
  api.create(kWidgets, a_widget("w").owner("v1", "ConfigMap", "nowhere", "no-such-uid"));
  settle();
  EXPECT_TRUE(exists(kWidgets, "w"));
}

// Answers live for one look. Were an owner asked after only when its own answer is missing, two owners whose answers
// came in different rounds would take turns for ever.
TEST_F(GarbageCollectorTest, OwnersThatAnswerInDifferentRoundsAreBothGone) {
  class FailsOnce final : public client::ProbeRunner {
   public:
    explicit FailsOnce(sys::EventLoop& loop) : loop_(loop) {}
    void ask(const client::Probe& question, sys::Completion<json::Value> done) override {
      const bool fails = json::string_at(question.question, {"name"}) == "second" && std::exchange(first_time_, false);
      loop_.post([done = std::move(done), fails] {
        if (fails) return done(an_error(Reason::kServiceUnavailable));
        done(json::Value(nullptr));
      });
    }

   private:
    sys::EventLoop& loop_;
    bool first_time_ = true;
  } fails_once(bench.loop);
  bench.start(collector, &fails_once);
  feed = std::make_unique<GarbageFeed>(collector, bench.catalog, *bench.controller, bench.mirror);
  settle();
  api.create(kWidgets,
             a_widget("w").owner("v1", "ConfigMap", "first", "uid-1").owner("v1", "ConfigMap", "second", "uid-2"));
  bench.loop.advance(1min);
  EXPECT_FALSE(exists(kWidgets, "w"));
}

// ── the property: whatever is owned by whom, each deletion ends as the model says, through lag and faults ──

struct Model {
  std::map<std::string, std::set<std::string>> owners;  // of the objects that exist

  void remove(const std::string& name, bool orphan) {
    owners.erase(name);
    if (orphan) {
      for (auto& [object, its_owners] : owners) its_owners.erase(name);
      return;
    }
    for (auto at = owners.begin(); at != owners.end();) {
      std::set<std::string> alive;
      for (const auto& owner : at->second)
        if (owners.contains(owner)) alive.insert(owner);
      const bool lost = !at->second.empty() && alive.empty();
      const bool changed = alive.size() != at->second.size();
      if (lost) {
        owners.erase(at);
      } else {
        at->second = alive;
      }
      at = changed ? owners.begin() : std::next(at);
    }
  }
};

RC_GTEST_PROP(GarbageCollectorProperty, EveryDeletionEndsAsTheModelSays, ()) {
  Bench bench;
  GarbageCollector collector(bench.catalog);
  OwnerProbe probe(bench.api, bench.loop);
  bench.start(collector, &probe);
  GarbageFeed feed(collector, bench.catalog, *bench.controller, bench.mirror);
  bench.api.set_weather({.refused = *rc::gen::element(0u, 150u),
                         .lost = *rc::gen::element(0u, 150u),
                         .broken_watches = *rc::gen::element(0u, 50u),
                         .seed = *rc::gen::inRange<std::uint64_t>(1, 1000)});
  bench.api.set_bookmarks(true);
  bench.api.set_watch_lag(kWidgets, std::chrono::milliseconds(*rc::gen::inRange(0, 300)));

  Model model;
  std::vector<api::Version> made;
  const int count = *rc::gen::inRange(1, 10);
  for (int i = 0; i < count; ++i) {
    const std::string name = "o" + std::to_string(i);
    const bool widget = *rc::gen::arbitrary<bool>();
    auto builder = an_object(widget ? "example.com/v1" : "v1", widget ? "Widget" : "ConfigMap", "default", name);
    auto& its_owners = model.owners[name];
    for (int j = 0; j < i; ++j) {
      if (*rc::gen::inRange(0, 3) != 0) continue;
      const bool widget_owner = static_cast<bool>(bench.api.get(kWidgets, made[j].header->name));
      builder.owner(widget_owner ? "example.com/v1" : "v1", widget_owner ? "Widget" : "ConfigMap", made[j], false,
                    *rc::gen::arbitrary<bool>());
      its_owners.insert("o" + std::to_string(j));
    }
    made.push_back(bench.api.create(widget ? kWidgets : kConfigMaps, builder));
  }
  bench.loop.advance(1min);

  for (const int victim : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, count))) {
    const std::string name = "o" + std::to_string(victim);
    if (!model.owners.contains(name)) continue;
    const std::string policy = *rc::gen::element<std::string>("Background", "Foreground", "Orphan");
    const bool widget = static_cast<bool>(bench.api.get(kWidgets, {"default", name}));
    bench.api.remove(widget ? kWidgets : kConfigMaps, {"default", name}, policy);
    model.remove(name, policy == "Orphan");
    bench.loop.advance(5min);
  }

  std::map<std::string, std::set<std::string>> found;
  for (const auto& resource : {kWidgets, kConfigMaps}) {
    for (const auto& [name, version] : bench.api.objects(resource)) {
      auto& its_owners = found[name.name];
      for (const auto& owner : version.header->owners) its_owners.insert(owner.name);
      RC_ASSERT(!version.header->deleting_since);
    }
  }
  RC_ASSERT(found == model.owners);
}

}  // namespace
}  // namespace gangway::controllers
