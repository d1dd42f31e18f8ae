#include "controllers/owned.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/owner.h"
#include "controllers/pods.h"
#include "controllers/test_catalog.h"

namespace gangway::controllers {
namespace {

using client::resources::kPods;
using client::resources::kReplicaSets;
using testing::a_pod;
using testing::an_object;

// Adopts and releases, and does nothing else.
class Claimer final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override {
    return {{.resource = kReplicaSets, .keys = client::itself(kReplicaSets)},
            {.resource = kPods, .keys = its_owners(kReplicaSets, "ReplicaSet")}};
  }
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override {
    client::Outcome outcome;
    const api::Version set = view.get(kReplicaSets, key.object);
    if (!set) return outcome;
    Claims claims = claim(view, kPods, {kReplicaSets, "ReplicaSet", set}, *selector_of(view, kReplicaSets, set),
                          [](const api::Version& pod) { return !pod.header->name.name.starts_with("not-"); });
    held.clear();
    for (const api::Version& pod : claims.held) held.push_back(pod.header->name.name);
    outcome.allowed_now = std::move(claims.actions);
    return outcome;
  }
  mutable std::vector<std::string> held;
};

using Names = std::vector<std::string>;

struct OwnedTest : ::testing::Test {
  Bench bench;
  testing::FakeApi& api = bench.api;
  Claimer claimer;
  LiveOwner live{api};

  api::Version set(const std::string& name = "web") {
    return api.create(kReplicaSets, an_object("apps/v1", "ReplicaSet", "default", name)
                                        .with(R"({"spec":{"selector":{"matchLabels":{"app":"x"}}}})"));
  }
  void start() { bench.start(claimer, &live); }
  std::string controller(const std::string& pod) {
    const api::Version found = api.get(kPods, {"default", pod});
    const auto* reference = found ? api::controller_of(*found.header) : nullptr;
    return reference == nullptr ? "none" : reference->name;
  }
};

TEST_F(OwnedTest, AdoptsWhatItSelectsAndNobodyManages) {
  const auto web = set();
  api.create(kPods, a_pod("default", "free").label("app", "x"));
  api.create(kPods, a_pod("default", "other-label").label("app", "y"));
  api.create(kPods, a_pod("elsewhere", "far").label("app", "x"));
  api.create(kPods, a_pod("default", "not-wanted").label("app", "x"));
  api.create(kPods, a_pod("default", "taken").label("app", "x").owner("batch/v1", "Job", "j", "u-j", true));
  api.create(kPods, a_pod("default", "part").label("app", "x").owner("v1", "ConfigMap", "m", "u-m"));
  start();
  EXPECT_EQ(controller("free"), "web");
  EXPECT_EQ(controller("part"), "web");
  EXPECT_EQ(controller("other-label"), "none");
  EXPECT_EQ(controller("not-wanted"), "none");
  EXPECT_EQ(controller("taken"), "j");
  EXPECT_TRUE(api.get(kPods, {"elsewhere", "far"}).header->owners.empty());
  EXPECT_EQ(claimer.held, (Names{"free", "part"}));
  // Another owner's reference stays beside ours.
  const auto owners = api.get(kPods, {"default", "part"}).header->owners;
  ASSERT_EQ(owners.size(), 2u);
  EXPECT_EQ(owners[0].uid, "u-m");
  EXPECT_EQ(owners[1].uid, web.header->uid);
  EXPECT_TRUE(owners[1].block_owner_deletion);
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(OwnedTest, AdoptsWhatComesToBeSelected) {
  set();
  start();
  api.create(kPods, a_pod("default", "late"));
  bench.loop.run_until_idle();
  EXPECT_EQ(controller("late"), "none");
  api.patch(kPods, {"default", "late"}, testing::parsed(R"({"metadata":{"labels":{"app":"x"}}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(controller("late"), "web");
}

TEST_F(OwnedTest, ReleasesWhatItNoLongerSelects) {
  const auto web = set();
  api.create(kPods, a_pod("default", "p").label("app", "x").owner("apps/v1", "ReplicaSet", web, true));
  start();
  EXPECT_EQ(claimer.held, (Names{"p"}));
  api.patch(kPods, {"default", "p"}, testing::parsed(R"({"metadata":{"labels":{"app":"y"}}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(controller("p"), "none");
  EXPECT_TRUE(claimer.held.empty());
}

TEST_F(OwnedTest, DoesNotAdoptWhatIsBeingDeletedButKeepsIt) {
  const auto web = set();
  api.create(kPods, a_pod("default", "free").label("app", "x").finalizer("a/b"));
  api.create(kPods,
             a_pod("default", "mine").label("app", "x").finalizer("a/b").owner("apps/v1", "ReplicaSet", web, true));
  api.remove(kPods, {"default", "free"});
  api.remove(kPods, {"default", "mine"});
  start();
  EXPECT_EQ(controller("free"), "none");
  EXPECT_EQ(claimer.held, (Names{"mine"}));
}

TEST_F(OwnedTest, AnOwnerThatIsBeingDeletedChangesNothing) {
  const auto web = api.create(kReplicaSets, an_object("apps/v1", "ReplicaSet", "default", "web")
                                                .finalizer("a/b")
                                                .with(R"({"spec":{"selector":{"matchLabels":{"app":"x"}}}})"));
  api.remove(kReplicaSets, {"default", "web"});
  api.create(kPods, a_pod("default", "free").label("app", "x"));
  api.create(kPods, a_pod("default", "other").label("app", "y").owner("apps/v1", "ReplicaSet", web, true));
  start();
  EXPECT_EQ(controller("free"), "none");
  EXPECT_EQ(controller("other"), "web");
}

// Deleted with its pods left behind, as the API knows, while the mirror still shows the set as it was.
TEST_F(OwnedTest, DoesNotAdoptForAnOwnerThatHasGone) {
  const auto web = set();
  start();
  api.set_watch_lag(kReplicaSets, std::chrono::minutes(1));
  api.remove(kReplicaSets, {"default", "web"});
  api.create(kPods, a_pod("default", "orphan").label("app", "x"));
  bench.loop.run_until_idle();
  EXPECT_EQ(controller("orphan"), "none");
  bench.loop.advance(std::chrono::minutes(2));
  EXPECT_EQ(controller("orphan"), "none");
}

}  // namespace
}  // namespace gangway::controllers
