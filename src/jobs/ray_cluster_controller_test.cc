// The life of a RayCluster: pods, ready, resized, suspended, preempted.
#include "jobs/ray_cluster_controller.h"

#include <gmock/gmock.h>

#include "jobs/mpi_objects.h"
#include "jobs/ray_trainable.h"
#include "jobs/test_ray.h"

namespace gangway::jobs {
namespace {

using client::resources::kAllotments;
using client::resources::kPodGroups;
using client::resources::kPods;
using client::resources::kServiceAccounts;
using client::resources::kServices;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

struct RayClusters : ::testing::Test, testing::ControllerBench {
  RayClusterController reconciler;

  RayClusters() { api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"}); }

  void start(const std::string& spec = "{}", const std::string& rest = "{}") {
    api.create(ray_clusters(), a_ray_cluster(spec, rest));
    ControllerBench::start(reconciler);
  }
  void patch(const std::string& body) {
    api.patch(ray_clusters(), {"default", "r"}, testing::parsed(body));
    loop.run_until_idle();
  }
  json::Value cluster() const { return api.tree(ray_clusters(), {"default", "r"}); }
  std::string text(const char* key) const {
    const json::Value tree = cluster();
    return std::string(json::string_at(tree, {"status", key}));
  }
  std::int64_t number(const char* key) const {
    const json::Value tree = cluster();
    return json::integer_at(tree, {"status", key});
  }
  // "True AllPodRunningAndReadyFirstTime", or nothing.
  std::string condition(const char* type) const {
    const json::Value tree = cluster();
    for (const json::Value& each : json::array_at(tree, {"status", "conditions"}))
      if (json::string_at(each, {"type"}) == type)
        return std::string(json::string_at(each, {"status"})) + " " + std::string(json::string_at(each, {"reason"}));
    return "";
  }
  // Names of pods of a group.
  std::vector<std::string> pods(const std::string& group) const {
    std::vector<std::string> found;
    for (const auto& [name, version] : api.objects(kPods))
      if (version.header->label("ray.io/group") == group) found.push_back(name.name);
    return found;
  }
  std::string head() const { return pods("headgroup").empty() ? "" : pods("headgroup").front(); }
  void set_pod(const std::string& name, const std::string& patch, const std::string& part = "status") {
    api.patch(kPods, {"default", name}, testing::parsed(patch), part);
    loop.run_until_idle();
  }
  void run(const std::string& name) {
    set_pod(name, R"({"spec":{"nodeName":"n"}})", "");
    set_pod(name,
            R"({"status":{"phase":"Running","podIP":"10.0.0.1","conditions":[{"type":"Ready","status":"True"}]}})");
  }
  void run_all() {
    std::vector<std::string> names;
    for (const auto& [name, version] : api.objects(kPods)) names.push_back(name.name);
    for (const std::string& name : names) run(name);
  }
  void preempt(const std::string& name) {
    api.patch(kPods, {"default", name}, testing::parsed(R"({"metadata":{"finalizers":["test/x"]}})"));
    set_pod(name, R"({"status":{"conditions":[
        {"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"}]}})");
    api.remove(kPods, {"default", name});
    loop.run_until_idle();
  }
  void end_deletion(const std::string& name) { set_pod(name, R"({"metadata":{"finalizers":null}})", ""); }
  bool has_event(const std::string& reason) const {
    const auto& events = api.objects(client::resources::kEvents);
    return std::any_of(events.begin(), events.end(), [&](const auto& entry) {
      return json::string_at(testing::parsed(*entry.second.json), {"reason"}) == reason;
    });
  }
};

// Whoever waits for the others may have to wait for ever: there is room for the gang's minimum, and maybe for no more.
TEST_F(RayClusters, ThatAreElasticAreReadyWithTheirMinimum) {
  start(R"({"workerGroupSpecs":[{"groupName":"small","replicas":2,"minReplicas":1,"maxReplicas":5,
            "template":{"spec":{"containers":[{"name":"w","image":"i"}]}}}]})",
        R"({"metadata":{"annotations":{"gangway.dev/on-preempt":"Shrink"}}})");
  const json::Value group = api.tree(kPodGroups, {"default", "r"});
  EXPECT_EQ(json::integer_at(group, {"spec", "minMember"}), 2);
  run(head());
  EXPECT_EQ(text("state"), "");
  run(pods("small").front());
  EXPECT_EQ(text("state"), "ready");
}

