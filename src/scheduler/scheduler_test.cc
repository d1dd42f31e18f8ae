#include "scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "api/conditions.h"
#include "api/pod_requests.h"
#include "client/resource.h"
#include "scheduler/flight/test_following.h"
#include "testing/builders.h"
#include "testing/controller_bench.h"

namespace gangway::scheduler {
namespace {

using namespace std::chrono_literals;
using client::resources::kEvents;
using client::resources::kNamespaces;
using client::resources::kNodes;
using client::resources::kPersistentVolumeClaims;
using client::resources::kPersistentVolumes;
using client::resources::kPods;
using client::resources::kStorageClasses;

// What is said of preemption stands behind it, and is tested where preemption is.
std::string without_preemption(std::string message) {
  return message.substr(0, message.find(" preemption: "));
}

struct SchedulerTest : ::testing::Test {
  testing::ControllerBench bench;
  testing::FakeApi& api = bench.api;
  // Follows every cycle of every test by what is said to have changed.
  flight::testing::FollowingSink follower;
  Scheduler scheduler{Scheduler::kDefaultName, &follower};

  SchedulerTest() { api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"}); }

  void node(const std::string& name, const std::string& more = "{}", const std::string& cpu = "4") {
    api.create(kNodes, testing::an_object("v1", "Node", "", name)
                           .with(R"({"status":{"conditions":[{"type":"Ready","status":"True"}],
                                     "allocatable":{"cpu":")" +
                                 cpu + R"(","memory":"8Gi","pods":"3"}}})")
                           .with(more));
  }
  void pod(const std::string& name, const std::string& cpu, const std::string& more = "{}") {
    api.create(kPods, testing::a_pod("default", name)
                          .with(R"({"spec":{"schedulerName":"default-scheduler","containers":[
                                    {"name":"c","resources":{"requests":{"cpu":")" +
                                cpu + R"("}}}]}})")
                          .with(more));
  }
  void start() { bench.start(scheduler); }
  std::string place(const std::string& name) {
    return std::string(json::string_at(api.tree(kPods, {"default", name}), {"spec", "nodeName"}));
  }
  std::string refusal(const std::string& name) {
    const json::Value tree = api.tree(kPods, {"default", name});
    const json::Object* condition = api::find_condition(tree, "PodScheduled");
    if (condition == nullptr) return "none";
    const json::Value found = *condition;
    return std::string(json::string_at(found, {"status"})) + " " + std::string(json::string_at(found, {"reason"})) +
           ": " + without_preemption(std::string(json::string_at(found, {"message"})));
  }
  std::vector<std::string> events() {
    std::vector<std::string> all;
    for (const auto& [name, version] : api.objects(kEvents)) {
      const json::Value tree = api.tree(kEvents, name);
      all.push_back(std::string(json::string_at(tree, {"type"})) + " " +
                    std::string(json::string_at(tree, {"reason"})) + " " +
                    without_preemption(std::string(json::string_at(tree, {"message"}))));
    }
    return all;
  }
};

