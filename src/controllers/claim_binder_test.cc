#include "controllers/claim_binder.h"

#include <gtest/gtest.h>

#include <string>

#include "controllers/test_catalog.h"
#include "volumes/claim_facts.h"

namespace gangway::controllers {
namespace {

using namespace volumes;

using namespace std::chrono_literals;
using client::resources::kEvents;
using client::resources::kNodes;
using client::resources::kPersistentVolumeClaims;
using client::resources::kPersistentVolumes;
using client::resources::kPods;
using client::resources::kStorageClasses;

struct ClaimTest : ::testing::Test {
  Bench bench;
  testing::FakeApi& api = bench.api;
  ClaimBinder reconciler{{"/data/volumes"}};

  ClaimTest() {
    api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"});
    storage_class("local", kLocalProvisioner, "WaitForFirstConsumer");
  }
  void storage_class(const std::string& name, const std::string& provisioner, const std::string& mode) {
    api.create(kStorageClasses, testing::an_object("storage.k8s.io/v1", "StorageClass", "", name)
                                    .with(R"({"provisioner":")" + provisioner + R"(","volumeBindingMode":")" + mode +
                                          R"(","reclaimPolicy":"Delete"})"));
  }
  api::Version claim(const std::string& name, const std::string& spec = "{}") {
    return api.create(kPersistentVolumeClaims,
                      testing::an_object("v1", "PersistentVolumeClaim", "default", name)
                          .with(R"({"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"",
                                    "resources":{"requests":{"storage":"5Gi"}}},"status":{"phase":"Pending"}})")
                          .with(R"({"spec":)" + spec + "}"));
  }
  void volume(const std::string& name, const std::string& size, const std::string& spec = "{}",
              const std::string& more = "{}") {
    api.create(kPersistentVolumes, testing::an_object("v1", "PersistentVolume", "", name)
                                       .with(R"({"spec":{"accessModes":["ReadWriteOnce","ReadOnlyMany"],
                                                 "capacity":{"storage":")" +
                                             size + R"("}}})")
                                       .with(R"({"spec":)" + spec + "}")
                                       .with(more));
  }
  void pod(const std::string& name, const std::string& claim_name, const std::string& more = "{}") {
    api.create(kPods, testing::a_pod("default", name)
                          .with(R"({"spec":{"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":")" +
                                claim_name + R"("}}]}})")
                          .with(more));
  }
  void start() { bench.start(reconciler); }
  // "Bound v1"
  std::string state(const std::string& name) {
    const json::Value tree = api.tree(kPersistentVolumeClaims, {"default", name});
    const std::string volume_name(json::string_at(tree, {"spec", "volumeName"}));
    return std::string(json::string_at(tree, {"status", "phase"})) + (volume_name.empty() ? "" : " " + volume_name);
  }
  // "Bound default/c", "Available"
  std::string volume_state(const std::string& name) {
    const json::Value tree = api.tree(kPersistentVolumes, {"", name});
    if (tree.is_null()) return "gone";
    const std::string claim_name(json::string_at(tree, {"spec", "claimRef", "name"}));
    return std::string(json::string_at(tree, {"status", "phase"})) +
           (claim_name.empty()
                ? ""
                : " " + std::string(json::string_at(tree, {"spec", "claimRef", "namespace"})) + "/" + claim_name);
  }
  bool has_event(const std::string& reason) {
    for (const auto& [name, version] : api.objects(kEvents))
      if (json::string_at(api.tree(kEvents, name), {"reason"}) == reason) return true;
    return false;
  }
};

