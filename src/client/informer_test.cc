#include "client/informer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/mirror.h"
#include "client/resource.h"
#include "testing/builders.h"
#include "testing/fake_api.h"
#include "testing/manual_loop.h"

namespace gangway::client {
namespace {

using namespace std::chrono_literals;
using resources::kPods;
using testing::a_pod;
using testing::an_error;

struct InformerTest : ::testing::Test {
  testing::ManualLoop loop;
  testing::FakeApi api{loop};
  std::vector<std::string> told;
  std::vector<std::unique_ptr<sys::Subscription>> subscriptions;
  std::unique_ptr<Informer> informer;

  void start(std::vector<std::string> fields = {}) {
    InformerOptions options;
    options.what.resource = kPods;
    options.indexed_fields = std::move(fields);
    informer = std::make_unique<Informer>(api, loop, options);
    subscriptions.push_back(informer->subscribe({.on_change =
                                                     [this](const ObjectChange& change) {
                                                       const char* sign =
                                                           change.type == ObjectChange::Type::kAdded      ? "+"
                                                           : change.type == ObjectChange::Type::kModified ? "~"
                                                                                                          : "-";
                                                       told.push_back(sign + change.now.header->name.name);
                                                     },
                                                 .on_progress = nullptr}));
    informer->start();
    loop.run_until_idle();
  }
  void label(const std::string& name, const std::string& value) {
    api.patch(kPods, {"default", name}, testing::parsed(R"({"metadata":{"labels":{"x":")" + value + R"("}}})"));
  }
  std::vector<std::string> take() { return std::exchange(told, {}); }
  using Told = std::vector<std::string>;
};

TEST_F(InformerTest, ListsThenFollows) {
  api.create(kPods, a_pod("default", "a"));
  start();
  EXPECT_TRUE(informer->has_synced());
  api.create(kPods, a_pod("default", "b"));
  label("a", "1");
  api.remove(kPods, {"default", "b"});
  loop.run_until_idle();
  EXPECT_EQ(take(), (Told{"+a", "+b", "~a", "-b"}));
  EXPECT_EQ(informer->objects().size(), 1u);
  EXPECT_EQ(informer->revision(), api.revision());
  EXPECT_EQ(informer->status().lists, 1u);
}

TEST_F(InformerTest, AnEmptyListIsSyncedToo) {
  start();
  EXPECT_TRUE(informer->has_synced());
}

TEST_F(InformerTest, ResumesAWatchThatEndedWithoutListing) {
  api.create(kPods, a_pod("default", "a"));
  start();
  loop.advance(5s);
  api.end_watches(kPods, {});
  api.create(kPods, a_pod("default", "b"));
  loop.run_until_idle();
  EXPECT_EQ(take(), (Told{"+a", "+b"}));
  EXPECT_EQ(informer->status().lists, 1u);
  EXPECT_EQ(informer->status().watches, 2u);
}

TEST_F(InformerTest, DoesNotCircleWhenEveryWatchEndsAtOnce) {
  start();
  for (int i = 0; i < 5; ++i) {
    api.end_watches(kPods, {});
    loop.run_until_idle();
  }
  EXPECT_EQ(informer->status().watches, 1u);
  loop.advance(1s);
  EXPECT_EQ(informer->status().watches, 2u);
}

TEST_F(InformerTest, ListsAgainAfterExpiryAndTellsOnlyTheDifferences) {
  api.create(kPods, a_pod("default", "same"));
  api.create(kPods, a_pod("default", "changed"));
  api.create(kPods, a_pod("default", "gone"));
  api.create(kPods, a_pod("default", "replaced"));
  start();
  take();
  api.end_watches(kPods, {});
  loop.run_until_idle();
  label("changed", "1");
  api.remove(kPods, {"default", "gone"});
  api.remove(kPods, {"default", "replaced"});
  api.create(kPods, a_pod("default", "replaced"));
  api.create(kPods, a_pod("default", "new"));
  api.compact();
  loop.advance(10s);
  EXPECT_EQ(take(), (Told{"-gone", "~changed", "+new", "-replaced", "+replaced"}));
  EXPECT_EQ(informer->status().lists, 2u);
  EXPECT_EQ(informer->revision(), api.revision());
}

TEST_F(InformerTest, BacksOffWhileListsFailAndRecovers) {
  api.create(kPods, a_pod("default", "a"));
  api.fail_lists(kPods, an_error(Reason::kInternalError), 4);
  start();
  EXPECT_FALSE(informer->has_synced());
  EXPECT_EQ(informer->status().errors, 1u);
  EXPECT_FALSE(informer->status().last_error.empty());
  // 0.2, 0.4, 0.8 and 1.6 s, each shortened by half at the most.
  loop.advance(1499ms);
  EXPECT_FALSE(informer->has_synced());
  loop.advance(1501ms);
  EXPECT_TRUE(informer->has_synced());
  EXPECT_EQ(informer->status().lists, 5u);
  EXPECT_EQ(informer->status().last_error, "");
}

TEST_F(InformerTest, WaitsAsLongAsTheServerAsks) {
  api.fail_lists(kPods, an_error(Reason::kTooManyRequests, 7));
  start();
  loop.advance(6999ms);
  EXPECT_EQ(informer->status().lists, 1u);
  loop.advance(1ms);
  EXPECT_EQ(informer->status().lists, 2u);
}

TEST_F(InformerTest, BookmarksMoveTheRevisionWithoutAChange) {
  start();
  int progress = 0;
  subscriptions.push_back(informer->subscribe({.on_change = nullptr, .on_progress = [&] { ++progress; }}));
  EXPECT_EQ(progress, 1);
  api.create(resources::kNodes, testing::an_object("v1", "Node", "", "n0"));
  api.send_bookmarks(kPods);
  loop.run_until_idle();
  EXPECT_EQ(informer->revision(), api.revision());
  EXPECT_EQ(progress, 2);
  EXPECT_EQ(take(), Told{});
}

TEST_F(InformerTest, ALateHandlerIsToldWhatIsThere) {
  api.create(kPods, a_pod("default", "a"));
  start();
  int seen = 0;
  auto late = informer->subscribe({.on_change = [&](const ObjectChange&) { ++seen; }, .on_progress = nullptr});
  EXPECT_EQ(seen, 1);
  late.reset();
  label("a", "1");
  loop.run_until_idle();
  EXPECT_EQ(seen, 1);
}

TEST_F(InformerTest, AHandlerMayEndItsOwnSubscription) {
  start();
  std::unique_ptr<sys::Subscription> own;
  int seen = 0;
  own = informer->subscribe({.on_change =
                                 [&](const ObjectChange&) {
                                   ++seen;
                                   own.reset();
                                 },
                             .on_progress = nullptr});
  api.create(kPods, a_pod("default", "a"));
  api.create(kPods, a_pod("default", "b"));
  loop.run_until_idle();
  EXPECT_EQ(seen, 1);
}

TEST_F(InformerTest, AnswersAfterStopChangeNothing) {
  InformerOptions options;
  options.what.resource = kPods;
  informer = std::make_unique<Informer>(api, loop, options);
  informer->start();
  informer.reset();
  loop.advance(1min);
  EXPECT_EQ(api.reads(), 1u);
}

TEST_F(InformerTest, IndexesFollowChanges) {
  api.set_selectable_fields(kPods, {"spec.nodeName"});
  api.create(kPods, a_pod("default", "a").owner("v1", "Node", "n0", "owner-1").with(R"({"spec":{"nodeName":"n0"}})"));
  api.create(kPods, a_pod("default", "b").owner("v1", "Node", "n0", "owner-1"));
  api.create(kPods, a_pod("other", "c"));
  start({"spec.nodeName"});
  const ObjectCache& objects = informer->objects();
  const auto names = [](const std::vector<api::Version>& versions) {
    std::string all;
    for (const auto& version : versions) all += version.header->name.name;
    return all;
  };
  EXPECT_EQ(names(objects.owned_by("owner-1")), "ab");
  EXPECT_EQ(names(objects.in_namespace("default")), "ab");
  EXPECT_EQ(names(objects.with_field("spec.nodeName", "n0")), "a");
  EXPECT_EQ(names(objects.with_field("spec.nodeName", "")), "bc");

  api.patch(kPods, {"default", "a"},
            testing::parsed(R"({"metadata":{"ownerReferences":null},"spec":{"nodeName":"n1"}})"));
  api.remove(kPods, {"default", "b"});
  loop.run_until_idle();
  EXPECT_FALSE(objects.has_owned_by("owner-1"));
  EXPECT_EQ(names(objects.with_field("spec.nodeName", "n1")), "a");
  EXPECT_EQ(names(objects.with_field("spec.nodeName", "n0")), "");
  EXPECT_EQ(names(objects.in_namespace("default")), "a");
}

// Through broken watches, compaction and lag the mirror ends up equal to the server.
TEST_F(InformerTest, AgreesWithTheServerAfterBadWeather) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    testing::FakeApi stormy(loop);
    stormy.set_weather({.refused = 0, .lost = 0, .broken_watches = 200, .seed = seed});
    stormy.set_watch_lag(30ms);
    InformerOptions options;
    options.what.resource = kPods;
    options.seed = seed;
    Informer mirror(stormy, loop, options);
    mirror.start();
    for (std::uint64_t i = 0; i < 60; ++i) {
      const std::string name(1, static_cast<char>('a' + (i * seed) % 7));
      if (stormy.get(kPods, {"default", name})) {
        stormy.remove(kPods, {"default", name});
      } else {
        stormy.create(kPods, a_pod("default", name));
      }
      if (i % 11 == seed % 11) stormy.compact();
      loop.advance(20ms);
    }
    stormy.set_weather({});
    loop.advance(2min);
    ASSERT_EQ(mirror.objects().size(), stormy.objects(kPods).size()) << "seed " << seed;
    for (const auto& [name, version] : stormy.objects(kPods))
      EXPECT_EQ(mirror.objects().get(name).header->revision, version.header->revision) << "seed " << seed;
  }
}

TEST(MirrorTest, SharesOneInformerAResource) {
  testing::ManualLoop loop;
  testing::FakeApi api(loop);
  Mirror mirror(api, loop);
  EXPECT_EQ(&mirror.watch(kPods), &mirror.watch(kPods));
  mirror.watch(resources::kNodes);
  EXPECT_FALSE(mirror.has_synced());
  loop.run_until_idle();
  EXPECT_TRUE(mirror.has_synced());
  int mirrored = 0;
  mirror.for_each([&](const Resource&, const ObjectCache&) { ++mirrored; });
  EXPECT_EQ(mirrored, 2);
  mirror.drop(kPods);
  EXPECT_EQ(mirror.objects(kPods), nullptr);
}

}  // namespace
}  // namespace gangway::client