TEST_F(SchedulerTest, ChoosesTheLeastLoadedNodeAndTheFirstNameOfEquals) {
  node("n1");
  node("n0");
  pod("a", "1");
  pod("b", "1");
  pod("c", "1");
  start();
  EXPECT_EQ(place("a"), "n0");
  EXPECT_EQ(place("b"), "n1");
  EXPECT_EQ(place("c"), "n0");
  EXPECT_EQ(events(), (std::vector<std::string>{"Normal Scheduled Successfully assigned default/a to n0",
                                                "Normal Scheduled Successfully assigned default/b to n1",
                                                "Normal Scheduled Successfully assigned default/c to n0"}));
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(SchedulerTest, PodsOfHigherPriorityAndOlderOnesComeFirst) {
  node("n0", "{}", "1");
  pod("a-late", "1");
  pod("b-urgent", "1", R"({"spec":{"priority":10}})");
  start();
  EXPECT_EQ(place("a-late"), "");
  EXPECT_EQ(place("b-urgent"), "n0");
}

struct FilterCase {
  const char* name;
  const char* node;  // merged into the node
  const char* pod;   // merged into the pod
  const char* want;  // the node, or the refusal
};

// One node n0 with 4 cpus, 8Gi and room for 3 pods; the pod asks for 1 cpu. The words are kube-scheduler's.
const FilterCase kFilterCases[] = {
    {"fits", "{}", "{}", "n0"},
    {"cpu", R"({"status":{"allocatable":{"cpu":"999m"}}})", "{}", "0/1 nodes are available: 1 Insufficient cpu."},
    {"several_resources", R"({"status":{"allocatable":{"cpu":"0"}}})",
     R"({"spec":{"overhead":{"memory":"9Gi","nvidia.com/gpu":"1"}}})",
     "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Insufficient nvidia.com/gpu."},
    {"pods", R"({"status":{"allocatable":{"pods":"0"}}})", "{}", "0/1 nodes are available: 1 Too many pods."},
    {"cordoned", R"({"spec":{"unschedulable":true}})", "{}", "0/1 nodes are available: 1 node(s) were unschedulable."},
    {"cordoned_and_tolerated", R"({"spec":{"unschedulable":true}})",
     R"({"spec":{"tolerations":[{"key":"node.kubernetes.io/unschedulable","operator":"Exists"}]}})", "n0"},
    {"tainted", R"({"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]}})", "{}",
     "0/1 nodes are available: 1 node(s) had untolerated taint {k: v}."},
    {"tainted_no_execute", R"({"spec":{"taints":[{"key":"k","effect":"NoExecute"}]}})", "{}",
     "0/1 nodes are available: 1 node(s) had untolerated taint {k: }."},
    {"prefer_is_no_must", R"({"spec":{"taints":[{"key":"k","effect":"PreferNoSchedule"}]}})", "{}", "n0"},
    {"tainted_and_tolerated", R"({"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]}})",
     R"({"spec":{"tolerations":[{"key":"k","operator":"Exists"}]}})", "n0"},
    {"not_ready", R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})", "{}",
     "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }."},
    {"not_ready_and_tolerated",
     R"({"status":{"conditions":[{"type":"Ready","status":"False"}]},
         "spec":{"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]}})",
     R"({"spec":{"tolerations":[{"operator":"Exists"}]}})", "n0"},
    {"selector", "{}", R"({"spec":{"nodeSelector":{"zone":"a"}}})",
     "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."},
    {"selector_matches", R"({"metadata":{"labels":{"zone":"a"}}})", R"({"spec":{"nodeSelector":{"zone":"a"}}})", "n0"},
    {"another_scheduler", "{}", R"({"spec":{"schedulerName":"nobody"}})", ""},
    {"gated", "{}", R"({"spec":{"schedulingGates":[{"name":"wait"}]}})", ""},
    {"ended", "{}", R"({"status":{"phase":"Failed"}})", ""},
};

class SchedulerFilterTest : public SchedulerTest, public ::testing::WithParamInterface<FilterCase> {};

TEST_P(SchedulerFilterTest, JudgesAsKubernetesDoes) {
  const FilterCase& c = GetParam();
  node("n0", c.node);
  pod("p", "1", c.pod);
  start();
  const std::string want = c.want;
  if (want.starts_with("0/")) {
    EXPECT_EQ(place("p"), "");
    EXPECT_EQ(refusal("p"), "False Unschedulable: " + want);
    EXPECT_EQ(events(), std::vector<std::string>{"Warning FailedScheduling " + want});
  } else {
    EXPECT_EQ(place("p"), want);
    EXPECT_EQ(refusal("p"), "none");
  }
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Filters, SchedulerFilterTest, ::testing::ValuesIn(kFilterCases),
                         [](const auto& each) { return each.param.name; });

TEST_F(SchedulerTest, SaysOfEveryNodeWhatIsInTheWay) {
  node("full", "{}", "500m");
  node("small", "{}", "1");
  node("tainted", R"({"spec":{"taints":[{"key":"gpu","value":"yes","effect":"NoSchedule"}]}})");
  pod("p", "2");
  start();
  EXPECT_EQ(refusal("p"),
            "False Unschedulable: 0/3 nodes are available: 1 node(s) had untolerated taint {gpu: yes}, 2 Insufficient "
            "cpu.");
}

TEST_F(SchedulerTest, SaysThatThereAreNoNodes) {
  pod("p", "1");
  start();
  EXPECT_EQ(refusal("p"), "False Unschedulable: no nodes available to schedule pods");
}

TEST_F(SchedulerTest, HostPortsAreNotSharedUnlessAddressesDiffer) {
  const auto with_port = [](const std::string& port) {
    return R"({"spec":{"containers":[{"name":"c","ports":[{"containerPort":1,)" + port + "}]}]}}";
  };
  node("n0");
  pod("a", "0", with_port(R"("hostPort":80,"hostIP":"10.0.0.1")"));
  start();
  pod("b", "0", with_port(R"("hostPort":80,"hostIP":"10.0.0.2")"));
  pod("c", "0", with_port(R"("hostPort":80)"));
  bench.loop.run_until_idle();
  EXPECT_EQ(place("a"), "n0");
  EXPECT_EQ(place("b"), "n0");
  EXPECT_EQ(refusal("c"),
            "False Unschedulable: 0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod "
            "ports.");
}