TEST_F(ClaimTest, BindsTheSmallestVolumeThatSuits) {
  volume("large", "20Gi");
  volume("right", "6Gi");
  volume("small", "4Gi");
  claim("c");
  start();
  EXPECT_EQ(state("c"), "Bound right");
  EXPECT_EQ(volume_state("right"), "Bound default/c");
  EXPECT_EQ(volume_state("large"), "Available");
  const json::Value tree = api.tree(kPersistentVolumeClaims, {"default", "c"});
  EXPECT_EQ(json::string_at(tree, {"status", "capacity", "storage"}), "6Gi");
  EXPECT_EQ(json::serialize(*json::find(tree, {"status", "accessModes"})), R"(["ReadWriteOnce","ReadOnlyMany"])");
  EXPECT_EQ(json::string_at(tree, {"metadata", "annotations", kBindCompleted}), "yes");
  EXPECT_EQ(json::string_at(tree, {"metadata", "annotations", kBoundByController}), "yes");
  const json::Value bound = api.tree(kPersistentVolumes, {"", "right"});
  EXPECT_EQ(json::string_at(bound, {"spec", "claimRef", "uid"}), json::string_at(tree, {"metadata", "uid"}));
  EXPECT_EQ(json::string_at(bound, {"metadata", "annotations", kBoundByController}), "yes");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

struct SuitCase {
  const char* name;
  const char* claim;
  const char* volume;
  bool want;
};

// The claim wants 5Gi ReadWriteOnce of class ""; the volume has 5Gi, ReadWriteOnce and ReadOnlyMany, and no class.
const SuitCase kSuitCases[] = {
    {"as_they_are", "{}", "{}", true},
    {"too_small", R"({"resources":{"requests":{"storage":"6Gi"}}})", "{}", false},
    {"a_mode_that_it_has", R"({"accessModes":["ReadOnlyMany"]})", "{}", true},
    {"a_mode_that_it_has_not", R"({"accessModes":["ReadWriteOnce","ReadWriteMany"]})", "{}", false},
    {"another_class", "{}", R"({"spec":{"storageClassName":"fast"}})", false},
    {"the_same_class", R"({"storageClassName":"fast"})", R"({"spec":{"storageClassName":"fast"}})", true},
    {"another_volume_mode", R"({"volumeMode":"Block"})", "{}", false},
    {"selected", R"({"selector":{"matchLabels":{"tier":"a"}}})", R"({"metadata":{"labels":{"tier":"a"}}})", true},
    {"not_selected", R"({"selector":{"matchLabels":{"tier":"a"}}})", R"({"metadata":{"labels":{"tier":"b"}}})", false},
    {"reserved_for_another", "{}", R"({"spec":{"claimRef":{"namespace":"default","name":"other"}}})", false},
    {"reserved_for_an_earlier_claim_of_that_name", "{}",
     R"({"spec":{"claimRef":{"namespace":"default","name":"c","uid":"of-old"}}})", false},
    {"reserved_for_it_by_name", "{}", R"({"spec":{"claimRef":{"namespace":"default","name":"c"}}})", true},
};

class SuitTest : public ClaimTest, public ::testing::WithParamInterface<SuitCase> {};

TEST_P(SuitTest, BindsWhatSuits) {
  volume("v", "5Gi", "{}", GetParam().volume);
  claim("c", GetParam().claim);
  start();
  EXPECT_EQ(state("c"), GetParam().want ? "Bound v" : "Pending");
}

INSTANTIATE_TEST_SUITE_P(Volumes, SuitTest, ::testing::ValuesIn(kSuitCases),
                         [](const auto& each) { return each.param.name; });

TEST_F(ClaimTest, AClaimMayNameItsVolume) {
  volume("small", "5Gi");
  volume("mine", "50Gi");
  claim("c", R"({"volumeName":"mine"})");
  start();
  EXPECT_EQ(state("c"), "Bound mine");
  const json::Value tree = api.tree(kPersistentVolumeClaims, {"default", "c"});
  EXPECT_EQ(json::string_at(tree, {"metadata", "annotations", kBoundByController}), "");
}

TEST_F(ClaimTest, AClaimThatNamesAVolumeThatDoesNotSuitWaitsAndSaysWhy) {
  volume("mine", "1Gi");
  claim("c", R"({"volumeName":"mine"})");
  start();
  EXPECT_EQ(state("c"), "Pending mine");
  EXPECT_EQ(volume_state("mine"), "Available");
  EXPECT_TRUE(has_event("VolumeMismatch"));
}

TEST_F(ClaimTest, WaitsForAVolumeAndSaysSo) {
  claim("c");
  start();
  EXPECT_EQ(state("c"), "Pending");
  EXPECT_TRUE(has_event("FailedBinding"));
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
  volume("v", "5Gi");
  bench.loop.advance(1s);  // the volume's phase and its reservation are written at the same moment: one comes again
  EXPECT_EQ(state("c"), "Bound v");
}

TEST_F(ClaimTest, TwoClaimsDoNotGetOneVolume) {
  volume("v1", "5Gi");
  volume("v2", "5Gi");
  claim("a");
  claim("b");
  claim("c");
  start();
  EXPECT_EQ(state("a"), "Bound v1");
  EXPECT_EQ(state("b"), "Bound v2");
  EXPECT_EQ(state("c"), "Pending");
}

TEST_F(ClaimTest, AVolumeWhoseClaimIsGoneIsReleasedAndKept) {
  volume("v", "5Gi");
  claim("c");
  start();
  api.remove(kPersistentVolumeClaims, {"default", "c"});
  bench.loop.run_until_idle();
  EXPECT_EQ(volume_state("v"), "Released default/c");
  // A new claim of that name is somebody else.
  claim("c");
  bench.loop.run_until_idle();
  EXPECT_EQ(state("c"), "Pending");
}

TEST_F(ClaimTest, AClaimWhoseVolumeIsGoneIsLost) {
  volume("v", "5Gi");
  claim("c");
  start();
  api.remove(kPersistentVolumes, {"", "v"});
  bench.loop.run_until_idle();
  EXPECT_EQ(state("c"), "Lost v");
  EXPECT_TRUE(has_event("ClaimLost"));
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(ClaimTest, WaitsForItsFirstConsumerAndThenMakesAVolumeThere) {
  api.create(kNodes, testing::an_object("v1", "Node", "", "n1").label("kubernetes.io/hostname", "host-1"));
  const api::Version made = claim("c", R"({"storageClassName":"local"})");
  start();
  EXPECT_EQ(state("c"), "Pending");
  EXPECT_TRUE(has_event("WaitForFirstConsumer"));
  pod("p", "c");
  bench.loop.run_until_idle();
  EXPECT_EQ(state("c"), "Pending");
  EXPECT_TRUE(has_event("WaitForPodScheduled"));
  api.patch(kPods, {"default", "p"}, testing::parsed(R"({"spec":{"nodeName":"n1"}})"));
  bench.loop.run_until_idle();
  const std::string name = "pvc-" + made.header->uid;
  EXPECT_EQ(state("c"), "Bound " + name);
  EXPECT_EQ(volume_state(name), "Bound default/c");
  EXPECT_TRUE(has_event("ProvisioningSucceeded"));
  const json::Value tree = api.tree(kPersistentVolumes, {"", name});
  EXPECT_EQ(json::string_at(tree, {"spec", "hostPath", "path"}), "/data/volumes/default-c-" + made.header->uid);
  EXPECT_EQ(json::string_at(tree, {"spec", "hostPath", "type"}), "DirectoryOrCreate");
  EXPECT_EQ(json::string_at(tree, {"spec", "persistentVolumeReclaimPolicy"}), "Delete");
  EXPECT_EQ(json::string_at(tree, {"spec", "capacity", "storage"}), "5Gi");
  EXPECT_EQ(json::string_at(tree, {"spec", "storageClassName"}), "local");
  EXPECT_EQ(json::serialize(*json::find(tree, {"spec", "nodeAffinity", "required", "nodeSelectorTerms"})),
            R"([{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["host-1"]}]}])");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(ClaimTest, AMadeVolumeGoesWithItsClaimButNotFromUnderAPod) {
  api.create(kNodes, testing::an_object("v1", "Node", "", "n1"));
  const api::Version made = claim("c", R"({"storageClassName":"local"})");
  pod("p", "c", R"({"spec":{"nodeName":"n1"}})");
  start();
  const std::string name = "pvc-" + made.header->uid;
  EXPECT_EQ(volume_state(name), "Bound default/c");
  api.remove(kPersistentVolumeClaims, {"default", "c"});
  bench.loop.run_until_idle();
  EXPECT_EQ(volume_state(name), "Released default/c");
  api.patch(kPods, {"default", "p"}, testing::parsed(R"({"status":{"phase":"Succeeded"}})"), "status");
  bench.loop.run_until_idle();
  EXPECT_EQ(volume_state(name), "gone");
}

TEST_F(ClaimTest, AMadeVolumeGoesWhenTheLastPodOfAGoneClaimIsDeleted) {
  api.create(kNodes, testing::an_object("v1", "Node", "", "n1"));
  const api::Version made = claim("c", R"({"storageClassName":"local"})");
  for (const char* name : {"p", "q"}) pod(name, "c", R"({"spec":{"nodeName":"n1"}})");
  start();
  const std::string name = "pvc-" + made.header->uid;
  api.remove(kPersistentVolumeClaims, {"default", "c"});
  bench.loop.run_until_idle();
  api.remove(kPods, {"default", "p"});
  bench.loop.run_until_idle();
  EXPECT_EQ(volume_state(name), "Released default/c");
  api.remove(kPods, {"default", "q"});
  bench.loop.run_until_idle();
  EXPECT_EQ(volume_state(name), "gone");
}

TEST_F(ClaimTest, AConsumerOnANodeGetsAVolumeThatIsReachableFromThere) {
  storage_class("disks", "kubernetes.io/no-provisioner", "WaitForFirstConsumer");
  api.create(kNodes, testing::an_object("v1", "Node", "", "n1").label("zone", "b"));
  const auto in_zone = [](const std::string& zone) {
    return R"({"storageClassName":"disks","nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[
              {"key":"zone","operator":"In","values":[")" +
           zone + R"("]}]}]}}})";
  };
  volume("here", "9Gi", in_zone("b"));
  volume("there", "5Gi", in_zone("a"));
  claim("c", R"({"storageClassName":"disks"})");
  pod("p", "c", R"({"spec":{"nodeName":"n1"}})");
  start();
  EXPECT_EQ(state("c"), "Bound here");
}