TEST_F(RayClusters, AreReadyWhenAllTheirPodsAre) {
  start(R"({"workerGroupSpecs":[{"groupName":"small","replicas":2,"maxReplicas":5,"template":{"spec":{"containers":[
    {"name":"w","image":"i","resources":{"limits":{"cpu":"2","memory":"1Gi","nvidia.com/gpu":"4"}}}]}}}]})");
  EXPECT_THAT(pods("headgroup"), SizeIs(1));
  EXPECT_THAT(pods("small"), SizeIs(2));
  EXPECT_TRUE(api.get(kServices, {"default", "r-head-svc"}));
  const json::Value group = api.tree(kPodGroups, {"default", "r"});
  EXPECT_EQ(json::integer_at(group, {"spec", "minMember"}), 3);
  EXPECT_EQ(text("state"), "");
  EXPECT_EQ(condition("HeadPodReady"), "False ContainersNotReady");
  EXPECT_EQ(condition("RayClusterProvisioned"), "False RayClusterPodsProvisioning");
  for (const char* reason : {"CreatedHeadPod", "CreatedWorkerPod", "CreatedService"}) EXPECT_TRUE(has_event(reason));

  run_all();
  EXPECT_EQ(text("state"), "ready");
  EXPECT_EQ(condition("HeadPodReady"), "True HeadPodRunningAndReady");
  EXPECT_EQ(condition("RayClusterProvisioned"), "True AllPodRunningAndReadyFirstTime");
  EXPECT_EQ(number("desiredWorkerReplicas"), 2);
  EXPECT_EQ(number("availableWorkerReplicas"), 2);
  EXPECT_EQ(number("readyWorkerReplicas"), 2);
  EXPECT_EQ(number("minWorkerReplicas"), 0);
  EXPECT_EQ(number("maxWorkerReplicas"), 5);
  EXPECT_EQ(text("desiredCPU"), "4");
  EXPECT_EQ(text("desiredMemory"), "2Gi");
  EXPECT_EQ(text("desiredGPU"), "8");
  EXPECT_EQ(text("desiredTPU"), "0");
  const json::Value tree = cluster();
  EXPECT_EQ(json::string_at(tree, {"status", "head", "podName"}), head());
  EXPECT_EQ(json::string_at(tree, {"status", "head", "podIP"}), "10.0.0.1");
  EXPECT_EQ(json::string_at(tree, {"status", "head", "serviceIP"}), "10.0.0.1");
  EXPECT_EQ(json::string_at(tree, {"status", "head", "serviceName"}), "r-head-svc");
  EXPECT_EQ(json::string_at(tree, {"status", "endpoints", "dashboard"}), "8265");
  EXPECT_EQ(writes_when_looking_again(), 0U);
}

TEST_F(RayClusters, ReplacePodsThatHaveEndedAndStayReady) {
  start();
  run_all();
  loop.advance(10s);
  const std::string lost = pods("small").front();
  set_pod(lost, R"({"status":{"phase":"Failed"}})");
  EXPECT_TRUE(has_event("DeletedWorkerPod"));
  EXPECT_THAT(pods("small"), SizeIs(2));
  EXPECT_FALSE(api.get(kPods, {"default", lost})) << "who waits for its end must not wait for the next";
  EXPECT_EQ(number("availableWorkerReplicas"), 1);
  EXPECT_EQ(text("state"), "ready");
  set_pod(head(), R"({"status":{"phase":"Succeeded"}})");
  EXPECT_TRUE(has_event("DeletedHeadPod"));
  EXPECT_THAT(pods("headgroup"), SizeIs(1));
  EXPECT_EQ(condition("HeadPodReady"), "False ContainersNotReady");
}

TEST_F(RayClusters, LeaveAPodThatEndsAtOnceForAWhile) {
  start();
  set_pod(head(), R"({"status":{"phase":"Failed"}})");
  EXPECT_FALSE(has_event("DeletedHeadPod"));
  loop.advance(6s);
  EXPECT_TRUE(has_event("DeletedHeadPod"));
}

TEST_F(RayClusters, MayKeepAHeadDownThatHasRun) {
  start("{}", R"({"metadata":{"annotations":{"ray.io/disable-provisioned-head-restart":"true"}}})");
  run_all();
  loop.advance(10s);
  set_pod(head(), R"({"status":{"phase":"Failed"}})");
  EXPECT_THAT(pods("headgroup"), IsEmpty());
  EXPECT_EQ(condition("HeadPodReady"), "False HeadPodNotFound");
}