TEST_F(SchedulerTest, TermsMeanNamespacesByTheirLabels) {
  const auto a_namespace = [](const std::string& name, const std::string& team) {
    return testing::an_object("v1", "Namespace", "", name)
        .with(R"({"metadata":{"labels":{"team":")" + team + R"("}}})");
  };
  const auto away_from = [](const std::string& namespaces) {
    return R"({"spec":{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
               {"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"db"}},)" +
           namespaces + "}]}}}}";
  };
  node("n0", R"({"metadata":{"labels":{"kubernetes.io/hostname":"n0"}},"status":{"allocatable":{"pods":"9"}}})");
  api.create(kNamespaces, a_namespace("red", "red"));
  api.create(kNamespaces, a_namespace("blue", "blue"));
  api.create(kPods,
             testing::a_pod("blue", "db").with(R"({"metadata":{"labels":{"app":"db"}},"spec":{"nodeName":"n0"}})"));
  pod("off-red", "100m", away_from(R"("namespaceSelector":{"matchLabels":{"team":"red"}})"));
  pod("off-blue", "100m", away_from(R"("namespaceSelector":{"matchLabels":{"team":"blue"}})"));
  pod("off-all", "100m", away_from(R"("namespaceSelector":{})"));
  pod("named-too", "100m", away_from(R"("namespaces":["blue"],"namespaceSelector":{"matchLabels":{"team":"red"}})"));
  pod("own", "100m", away_from(R"("namespaces":[])"));
  start();
  EXPECT_EQ(place("off-red"), "n0");
  EXPECT_EQ(place("off-blue"), "");
  EXPECT_EQ(place("off-all"), "");
  EXPECT_EQ(place("named-too"), "");
  EXPECT_EQ(place("own"), "n0");

  api.patch(kNamespaces, {"", "blue"}, testing::parsed(R"({"metadata":{"labels":{"team":"green"}}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(place("off-blue"), "n0");
  EXPECT_EQ(place("named-too"), "");
}

TEST_F(SchedulerTest, TakesTheRoomOfPodsThatHaveEndedOrGone) {
  node("n0", "{}", "2");
  pod("a", "1");
  pod("b", "1");
  pod("c", "1");
  start();
  EXPECT_EQ(place("c"), "");
  api.patch(kPods, {"default", "a"}, testing::parsed(R"({"status":{"phase":"Succeeded"}})"), "status");
  bench.loop.run_until_idle();
  EXPECT_EQ(place("c"), "n0");
  pod("d", "1");
  bench.loop.run_until_idle();
  EXPECT_EQ(place("d"), "");
  api.remove(kPods, {"default", "b"});
  bench.loop.run_until_idle();
  EXPECT_EQ(place("d"), "n0");
}

TEST_F(SchedulerTest, LooksAgainWhenANodeComesOrChanges) {
  pod("p", "1", R"({"spec":{"nodeSelector":{"zone":"a"}}})");
  start();
  node("n0");
  bench.loop.run_until_idle();
  EXPECT_EQ(place("p"), "");
  api.patch(kNodes, {"", "n0"}, testing::parsed(R"({"metadata":{"labels":{"zone":"a"}}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(place("p"), "n0");
}

TEST_F(SchedulerTest, AHeartbeatIsNoReasonToLook) {
  node("n0");
  pod("p", "9");
  start();
  const auto looks = bench.controller->status().looks;
  api.patch(kNodes, {"", "n0"},
            testing::parsed(R"({"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"x"}]}})"),
            "status");
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.controller->status().looks, looks);
}