TEST_F(ClaimTest, LeavesClassesOfOthersToThem) {
  storage_class("cloud", "example.com/disk", "Immediate");
  claim("c", R"({"storageClassName":"cloud"})");
  start();
  EXPECT_EQ(state("c"), "Pending");
  EXPECT_TRUE(has_event("ExternalProvisioning"));
  EXPECT_TRUE(api.objects(kPersistentVolumes).empty());
}

TEST_F(ClaimTest, BindsThroughBadWeather) {
  api.set_weather({.refused = 150, .lost = 150, .broken_watches = 50, .seed = 11});
  api.set_watch_lag(kPersistentVolumes, 40ms);
  api.create(kNodes, testing::an_object("v1", "Node", "", "n1"));
  start();
  for (int i = 0; i < 20; ++i) {
    const std::string name = "c" + std::to_string(i);
    if (i % 2 == 0) volume("v" + std::to_string(i), "5Gi");
    claim(name, i % 2 == 0 ? "{}" : R"({"storageClassName":"local"})");
    if (i % 2 == 1) pod("p" + std::to_string(i), name, R"({"spec":{"nodeName":"n1"}})");
    bench.loop.advance(20ms);
  }
  bench.loop.advance(10min);
  EXPECT_EQ(api.objects(kPersistentVolumes).size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(state("c" + std::to_string(i)).starts_with("Bound ")) << i;
}

}  // namespace
}  // namespace gangway::controllers
