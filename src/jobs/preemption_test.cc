// What becomes of jobs whose pods are preempted.
#include "jobs/preemption.h"

#include <gmock/gmock.h>

#include "client/action.h"
#include "jobs/pytorch_job.h"
#include "jobs/test_jobs.h"
#include "jobs/tf_job.h"

namespace gangway::jobs {
namespace {

using client::resources::kAllotments;
using client::resources::kPods;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

std::string annotated(const std::string& on_preempt, const std::string& spec = "{}") {
  return R"({"metadata":{"annotations":{"gangway.dev/on-preempt":")" + on_preempt + R"("}},"spec":)" + spec + "}";
}

struct Preempted : ::testing::Test {
  JobsBench bench{pytorch_rules()};

  void start(const std::vector<Replicas>& replicas, const std::string& rest) {
    bench.start(a_job(pytorch_rules(), replicas, rest));
    bench.run_all();
    bench.loop.advance(10s);
  }
  // As the scheduler does before it evicts anybody.
  void record(const std::string& by) {
    const api::ObjectName name{"default", client::allotment_name(true, "j")};
    if (!bench.api.get(kAllotments, name))
      bench.api.create(kAllotments, testing::an_object("gangway.dev/v1alpha1", "Allotment", "default", name.name)
                                        .with(R"({"spec":{"gang":{"kind":"PodGroup","name":"j"}}})"));
    json::Value told = json::Object();
    json::object_at(told, {"status"})["preemptedBy"] = json::Array{
        json::Object{{"namespace", "default"}, {"name", by}, {"at", to_rfc3339(bench.loop.clock().wall())}}};
    bench.api.patch(kAllotments, name, told, "status");
    bench.loop.run_until_idle();
  }
};

TEST_F(Preempted, WithRequeueComeBackAsOne) {
  start({{"Master", 1, "Never"}, {"Worker", 2}}, annotated("Requeue"));
  record("critical");
  bench.begin_deletion("j-worker-1", true);
  EXPECT_EQ(bench.conditions(), "Created Restarting");
  EXPECT_EQ(bench.reason(), "PyTorchJobPreempted");
  EXPECT_EQ(bench.message(), "PyTorchJob j was preempted by default/critical and is queued again as attempt 2.");
  EXPECT_THAT(bench.pods(), ElementsAre("j-worker-1")) << "the rest goes with it";
  EXPECT_EQ(bench.counts("Worker"), "0/0/0");
  bench.end_deletion("j-worker-1");
  EXPECT_THAT(bench.pods(), ElementsAre("j-master-0", "j-worker-0", "j-worker-1"));
  const json::Value pod = bench.pod("j-worker-0");
  EXPECT_EQ(json::string_at(pod, {"metadata", "annotations", "gangway.dev/attempt"}), "2");
  EXPECT_EQ(bench.own("attempt"), 2);
  EXPECT_EQ(bench.own("restarts"), 0) << "nothing has failed";
  EXPECT_FALSE(bench.group().is_null()) << "it keeps the place in line";
  bench.run_all();
  EXPECT_EQ(bench.conditions(), "Created Running");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(Preempted, WithRequeueWhenNobodySawThemGo) {
  start({{"Worker", 2}}, annotated("Requeue"));
  record("critical");
  bench.api.remove(kPods, {"default", "j-worker-0"});
  bench.api.remove(kPods, {"default", "j-worker-1"});
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.own("attempt"), 2);
  EXPECT_EQ(bench.reason(), "PyTorchJobPreempted");
  EXPECT_EQ(bench.pods().size(), 2u);
  EXPECT_EQ(bench.own("restarts"), 0);
}

// A gang of one is bound without an Allotment. Whoever took its room has one.
TEST_F(Preempted, WithRequeueAlsoNameWhoTookTheRoomOfASinglePod) {
  start({{"Master", 1, "Never"}}, annotated("Requeue"));
  bench.api.create(kAllotments, testing::an_object("gangway.dev/v1alpha1", "Allotment", "default", "critical-x")
                                    .with(R"({"spec":{"gang":{"kind":"PodGroup","name":"critical"},"victims":[
                                        {"namespace":"default","pod":"j-master-0","uid":")" +
                                          bench.uid("j-master-0") + "\"}]}}"));
  bench.begin_deletion("j-master-0", true);
  EXPECT_EQ(bench.message(), "PyTorchJob j was preempted by default/critical and is queued again as attempt 2.");
}

// Nor need that pod be there any more.
TEST_F(Preempted, WithRequeueWhenNobodySawASinglePodGo) {
  start({{"Master", 1, "Never"}}, annotated("Requeue"));
  const auto grant = [&](const char* name, const char* how) {
    bench.api.create(kAllotments, testing::an_object("gangway.dev/v1alpha1", "Allotment", "default", name)
                                      .with(R"({"spec":{"gang":{"kind":"PodGroup","name":"critical"},"grantedAt":")" +
                                            to_rfc3339(bench.loop.clock().wall()) + R"(","victims":[{"namespace":
                                            "default","uid":"gone","gang":"default/j","how":")" +
                                            how + "\"}]}}"));
    bench.loop.run_until_idle();
  };
  grant("who-waits-for-it", "Fail");
  bench.api.remove(kPods, {"default", "j-master-0"});
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.own("attempt"), 1) << "its user may have deleted it";
  bench.run_all();
  bench.loop.advance(10s);
  grant("who-takes-it", "Requeue");
  bench.api.remove(kPods, {"default", "j-master-0"});
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.own("attempt"), 2);
  EXPECT_EQ(bench.message(), "PyTorchJob j was preempted by default/critical and is queued again as attempt 2.");
}

TEST_F(Preempted, WithRequeueWhoseOthersFailMeanwhile) {
  start({{"Master", 1, "Never"}, {"Worker", 1}}, annotated("Requeue"));
  record("critical");
  bench.begin_deletion("j-worker-0", true);
  bench.end_deletion("j-worker-0");
  bench.run_all();
  ASSERT_EQ(bench.own("attempt"), 2);
  // The same once more, but the others have failed by the time anybody looks.
  bench.loop.advance(10s);
  record("other");
  bench.api.set_watch_lag(kPods, 1s);
  bench.api.remove(kPods, {"default", "j-worker-0"});
  bench.api.patch(kPods, {"default", "j-master-0"}, testing::parsed(R"({"status":{"phase":"Failed"}})"), "status");
  bench.loop.advance(5s);
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.own("attempt"), 3);
  EXPECT_EQ(bench.message(), "PyTorchJob j was preempted by default/other and is queued again as attempt 3.");
}

TEST_F(Preempted, WithFailCountAsFailed) {
  start({{"Master", 1, "Never"}, {"Worker", 2}}, annotated("Fail"));
  record("critical");
  bench.begin_deletion("j-worker-1", true);
  EXPECT_EQ(bench.conditions(), "Created Restarting");
  EXPECT_EQ(bench.message(), "PyTorchJob j is restarting because 1 Worker replica(s) failed.");
  bench.end_deletion("j-worker-1");
  EXPECT_EQ(bench.pods().size(), 3u);
  EXPECT_EQ(bench.own("attempt"), 1);
  EXPECT_EQ(bench.conditions(), "Created Running");
  // What the loss of a rank does to the collective.
  bench.end_pod("j-master-0", 1);
  EXPECT_EQ(bench.conditions(), "Created !Running Failed");
}

TEST_F(Preempted, WithFailWhereNothingIsTriedAgain) {
  start({{"Master", 1, "Never"}, {"Worker", 2, "Never"}}, annotated("Fail"));
  bench.begin_deletion("j-worker-1", true);
  EXPECT_EQ(bench.message(), "PyTorchJob j is failed because 1 Worker replica(s) failed.");
}

// What the others were doing when they lost it, and how they ended, is theirs to say.
TEST_F(Preempted, WithFailTheOthersMayEndByThemselves) {
  start({{"Master", 1, "Never"}, {"Worker", 2, "Never"}}, annotated("Fail", R"({"cleanPodPolicy":"Running"})"));
  bench.begin_deletion("j-worker-1", true);
  EXPECT_EQ(bench.conditions(), "Created !Running Failed");
  const json::Value failed = bench.job();
  EXPECT_EQ(json::string_at(failed, {"status", "gangway", "endedBy"}), "Preempted");
  EXPECT_THAT(bench.pods(), ElementsAre("j-master-0", "j-worker-0", "j-worker-1"));
  bench.end_deletion("j-worker-1");
  EXPECT_THAT(bench.pods(), ElementsAre("j-master-0", "j-worker-0")) << "it is not made again";
  EXPECT_THAT(bench.services(), ElementsAre("j-master-0", "j-worker-0")) << "they may still look for each other";
  bench.end_pod("j-master-0", 1);
  bench.loop.advance(59s);
  EXPECT_THAT(bench.pods(), ElementsAre("j-master-0", "j-worker-0"));
  bench.loop.advance(1s);
  EXPECT_THAT(bench.pods(), ElementsAre("j-master-0")) << "who has not ended by then is removed";
  EXPECT_THAT(bench.services(), ElementsAre("j-master-0"));
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(Preempted, WithFailThePolicyHolds) {
  struct Case {
    const char* policy;
    std::vector<std::string> left;
  };
  for (const Case& each : {Case{"None", {"j-master-0", "j-worker-0"}}, {"Running", {"j-worker-0"}}, {"All", {}}}) {
    SCOPED_TRACE(each.policy);
    JobsBench other(pytorch_rules());
    other.start(a_job(pytorch_rules(), {{"Master", 1, "Never"}, {"Worker", 2, "Never"}},
                      annotated("Fail", R"({"cleanPodPolicy":")" + std::string(each.policy) + "\"}")));
    other.run_all();
    other.begin_deletion("j-worker-1", true);
    other.end_deletion("j-worker-1");
    if (!other.pods().empty()) other.end_pod("j-worker-0", 1);
    other.loop.advance(2min);
    EXPECT_EQ(other.pods(), each.left);
  }
}

// A pod that goes at once may be gone before anybody looks, and has been made again when the others fail.
TEST_F(Preempted, WithFailAlsoWhenNobodySawIt) {
  start({{"Master", 1, "Never"}, {"Worker", 2, "Never"}}, annotated("Fail", R"({"cleanPodPolicy":"Running"})"));
  record("critical");
  bench.api.remove(kPods, {"default", "j-worker-1"});
  bench.loop.run_until_idle();
  bench.end_pod("j-master-0", 1);
  EXPECT_EQ(bench.conditions(), "Created !Running Failed");
  EXPECT_THAT(bench.pods(), ElementsAre("j-master-0", "j-worker-0")) << "the one that waits for room goes";
  bench.end_pod("j-worker-0", 1);
  bench.loop.advance(2min);
  EXPECT_THAT(bench.pods(), ElementsAre("j-master-0", "j-worker-0"));
}

TEST_F(Preempted, OthersThatFailAreCleanedUpAtOnce) {
  start({{"Master", 1, "Never"}, {"Worker", 1, "Never"}}, annotated("Fail", R"({"cleanPodPolicy":"Running"})"));
  bench.end_pod("j-master-0", 1);
  EXPECT_THAT(bench.pods(), ElementsAre("j-master-0"));
}

TEST_F(Preempted, ElasticJobsShrinkAndGrowBack) {
  start({{"Worker", 3}}, annotated("Shrink", R"({"elasticPolicy":{"minReplicas":1,"maxReplicas":3}})"));
  const json::Value group = bench.group();
  EXPECT_EQ(json::integer_at(group, {"spec", "minMember"}), 1);
  EXPECT_EQ(json::string_at(group, {"metadata", "annotations", "gangway.dev/max-members"}), "3");
  EXPECT_EQ(json::string_at(group, {"metadata", "annotations", "gangway.dev/on-preempt"}), "Shrink");
  bench.begin_deletion("j-worker-2", true);
  EXPECT_EQ(bench.conditions(), "Created Running");
  EXPECT_EQ(bench.counts("Worker"), "2/0/0");
  bench.end_deletion("j-worker-2");
  EXPECT_THAT(bench.pods(), ElementsAre("j-worker-0", "j-worker-1", "j-worker-2")) << "made again, it waits for room";
  EXPECT_EQ(bench.own("attempt"), 1);
  EXPECT_EQ(bench.own("restarts"), 0);
  bench.run("j-worker-2");
  EXPECT_EQ(bench.counts("Worker"), "3/0/0");
}

// torchrun that is told to end says so with a code that is not 0, like any program that was interrupted.
TEST_F(Preempted, ElasticJobsDoNotMindHowTheLostOnesEnd) {
  for (const char* policy : {"OnFailure", "ExitCode", "Never"}) {
    SCOPED_TRACE(policy);
    JobsBench other(pytorch_rules());
    other.start(a_job(pytorch_rules(), {{"Worker", 3, policy}},
                      annotated("Shrink", R"({"backoffLimit":0,"elasticPolicy":{"minReplicas":1,"maxReplicas":3}})")));
    other.run_all();
    other.begin_deletion("j-worker-2", true);
    other.end_pod("j-worker-2", 1);
    EXPECT_EQ(other.conditions(), "Created Running");
    EXPECT_EQ(other.counts("Worker"), "2/0/0");
    EXPECT_FALSE(other.has_event("PyTorchJobRestarting")) << "it trains on";
    other.end_deletion("j-worker-2");
    EXPECT_THAT(other.pods(), ElementsAre("j-worker-0", "j-worker-1", "j-worker-2"));
    EXPECT_EQ(other.own("restarts"), 0);
    EXPECT_EQ(other.writes_when_looking_again(), 0u);
  }
}

// The others meet at the first Worker and cannot go on without it, nor with fewer than their minimum.
TEST_F(Preempted, WithShrinkComeBackWholeWhereTheyCannotGoOn) {
  struct Case {
    const char* name;
    int minimum;
    std::vector<std::string> lost;
  };
  for (const Case& each :
       {Case{"the first", 1, {"j-worker-0"}}, Case{"below the minimum", 2, {"j-worker-1", "j-worker-2"}},
        Case{"all", 1, {"j-worker-2", "j-worker-1", "j-worker-0"}}}) {
    SCOPED_TRACE(each.name);
    JobsBench other(pytorch_rules());
    other.start(a_job(pytorch_rules(), {{"Worker", 3}},
                      annotated("Shrink", R"({"backoffLimit":0,"elasticPolicy":{"maxReplicas":3,"minReplicas":)" +
                                              std::to_string(each.minimum) + "}}")));
    other.run_all();
    std::string victims;
    for (const std::string& lost : each.lost)
      victims += (victims.empty() ? "" : ",") + (R"({"namespace":"default","pod":")" + lost) + R"(","uid":")" +
                 other.uid(lost) + "\"}";
    other.api.create(kAllotments, testing::an_object("gangway.dev/v1alpha1", "Allotment", "default", "critical-x")
                                      .with(R"({"spec":{"gang":{"kind":"PodGroup","name":"critical"},"victims":[)" +
                                            victims + "]}}"));
    for (const std::string& lost : each.lost) other.begin_deletion(lost, true);
    EXPECT_EQ(other.conditions(), "Created Restarting");
    EXPECT_EQ(other.message(), "PyTorchJob j was preempted by default/critical and is queued again as attempt 2.");
    EXPECT_EQ(other.pods().size(), each.lost.size()) << "the rest goes with them";
    for (const std::string& lost : each.lost) other.end_deletion(lost);
    EXPECT_THAT(other.pods(), ElementsAre("j-worker-0", "j-worker-1", "j-worker-2"));
    EXPECT_EQ(other.own("attempt"), 2);
    EXPECT_EQ(other.own("restarts"), 0);
    other.run("j-worker-0");
    EXPECT_EQ(other.conditions(), "Created Running");
  }
}

TEST_F(Preempted, WithShrinkBlameNobodyForAWorkerThatAUserDeletes) {
  start({{"Worker", 3}}, annotated("Shrink", R"({"elasticPolicy":{"minReplicas":1,"maxReplicas":3}})"));
  record("critical");
  bench.begin_deletion("j-worker-2", true);
  bench.end_deletion("j-worker-2");
  bench.run("j-worker-2");
  bench.loop.advance(10s);
  bench.begin_deletion("j-worker-0", false);
  EXPECT_EQ(bench.own("attempt"), 1);
  bench.end_deletion("j-worker-0");
  EXPECT_EQ(bench.pods().size(), 3u);
  EXPECT_EQ(bench.own("attempt"), 1);
}

TEST_F(Preempted, ElasticJobsAreQueuedAgainOnlyBelowTheirMinimum) {
  start({{"Worker", 3}}, annotated("Requeue", R"({"elasticPolicy":{"minReplicas":2,"maxReplicas":3}})"));
  record("critical");
  bench.begin_deletion("j-worker-2", true);
  EXPECT_EQ(bench.own("attempt"), 1);
  bench.begin_deletion("j-worker-1", true);
  EXPECT_EQ(bench.own("attempt"), 2);
  EXPECT_THAT(bench.pods(), ElementsAre("j-worker-1", "j-worker-2"));
}

TEST_F(Preempted, PodsOfNoGangComeBackAlone) {
  start({{"Worker", 2, "Never"}}, R"({"metadata":{"annotations":{"gangway.dev/on-preempt":"Requeue",
                                                                 "gangway.dev/gang":"false"}}})");
  const std::string other = bench.uid("j-worker-0");
  bench.begin_deletion("j-worker-1", true);
  bench.end_deletion("j-worker-1");
  EXPECT_EQ(bench.conditions(), "Created Running");
  EXPECT_EQ(bench.uid("j-worker-0"), other);
  EXPECT_EQ(bench.pods().size(), 2u);
}