TEST_F(SchedulerTest, BindsAPodWhoseGatesHaveGone) {
  node("n0");
  pod("p", "1", R"({"spec":{"schedulingGates":[{"name":"wait"}]}})");
  start();
  EXPECT_EQ(place("p"), "");
  api.patch(kPods, {"default", "p"}, testing::parsed(R"({"spec":{"schedulingGates":null}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(place("p"), "n0");
}

struct SchedulerClaimTest : SchedulerTest {
  static std::string using_claim(const std::string& name) {
    return R"({"spec":{"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":")" + name + R"("}}]}})";
  }
  void claim(const std::string& name, const std::string& more) {
    api.create(kPersistentVolumeClaims, testing::an_object("v1", "PersistentVolumeClaim", "default", name)
                                            .with(R"({"spec":{"storageClassName":"local"}})")
                                            .with(more));
  }
  void storage_class(const std::string& name, const std::string& mode) {
    api.create(kStorageClasses,
               testing::an_object("storage.k8s.io/v1", "StorageClass", "", name)
                   .with(R"({"provisioner":"gangway.dev/local","volumeBindingMode":")" + mode + R"("})"));
  }
};

TEST_F(SchedulerClaimTest, APodGoesWhereItsVolumeIs) {
  node("n0");
  node("n1", R"({"metadata":{"labels":{"kubernetes.io/hostname":"n1"}}})");
  api.create(kPersistentVolumes, testing::an_object("v1", "PersistentVolume", "", "v")
                                     .with(R"({"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[
              {"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["n1"]}]}]}}}})"));
  claim("c", R"({"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":"v"}})");
  pod("p", "1", using_claim("c"));
  start();
  EXPECT_EQ(place("p"), "n1");
  pod("q", "9", using_claim("c"));
  bench.loop.run_until_idle();
  EXPECT_EQ(refusal("q"),
            "False Unschedulable: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had volume node affinity "
            "conflict.");
}

// The claim will be bound where the first of them is.
TEST_F(SchedulerClaimTest, PodsThatShareAClaimGoToOneNode) {
  storage_class("local", "WaitForFirstConsumer");
  for (const char* name : {"n0", "n1", "n2"}) node(name);
  claim("c", "{}");
  for (const char* name : {"a", "b", "d"}) pod(name, "1", using_claim("c"));
  start();
  EXPECT_EQ(place("a"), "n0");
  EXPECT_EQ(place("b"), "n0");
  EXPECT_EQ(place("d"), "n0");
}

// Elsewhere than on the embedded server: claims are bound by somebody who must be told where.
struct SchedulerTellsClaimsTest : SchedulerClaimTest {
  Scheduler elsewhere{Scheduler::kDefaultName, &follower, volumes::ClaimBinding::kIsTold};
  std::vector<std::string> writes() {
    std::vector<std::string> all;
    for (const auto& write : api.writes())
      if (write.resource != kEvents)
        all.push_back(write.resource.plural + " " + write.object.name + " " + write.subresource);
    return all;
  }
  void foreign_class(const std::string& name, const std::string& more) {
    api.create(kStorageClasses, testing::an_object("storage.k8s.io/v1", "StorageClass", "", name)
                                    .with(R"({"volumeBindingMode":"WaitForFirstConsumer"})")
                                    .with(more));
  }
};

TEST_F(SchedulerTellsClaimsTest, AProvisionerIsToldTheNodeBeforeThePodGoesThere) {
  foreign_class("csi", R"({"provisioner":"csi.example.com","allowedTopologies":[
                           {"matchLabelExpressions":[{"key":"zone","values":["b"]}]}]})");
  node("n0");
  node("n1", R"({"metadata":{"labels":{"zone":"b"}}})");
  claim("c", R"({"spec":{"storageClassName":"csi"}})");
  pod("p", "1", using_claim("c"));
  api.forget_calls();
  bench.start(elsewhere);
  EXPECT_EQ(place("p"), "n1") << "where its volumes may be made";
  EXPECT_EQ(writes(), (std::vector<std::string>{"persistentvolumeclaims c ", "pods p binding"}));
  EXPECT_EQ(json::string_at(api.tree(kPersistentVolumeClaims, {"default", "c"}),
                            {"metadata", "annotations", "volume.kubernetes.io/selected-node"}),
            "n1");
}

TEST_F(SchedulerTellsClaimsTest, AnAdministratorsVolumeIsReservedBeforeThePodGoesThere) {
  foreign_class("disks", R"({"provisioner":"kubernetes.io/no-provisioner"})");
  node("n0");
  node("n1", R"({"metadata":{"labels":{"kubernetes.io/hostname":"n1"}}})");
  api.create(kPersistentVolumes, testing::an_object("v1", "PersistentVolume", "", "v")
                                     .with(R"({"spec":{"storageClassName":"disks","capacity":{"storage":"1Gi"},
              "accessModes":["ReadWriteOnce"],"nodeAffinity":{"required":{"nodeSelectorTerms":[
              {"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["n1"]}]}]}}},
              "status":{"phase":"Available"}})"));
  claim("c", R"({"spec":{"storageClassName":"disks","accessModes":["ReadWriteOnce"],
                         "resources":{"requests":{"storage":"1Gi"}}}})");
  pod("p", "1", using_claim("c"));
  api.forget_calls();
  bench.start(elsewhere);
  EXPECT_EQ(place("p"), "n1");
  EXPECT_EQ(writes(), (std::vector<std::string>{"persistentvolumes v ", "pods p binding"}));
  EXPECT_EQ(json::string_at(api.tree(kPersistentVolumes, {"", "v"}), {"spec", "claimRef", "name"}), "c");
}

TEST_F(SchedulerTellsClaimsTest, WhereAClaimWasToldToBeItsPodGoes) {
  foreign_class("csi", R"({"provisioner":"csi.example.com"})");
  node("n0");
  node("n1");
  claim("c", R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n1"}},
                 "spec":{"storageClassName":"csi"}})");
  pod("p", "1", using_claim("c"));
  bench.start(elsewhere);
  EXPECT_EQ(place("p"), "n1") << "whoever told it may be gone";
}

TEST_F(SchedulerClaimTest, SaysWhatIsWrongWithAClaim) {
  storage_class("local", "Immediate");
  node("n0");
  claim("unbound", "{}");
  pod("a", "1", using_claim("unbound"));
  pod("b", "1", using_claim("missing"));
  start();
  EXPECT_EQ(refusal("a"),
            "False Unschedulable: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.");
  EXPECT_EQ(refusal("b"),
            R"(False Unschedulable: 0/1 nodes are available: persistentvolumeclaim "missing" not found.)");
  claim("missing", R"({"spec":{"storageClassName":"other"}})");
  storage_class("other", "WaitForFirstConsumer");
  bench.loop.advance(11s);
  EXPECT_EQ(place("b"), "n0");
}

// The message changes with every node that comes; the pod is told every ten seconds at most.
TEST_F(SchedulerTest, DoesNotRepeatItselfTooSoon) {
  node("n0");
  pod("p", "9");
  start();
  for (int i = 1; i <= 5; ++i) {
    node("n" + std::to_string(i));
    bench.loop.advance(1s);
  }
  EXPECT_EQ(refusal("p"), "False Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.");
  bench.loop.advance(10s);
  EXPECT_EQ(refusal("p"), "False Unschedulable: 0/6 nodes are available: 6 Insufficient cpu.");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(SchedulerTest, BindsTheRevisionThatItDecidedOn) {
  node("n0");
  pod("p", "1");
  start();
  ASSERT_EQ(api.writes().at(0).subresource, "binding");
  const json::Value body = testing::parsed(api.writes().at(0).body);
  const json::Value pod_tree = api.tree(kPods, {"default", "p"});
  EXPECT_EQ(json::string_at(body, {"metadata", "uid"}), json::string_at(pod_tree, {"metadata", "uid"}));
  EXPECT_NE(json::string_at(body, {"metadata", "resourceVersion"}), "");
  EXPECT_EQ(json::string_at(body, {"target", "name"}), "n0");
}

// The answer is lost and the watch is slow: the room is not given to another one meanwhile.
TEST_F(SchedulerTest, DoesNotGiveRoomAwayTwiceWhenAnAnswerIsLost) {
  node("n0", "{}", "1");
  start();
  api.inject({.when = [](const auto& request) { return request.subresource == "binding"; },
              .error = testing::an_error(Reason::kTimeout),
              .after_commit = true});
  api.set_watch_lag(kPods, 1s);
  pod("a", "1");
  bench.loop.advance(10ms);
  pod("b", "1");
  bench.loop.advance(1min);
  EXPECT_EQ(place("a"), "n0");
  EXPECT_EQ(place("b"), "");
}

struct SchedulerGangTest : SchedulerTest {
  void group(const std::string& name, int minimum, const std::string& more = "{}") {
    api.create(kPodGroups, testing::an_object("scheduling.x-k8s.io/v1alpha1", "PodGroup", "default", name)
                               .with(R"({"spec":{"minMember":)" + std::to_string(minimum) + "}}")
                               .with(more));
  }
  void member(const std::string& name, const std::string& group, const std::string& cpu,
              const std::string& more = "{}") {
    const std::string label = R"({"metadata":{"labels":{"scheduling.x-k8s.io/pod-group":")" + group + R"("}}})";
    api.create(kPods, testing::a_pod("default", name)
                          .with(R"({"spec":{"schedulerName":"default-scheduler","containers":[
                                    {"name":"c","resources":{"requests":{"cpu":")" +
                                cpu + R"("}}}]}})")
                          .with(label)
                          .with(more));
  }
  static std::string priority(int value) { return R"({"spec":{"priority":)" + std::to_string(value) + "}}"; }
  // "code: message [blockers]"
  std::string verdict_of(bool is_group, const std::string& gang) {
    const json::Value tree = api.tree(kAllotments, {"default", allotment_name(is_group, gang)});
    const std::string code(json::string_at(tree, {"status", "verdict", "code"}));
    if (code.empty()) return "none";
    std::string blockers;
    for (const auto& blocker : json::array_at(tree, {"status", "verdict", "blockers"}))
      blockers += (blockers.empty() ? "" : " ") + std::string(blocker.as_string());
    return code + ": " + std::string(json::string_at(tree, {"status", "verdict", "message"})) + " [" + blockers + "]";
  }
  std::string phase_of(bool is_group, const std::string& gang) {
    const api::ObjectName name{"default", allotment_name(is_group, gang)};
    if (!api.objects(kAllotments).contains(name)) return "none";
    return std::string(json::string_at(api.tree(kAllotments, name), {"status", "phase"}));
  }
  bool exists(const std::string& pod_name) { return api.objects(kPods).contains({"default", pod_name}); }
  // Keeps a deleted pod there, as a node does until its containers have ended.
  static constexpr const char* kSlowToEnd = R"({"metadata":{"finalizers":["test/slow"]}})";
  void end(const std::string& name) {
    api.patch(kPods, {"default", name}, testing::parsed(R"({"metadata":{"finalizers":null}})"));
    bench.loop.run_until_idle();
  }
};

TEST_F(SchedulerGangTest, AGangIsBoundWholeAndItsTicketIsKept) {
  node("n0");
  node("n1");
  group("g", 2);
  member("g-0", "g", "3");
  start();
  EXPECT_EQ(place("g-0"), "") << "one of two";
  EXPECT_EQ(refusal("g-0"), "False Unschedulable: the pod group has 1 of the 2 pods that it needs to start");
  member("g-1", "g", "3");
  bench.loop.run_until_idle();
  EXPECT_EQ(place("g-0"), "n0");
  EXPECT_EQ(place("g-1"), "n1");
  EXPECT_EQ(phase_of(true, "g"), "Bound");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(SchedulerGangTest, TheTicketIsWrittenBeforeTheFirstBinding) {
  node("n0");
  group("g", 2);
  member("g-0", "g", "1");
  member("g-1", "g", "1");
  start();
  std::vector<std::string> what;
  for (const auto& write : api.writes())
    if (write.resource != kEvents) what.push_back(write.resource.plural + "/" + write.subresource);
  EXPECT_EQ(what, (std::vector<std::string>{"allotments/", "pods/binding", "pods/binding", "allotments/status"}));
}

TEST_F(SchedulerGangTest, ASchedulerThatDiedIsFollowedByOneThatFinishes) {
  node("n0");
  node("n1");
  group("g", 2);
  member("g-0", "g", "3");
  member("g-1", "g", "3");
  bool is_down = true;
  api.inject({.when =
                  [&](const auto& request) {
                    return is_down && request.subresource == "binding" && request.object.name == "g-1";
                  },
              .error = testing::an_error(Reason::kServiceUnavailable),
              .times = 1'000'000});
  start();
  bench.controller.reset();
  is_down = false;
  ASSERT_EQ(place("g-0") + place("g-1"), "n0") << "half-way";
  pod("other", "3");
  const Scheduler next;
  bench.start(next);
  bench.loop.advance(1min);
  EXPECT_EQ(place("g-0"), "n0");
  EXPECT_EQ(place("g-1"), "n1");
  EXPECT_EQ(place("other"), "") << "what the gang was given is not given to others";
}

// Stored objects carry no kind, and are read as they are stored.
TEST_F(SchedulerGangTest, ASecondGrantIsAnAllotmentToo) {
  node("n0");
  group("g", 2);
  member("g-0", "g", "1");
  member("g-1", "g", "1");
  start();
  const api::ObjectName allotment{"default", allotment_name(true, "g")};
  api.patch(kAllotments, allotment, testing::parsed(R"({"apiVersion":null,"kind":null})"));
  for (const char* name : {"g-0", "g-1"}) api.remove(kPods, {"default", name});
  for (const char* name : {"g-2", "g-3"}) member(name, "g", "1");
  bench.loop.run_until_idle();
  EXPECT_EQ(place("g-2") + place("g-3"), "n0n0");
  const json::Value tree = api.tree(kAllotments, allotment);
  EXPECT_EQ(json::string_at(tree, {"kind"}), "Allotment");
  EXPECT_EQ(json::string_at(tree, {"apiVersion"}), "gangway.dev/v1alpha1");
}

// Kinds come in no order: a pod may be heard of before its group, which alone says how many belong together.
TEST_F(SchedulerGangTest, AMemberWaitsUntilItsGroupIsThere) {
  node("n0");
  start();
  api.set_watch_lag(kPodGroups, 1s);
  group("g", 2);
  member("g-0", "g", "1");
  bench.loop.advance(10ms);
  EXPECT_EQ(place("g-0"), "");
  EXPECT_EQ(refusal("g-0"), R"(False Unschedulable: 0/1 nodes are available: podgroup "g" not found.)");
  bench.loop.advance(20s);
  EXPECT_EQ(place("g-0"), "") << "one of two";
  EXPECT_EQ(refusal("g-0"), "False Unschedulable: the pod group has 1 of the 2 pods that it needs to start");
  member("g-1", "g", "1");
  bench.loop.advance(1s);
  EXPECT_EQ(place("g-0") + place("g-1"), "n0n0");
}

TEST_F(SchedulerGangTest, ATicketIsNotTakenBackForABindingThatIsUnderWay) {
  node("n0");
  start();
  api.inject(
      {.when = [](const auto& request) { return request.subresource == "binding" && request.object.name == "g-1"; },
       .error = testing::an_error(Reason::kTimeout)});
  group("g", 2);
  member("g-0", "g", "1");
  member("g-1", "g", "1");
  bench.loop.advance(1min);
  EXPECT_EQ(place("g-0") + place("g-1"), "n0n0");
  EXPECT_EQ(phase_of(true, "g"), "Bound");
  for (const auto& write : api.writes()) EXPECT_THAT(write.body, ::testing::Not(::testing::HasSubstr("Withdrawn")));
}

TEST_F(SchedulerGangTest, OlderLabelsMakeAGangToo) {
  node("n0", "{}", "1");
  const std::string labels = R"({"metadata":{"labels":{"pod-group.scheduling.sigs.k8s.io/name":"old",
                                 "pod-group.scheduling.sigs.k8s.io/min-available":"2"}}})";
  pod("a", "1", labels);
  pod("b", "1", labels);
  start();
  EXPECT_EQ(place("a"), "") << "half of it would fit";
  EXPECT_EQ(place("b"), "");
  node("n1", "{}", "1");
  bench.loop.run_until_idle();
  EXPECT_EQ(place("a") + place("b"), "n0n1");
}