TEST_F(RayClusters, ReplaceAPodWhoseRayIsNotStartedAgain) {
  start(R"({"headGroupSpec":{"template":{"spec":{"restartPolicy":"Never"}}}})");
  run_all();
  loop.advance(10s);
  set_pod(head(), R"({"status":{"containerStatuses":[{"name":"ray-head","state":{"terminated":{"exitCode":1}}}]}})");
  EXPECT_TRUE(has_event("DeletedHeadPod"));
}

TEST_F(RayClusters, FollowTheNumberOfTheirWorkers) {
  start();
  run_all();
  const auto groups = [](int replicas, const char* more = "") {
    return R"({"spec":{"workerGroupSpecs":[{"groupName":"small","replicas":)" + std::to_string(replicas) + more +
           R"(,"template":{"spec":{"containers":[{"name":"w","image":"i"}]}}}]}})";
  };
  patch(groups(4));
  EXPECT_THAT(pods("small"), SizeIs(4));
  EXPECT_EQ(text("state"), "ready");
  const json::Value group = api.tree(kPodGroups, {"default", "r"});
  EXPECT_EQ(json::integer_at(group, {"spec", "minMember"}), 5);
  patch(groups(1));
  EXPECT_THAT(pods("small"), SizeIs(1));
  patch(groups(1, R"(,"suspend":true)"));
  EXPECT_THAT(pods("small"), IsEmpty());
  patch(R"({"spec":{"workerGroupSpecs":[]}})");
  EXPECT_THAT(pods("headgroup"), SizeIs(1));
  EXPECT_EQ(writes_when_looking_again(), 0U);
}

TEST_F(RayClusters, LeaveItToTheAutoscalerWhichWorkersGo) {
  start(R"({"enableInTreeAutoscaling":true})");
  EXPECT_TRUE(api.get(kServiceAccounts, {"default", "r"}));
  EXPECT_TRUE(api.get(kRoles, {"default", "r"}));
  EXPECT_TRUE(api.get(kRoleBindings, {"default", "r"}));
  run_all();
  const auto wish = [](const std::string& to_delete) {
    return R"({"spec":{"workerGroupSpecs":[{"groupName":"small","replicas":1,"scaleStrategy":{"workersToDelete":[)" +
           to_delete + R"(]},"template":{"spec":{"containers":[{"name":"w","image":"i"}]}}}]}})";
  };
  patch(wish(""));
  EXPECT_THAT(pods("small"), SizeIs(2)) << "nobody was named";
  const std::string stays = pods("small").back();
  patch(wish("\"" + pods("small").front() + "\""));
  EXPECT_THAT(pods("small"), ElementsAre(stays));
}

TEST_F(RayClusters, AreSuspendedAndResumed) {
  start();
  run_all();
  api.patch(kPods, {"default", head()}, testing::parsed(R"({"metadata":{"finalizers":["test/x"]}})"));
  const std::string old = head();
  patch(R"({"spec":{"suspend":true}})");
  EXPECT_EQ(condition("RayClusterSuspending"), "True UserRequestSuspend");
  EXPECT_TRUE(has_event("DeletedPod"));
  patch(R"({"spec":{"suspend":false}})");
  EXPECT_EQ(condition("RayClusterSuspending"), "True UserRequestSuspend") << "begun, it is carried through";
  patch(R"({"spec":{"suspend":true}})");
  end_deletion(old);
  EXPECT_EQ(text("state"), "suspended");
  EXPECT_EQ(condition("RayClusterSuspending"), "False RayClusterSuspended");
  EXPECT_EQ(condition("RayClusterSuspended"), "True RayClusterSuspended");
  EXPECT_EQ(condition("RayClusterProvisioned"), "False RayClusterSuspended");
  EXPECT_THAT(api.objects(kPods), IsEmpty());
  EXPECT_FALSE(api.get(kPodGroups, {"default", "r"}));
  EXPECT_EQ(writes_when_looking_again(), 0U);

  patch(R"({"spec":{"suspend":false}})");
  EXPECT_EQ(text("state"), "");
  EXPECT_EQ(condition("RayClusterSuspended"), "False UserRequestResume");
  EXPECT_THAT(api.objects(kPods), SizeIs(3));
  EXPECT_NE(head(), old);
  const json::Value pod = api.tree(kPods, {"default", head()});
  EXPECT_EQ(json::string_at(pod, {"metadata", "annotations", "gangway.dev/attempt"}), "2");
}