TEST_F(Preempted, WhatAUserDeletesIsNotPreempted) {
  start({{"Worker", 2}}, annotated("Requeue"));
  bench.begin_deletion("j-worker-1", false);
  EXPECT_EQ(bench.own("attempt"), 1);
  EXPECT_EQ(bench.own("restarts"), 1);
  bench.end_deletion("j-worker-1");
  EXPECT_EQ(bench.pods().size(), 2u);
}

TEST(PreemptedTf, FailsWhateverItsRestartPolicy) {
  JobsBench bench(tf_rules());
  bench.start(a_job(tf_rules(), {{"Worker", 2, "OnFailure"}}));
  bench.run_all();
  bench.begin_deletion("j-worker-1", true);
  EXPECT_EQ(bench.conditions(), "Created !Running Failed");
  EXPECT_EQ(bench.message(), "TFJob default/j has failed because 1 Worker replica(s) failed.");
}

TEST(PreemptedTf, ComesBackWithRequeue) {
  JobsBench bench(tf_rules());
  bench.start(a_job(tf_rules(), {{"PS", 1}, {"Worker", 2}}, annotated("Requeue")));
  bench.run_all();
  bench.begin_deletion("j-worker-1", true);
  EXPECT_EQ(bench.reason(), "TFJobPreempted");
  bench.end_deletion("j-worker-1");
  EXPECT_EQ(bench.pods().size(), 3u);
  EXPECT_EQ(bench.conditions(), "Created Restarting");
}

}  // namespace
}  // namespace gangway::jobs