TEST_F(SchedulerGangTest, PreemptsInOrder) {
  node("n0", "{}", "1");
  pod("low", "1", kSlowToEnd);
  start();
  ASSERT_EQ(place("low"), "n0");
  pod("high", "1", priority(10));
  bench.loop.run_until_idle();
  const json::Value victim = api.tree(kPods, {"default", "low"});
  EXPECT_TRUE(api::condition_is_true(victim, "DisruptionTarget"));
  EXPECT_NE(json::string_at(victim, {"metadata", "deletionTimestamp"}), "");
  EXPECT_EQ(place("high"), "") << "before the room is free";
  EXPECT_EQ(json::string_at(api.tree(kPods, {"default", "high"}), {"status", "nominatedNodeName"}), "n0");
  EXPECT_THAT(events(), ::testing::Contains("Normal Preempted by default/high on node n0"));
  EXPECT_EQ(phase_of(false, "high"), "Releasing");
  EXPECT_EQ(verdict_of(false, "high"), "WaitsForVictims: pods have to end first: default/low [default/low]");
  end("low");
  EXPECT_FALSE(exists("low"));
  EXPECT_EQ(place("high"), "n0");
  EXPECT_EQ(phase_of(false, "high"), "Bound");
  EXPECT_EQ(verdict_of(false, "high"), "none") << "it waits no more";
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
  api.remove(kPods, {"default", "high"});
  bench.loop.run_until_idle();
  EXPECT_EQ(phase_of(false, "high"), "none") << "nobody is left whose it was";
}