TEST_F(RayClusters, ComeBackWholeWhenTheyArePreempted) {
  start("{}", R"({"metadata":{"annotations":{"gangway.dev/on-preempt":"Requeue"}}})");
  run_all();
  api.create(kAllotments,
             testing::an_object("gangway.dev/v1alpha1", "Allotment", "default", client::allotment_name(true, "r"))
                 .with(R"({"spec":{"gang":{"kind":"PodGroup","name":"r"}},"status":{"preemptedBy":[
                                {"namespace":"default","name":"urgent","at":"2100-01-01T00:00:00Z"}]}})"));
  const std::string lost = pods("small").front();
  preempt(lost);
  EXPECT_EQ(text("state"), "");
  EXPECT_EQ(condition("RayClusterProvisioned"), "False RayClusterPreempted");
  EXPECT_THAT(pods("headgroup"), IsEmpty()) << "all go before any comes";
  end_deletion(lost);
  EXPECT_THAT(api.objects(kPods), SizeIs(3));
  EXPECT_TRUE(api.get(kPodGroups, {"default", "r"})) << "the place in line";
  const json::Value tree = cluster();
  EXPECT_EQ(json::integer_at(tree, {"status", "gangway", "attempt"}), 2);
}

TEST_F(RayClusters, ReplaceAPreemptedWorkerWhenTheyAreToFail) {
  start();
  run_all();
  preempt(pods("small").front());
  EXPECT_THAT(pods("small"), SizeIs(3)) << "one goes, one waits";
  EXPECT_EQ(text("state"), "ready");
}

TEST_F(RayClusters, BelongToTheGangOfTheirJob) {
  api.create(ray_clusters(), testing::an_object("ray.io/v1", "RayCluster", "default", "r")
                                 .owner("ray.io/v1", "RayJob", "j", "uid-of-j", true)
                                 .with(R"({"metadata":{"annotations":{"gangway.dev/attempt":"3"}},"spec":)" +
                                       json::serialize(a_cluster_spec()) + "}"));
  ControllerBench::start(reconciler);
  EXPECT_THAT(api.objects(kPods), IsEmpty()) << "its group is not there yet";
  EXPECT_FALSE(api.get(kPodGroups, {"default", "r"}));
  api.create(kPodGroups, testing::an_object("scheduling.x-k8s.io/v1alpha1", "PodGroup", "default", "j")
                             .owner("ray.io/v1", "RayJob", "j", "uid-of-j", true));
  loop.run_until_idle();
  EXPECT_THAT(api.objects(kPods), SizeIs(3));
  const json::Value pod = api.tree(kPods, {"default", head()});
  EXPECT_EQ(json::string_at(pod, {"metadata", "labels", "scheduling.x-k8s.io/pod-group"}), "j");
  EXPECT_EQ(json::string_at(pod, {"metadata", "annotations", "gangway.dev/attempt"}), "3");
}

TEST_F(RayClusters, SayWhenTheirPodsAreRefused) {
  api.inject({.when = [](const client::ApiRequest& request) { return request.resource == kPods; },
              .error = testing::an_error(Reason::kForbidden),
              .times = 5});
  start();
  for (int i = 0; i < 500 && condition("ReplicaFailure").empty(); ++i) loop.advance(10ms);
  EXPECT_EQ(condition("ReplicaFailure"), "True FailedCreatePod");
  EXPECT_TRUE(has_event("FailedToCreateHeadPod"));
  loop.advance(1min);
  EXPECT_EQ(condition("ReplicaFailure"), "");
  EXPECT_THAT(api.objects(kPods), SizeIs(3));
}

TEST_F(RayClusters, AreTrainables) {
  start("{}", R"({"metadata":{"annotations":{"gangway.dev/on-preempt":"Shrink"}}})");
  run_all();
  std::vector<api::Version> found;
  for (const auto& [name, version] : api.objects(kPods)) found.push_back(version);
  const Trainable seen = ray_cluster_trainable(api.get(ray_clusters(), {"default", "r"}), cluster(), found);
  EXPECT_EQ(seen.phase, Phase::kRunning);
  EXPECT_EQ(seen.chief, head());
  EXPECT_EQ(seen.gang, "r");
  EXPECT_EQ(seen.minimum, 1);
  EXPECT_EQ(seen.wish(), 3);
  EXPECT_EQ(seen.granted(), 3);
  EXPECT_TRUE(seen.offer().suspend);
}

}  // namespace
}  // namespace gangway::jobs