TEST_F(SchedulerGangTest, WhoseRoomIsTakenOverIsNominatedNoLonger) {
  const auto nominated = [&](const char* name) {
    return std::string(json::string_at(api.tree(kPods, {"default", name}), {"status", "nominatedNodeName"}));
  };
  node("n0", "{}", "1");
  pod("low", "1", kSlowToEnd);
  start();
  pod("mid", "1", priority(10));
  bench.loop.run_until_idle();
  ASSERT_EQ(nominated("mid"), "n0");
  pod("high", "1", priority(20));
  bench.loop.run_until_idle();
  EXPECT_EQ(nominated("high"), "n0");
  EXPECT_EQ(nominated("mid"), "");
  EXPECT_EQ(phase_of(false, "mid"), "Withdrawn");
  EXPECT_EQ(verdict_of(false, "mid"), "TakenOver: its room went to default/high [default/high]");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
  end("low");
  EXPECT_EQ(place("high"), "n0");
}

TEST_F(SchedulerGangTest, TheRoomOfAVictimIsHeldForItsTicket) {
  node("n0", "{}", "2");
  pod("low", "2", kSlowToEnd);
  start();
  pod("high", "1", priority(10));
  bench.loop.run_until_idle();
  pod("thief", "1", priority(20));
  bench.loop.run_until_idle();
  EXPECT_EQ(place("thief"), "") << "nothing is free yet";
  end("low");
  EXPECT_EQ(place("high"), "n0");
  EXPECT_EQ(place("thief"), "n0") << "the other half is";
}

TEST_F(SchedulerGangTest, NobodyIsTouchedForAGangThatCannotFit) {
  node("n0", "{}", "1");
  pod("low", "1");
  start();
  group("g", 2);
  member("g-0", "g", "1", priority(10));
  member("g-1", "g", "1", priority(10));
  bench.loop.run_until_idle();
  EXPECT_EQ(place("low"), "n0");
  EXPECT_TRUE(exists("low"));
  EXPECT_FALSE(api::condition_is_true(api.tree(kPods, {"default", "low"}), "DisruptionTarget"));
}

TEST_F(SchedulerGangTest, APreemptedGroupHasItWrittenDown) {
  node("n0", "{}", "1");
  node("n1", "{}", "1");
  group("v", 2);
  member("v-0", "v", "1");
  member("v-1", "v", "1");
  start();
  ASSERT_EQ(phase_of(true, "v"), "Bound");
  pod("high", "1", priority(10));
  bench.loop.run_until_idle();
  EXPECT_NE(place("high"), "");
  const json::Value record = api.tree(kAllotments, {"default", allotment_name(true, "v")});
  const auto& by = json::array_at(record, {"status", "preemptedBy"});
  ASSERT_EQ(by.size(), 1u);
  EXPECT_EQ(json::string_at(by.front(), {"name"}), "high");
  EXPECT_TRUE(exists("v-0") != exists("v-1")) << "only the one in the way goes";
}

TEST_F(SchedulerGangTest, ATicketIsTakenBackWhenItsNodeIsCordoned) {
  node("n0", "{}", "1");
  pod("low", "1", kSlowToEnd);
  start();
  pod("high", "1", priority(10));
  bench.loop.run_until_idle();
  ASSERT_EQ(phase_of(false, "high"), "Releasing");
  api.patch(kNodes, {"", "n0"}, testing::parsed(R"({"spec":{"unschedulable":true}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(phase_of(false, "high"), "Withdrawn");
  EXPECT_EQ(verdict_of(false, "high"), "TakenBack: a node that it counted on takes it no more []");
  node("n1", "{}", "1");
  bench.loop.advance(15s);
  EXPECT_EQ(place("high"), "n1");
}

TEST_F(SchedulerGangTest, OfManyVictimsAFewAreNamed) {
  node("n0", R"({"status":{"allocatable":{"pods":"110"}}})", "12");
  for (int i = 0; i < 12; ++i) pod("low-" + std::to_string(i), "1", kSlowToEnd);
  start();
  pod("high", "12", priority(10));
  bench.loop.run_until_idle();
  ASSERT_EQ(phase_of(false, "high"), "Releasing");
  const json::Value ticket = api.tree(kAllotments, {"default", allotment_name(false, "high")});
  EXPECT_EQ(json::array_at(ticket, {"status", "verdict", "blockers"}).size(), 10u);
  EXPECT_THAT(verdict_of(false, "high"), ::testing::HasSubstr(" and 2 more"));
  EXPECT_NE(json::string_at(ticket, {"status", "verdict", "since"}), "");
}

// Pods come and go in bad weather; whatever happens, no node ever holds more than it has.
class SchedulerWeatherTest : public SchedulerTest, public ::testing::WithParamInterface<int> {
 public:
  void end_one() {
    for (const auto& [name, version] : api.objects(kPods)) {
      if (version.header->field("spec.nodeName").empty() || version.header->field("status.phase") == "Succeeded")
        continue;
      api.patch(kPods, api::ObjectName(name), testing::parsed(R"({"status":{"phase":"Succeeded"}})"), "status");
      return;
    }
  }
  void expect_no_node_oversubscribed() {
    std::map<std::string, std::int64_t> cpu;
    for (const auto& [name, version] : api.objects(kPods)) {
      const json::Value tree = api.tree(kPods, name);
      const std::string_view phase = json::string_at(tree, {"status", "phase"});
      if (phase == "Succeeded" || phase == "Failed") continue;
      cpu[std::string(json::string_at(tree, {"spec", "nodeName"}))] += api::pod_requests(tree)["cpu"];
    }
    cpu.erase("");
    for (const auto& [node, used] : cpu) ASSERT_LE(used, 4000) << node;
  }
};

TEST_P(SchedulerWeatherTest, NeverOversubscribesAndPlacesAllInTheEnd) {
  api.set_weather({.refused = 150, .lost = 150, .broken_watches = 50, .seed = static_cast<std::uint64_t>(GetParam())});
  api.set_watch_lag(kPods, 120ms);
  for (int i = 0; i < 4; ++i) node("n" + std::to_string(i), R"({"status":{"allocatable":{"pods":"100"}}})");
  start();
  int made = 0;
  for (int round = 0; round < 250; ++round) {
    // The newest comes first, so that it meets what the older ones have been promised.
    if (round % 2 == 0) {
      pod("p" + std::to_string(made), made % 5 == 0 ? "1500m" : "700m",
          R"({"spec":{"priority":)" + std::to_string(made) + "}}");
      ++made;
    }
    if (round % 3 == 0) end_one();
    bench.loop.advance(10ms);
    expect_no_node_oversubscribed();
  }
  api.set_weather({});
  // Longer than the back-off that so much bad luck leads to.
  for (int i = 0; i < 150; ++i) {
    for (const auto& [name, version] : std::map(api.objects(kPods)))
      if (!version.header->field("spec.nodeName").empty())
        api.patch(kPods, name, testing::parsed(R"({"status":{"phase":"Succeeded"}})"), "status");
    bench.loop.advance(1s);
    expect_no_node_oversubscribed();
  }
  for (const auto& [name, version] : api.objects(kPods))
    EXPECT_NE(version.header->field("spec.nodeName"), "") << name.name;
}

INSTANTIATE_TEST_SUITE_P(Seeds, SchedulerWeatherTest, ::testing::Range(1, 7));

}  // namespace
}  // namespace gangway::scheduler
