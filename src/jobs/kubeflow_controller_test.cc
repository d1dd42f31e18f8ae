// The life of a job: from its pods to its end, suspended and resumed in between.
#include "jobs/kubeflow_controller.h"

#include <gmock/gmock.h>

#include "jobs/pytorch_job.h"
#include "jobs/test_jobs.h"
#include "jobs/tf_job.h"

namespace gangway::jobs {
namespace {

using client::resources::kPodGroups;
using client::resources::kPods;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

struct PyTorchJobs : ::testing::Test {
  JobsBench bench{pytorch_rules()};

  void start(const std::vector<Replicas>& replicas, const std::string& rest = "{}") {
    bench.start(a_job(pytorch_rules(), replicas, rest));
  }
};

TEST_F(PyTorchJobs, MakePodsServicesAndAPodGroup) {
  start({{"Master", 1}, {"Worker", 2}},
        R"({"metadata":{"annotations":{"gangway.dev/on-preempt":"Requeue","gangway.dev/min-runtime":"5m","x":"y"}}})");
  EXPECT_THAT(bench.pods(), ElementsAre("j-master-0", "j-worker-0", "j-worker-1"));
  EXPECT_EQ(bench.services(), bench.pods());
  const json::Value group = bench.group();
  EXPECT_EQ(json::integer_at(group, {"spec", "minMember"}), 3);
  EXPECT_EQ(json::serialize(*json::find(group, {"metadata", "annotations"})),
            R"({"gangway.dev/on-preempt":"Requeue","gangway.dev/min-runtime":"5m"})");
  EXPECT_EQ(bench.api.get(kPodGroups, {"default", "j"}).header->owners.at(0).kind, "PyTorchJob");
  EXPECT_EQ(bench.conditions(), "Created");
  EXPECT_EQ(bench.message(), "PyTorchJob j is created.");
  EXPECT_EQ(bench.own("attempt"), 1);
  for (const char* reason : {"SuccessfulCreatePod", "SuccessfulCreateService"}) EXPECT_TRUE(bench.has_event(reason));
  EXPECT_TRUE(bench.has_event("SuccessfulCreatePod", "Created pod: j-worker-1"));
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(PyTorchJobs, RunAndSucceedWithTheirMaster) {
  start({{"Master", 1}, {"Worker", 2}});
  bench.run_all();
  EXPECT_EQ(bench.conditions(), "Created Running");
  EXPECT_EQ(bench.counts("Worker"), "2/0/0");
  const json::Value running = bench.job();
  EXPECT_EQ(json::string_at(running, {"status", "replicaStatuses", "Worker", "selector"}),
            "training.kubeflow.org/job-name=j,training.kubeflow.org/operator-name=pytorchjob-controller,"
            "training.kubeflow.org/replica-type=worker");
  bench.loop.advance(5s);
  bench.end_pod("j-master-0", 0);
  EXPECT_EQ(bench.conditions(), "Created !Running Succeeded");
  EXPECT_EQ(bench.message(), "PyTorchJob j is successfully completed.");
  EXPECT_EQ(bench.counts("Master"), "0/1/0");
  EXPECT_EQ(bench.counts("Worker"), "0/2/0") << "who still ran has succeeded with the job";
  const json::Value done = bench.job();
  EXPECT_EQ(json::string_at(done, {"status", "completionTime"}), to_rfc3339(bench.loop.clock().wall()));
  EXPECT_EQ(bench.pods().size(), 3u) << "cleanPodPolicy None keeps them";
  EXPECT_TRUE(bench.group().is_null());
  for (const char* reason : {"PyTorchJobSucceeded", "JobTerminated", "SuccessfulDeletePodGroup"})
    EXPECT_TRUE(bench.has_event(reason)) << reason;
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(PyTorchJobs, CleanUpAsTheirPolicySays) {
  struct Case {
    const char* policy;
    std::vector<std::string> left;
  };
  for (const Case& each : {Case{"None", {"j-master-0", "j-worker-0"}}, {"Running", {"j-master-0"}}, {"All", {}}}) {
    JobsBench other(pytorch_rules());
    other.start(a_job(pytorch_rules(), {{"Master", 1}, {"Worker", 1}},
                      R"({"spec":{"cleanPodPolicy":")" + std::string(each.policy) + "\"}}"));
    other.run_all();
    other.end_pod("j-master-0", 0);
    EXPECT_EQ(other.pods(), each.left) << each.policy;
    EXPECT_EQ(other.services(), each.left) << each.policy;
  }
}

// They come and go: what becomes of one is not what becomes of the job.
TEST_F(PyTorchJobs, CountOnlyTheFirstOfElasticWorkers) {
  start({{"Worker", 3, "ExitCode"}},
        R"({"spec":{"backoffLimit":0,"elasticPolicy":{"minReplicas":1,"maxReplicas":3}}})");
  bench.run_all();
  const auto restarts = [&](const std::string& pod) {
    bench.set_pod(pod, R"({"status":{"containerStatuses":[{"name":"pytorch","restartCount":2}]}})");
  };
  restarts("j-worker-1");
  const std::string before = bench.uid("j-worker-2");
  bench.end_pod("j-worker-2", 137);
  EXPECT_NE(bench.uid("j-worker-2"), before) << "made again";
  EXPECT_EQ(bench.conditions(), "Created Running");
  EXPECT_EQ(bench.own("restarts"), 0);
  restarts("j-worker-0");
  EXPECT_EQ(bench.message(), "Job j has failed because it has reached the specified backoff limit");
}

// As when its node is drained.
TEST_F(PyTorchJobs, GoOnWhenAnElasticWorkerIsDeleted) {
  for (const char* policy : {"OnFailure", "Never"}) {
    SCOPED_TRACE(policy);
    JobsBench other(pytorch_rules());
    other.start(a_job(pytorch_rules(), {{"Worker", 3, policy}},
                      R"({"spec":{"backoffLimit":0,"elasticPolicy":{"minReplicas":2,"maxReplicas":3}}})"));
    other.run_all();
    other.begin_deletion("j-worker-2", false);
    EXPECT_EQ(other.conditions(), "Created Running");
    EXPECT_EQ(other.counts("Worker"), "2/0/0");
    other.end_deletion("j-worker-2");
    EXPECT_THAT(other.pods(), ElementsAre("j-worker-0", "j-worker-1", "j-worker-2"));
    EXPECT_FALSE(other.has_event("PyTorchJobRestarting"));
    EXPECT_EQ(other.own("restarts"), 0);
    // Below its minimum it is as for any other job.
    other.begin_deletion("j-worker-1", false);
    EXPECT_NE(other.conditions(), "Created Running");
  }
}

// The first to be done ends the job; the log of the job is that of the first Worker.
TEST_F(PyTorchJobs, LetElasticWorkersEndTogether) {
  start({{"Worker", 4}}, R"({"spec":{"cleanPodPolicy":"Running","elasticPolicy":{"minReplicas":1,"maxReplicas":4}}})");
  for (const char* pod : {"j-worker-0", "j-worker-1", "j-worker-2"}) bench.run(pod);
  bench.end_pod("j-worker-1", 0);
  EXPECT_EQ(bench.conditions(), "Created !Running Succeeded");
  EXPECT_THAT(bench.pods(), ElementsAre("j-worker-0", "j-worker-1", "j-worker-2")) << "who waits for room goes";
  bench.end_pod("j-worker-0", 0);
  bench.loop.advance(59s);
  EXPECT_THAT(bench.pods(), ElementsAre("j-worker-0", "j-worker-1", "j-worker-2"));
  bench.loop.advance(1s);
  EXPECT_THAT(bench.pods(), ElementsAre("j-worker-0", "j-worker-1")) << "who has not ended by then is removed";
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

// There is nothing to be seen of it, and without the group it would wait for ever.
TEST_F(PyTorchJobs, DropWhatHasNotStartedWhenTheyEnd) {
  start({{"Master", 1}, {"Worker", 1}});
  bench.run("j-master-0");
  bench.end_pod("j-master-0", 0);
  EXPECT_EQ(bench.conditions(), "Created !Running Succeeded");
  EXPECT_THAT(bench.pods(), ElementsAre("j-master-0"));
}

TEST_F(PyTorchJobs, FailWhereNothingIsTriedAgain) {
  start({{"Master", 1, "Never"}, {"Worker", 1}});
  bench.run_all();
  bench.end_pod("j-master-0", 1);
  EXPECT_EQ(bench.conditions(), "Created !Running Failed");
  EXPECT_EQ(bench.reason(), "PyTorchJobFailed");
  EXPECT_EQ(bench.message(), "PyTorchJob j is failed because 1 Master replica(s) failed.");
  EXPECT_EQ(bench.counts("Worker"), "1/0/0");
  EXPECT_EQ(bench.pods().size(), 2u);
  EXPECT_TRUE(bench.has_event("ExitedWithCode", "Pod: default.j-master-0 exited with code 1"));
}

TEST_F(PyTorchJobs, ReplaceWhatFailsAndCountIt) {
  struct Case {
    const char* restart;
    int code;
    bool replaced;
  };
  for (const Case& each : {Case{"OnFailure", 1, true},
                           {"Always", 1, true},
                           {"ExitCode", 137, true},
                           {"ExitCode", 1, false},
                           {"Never", 137, false}}) {
    JobsBench other(pytorch_rules());
    other.start(a_job(pytorch_rules(), {{"Master", 1}, {"Worker", 2, each.restart}}));
    other.run_all();
    const std::string before = other.uid("j-worker-1");
    other.end_pod("j-worker-1", each.code);
    SCOPED_TRACE(std::string(each.restart) + " " + std::to_string(each.code));
    EXPECT_EQ(other.uid("j-worker-1") != before, each.replaced);
    EXPECT_EQ(other.own("restarts"), each.replaced ? 1 : 0);
    if (each.replaced) {
      EXPECT_EQ(other.conditions(), "Created Running") << "nobody has failed any more, and the Master runs";
      EXPECT_TRUE(other.has_event("PyTorchJobRestarting", "job j is restarting because Worker replica(s) failed."));
    } else {
      EXPECT_EQ(other.conditions(), "Created !Running Failed");
    }
  }
}

TEST_F(PyTorchJobs, TryAgainWhatCouldNotSayHowItEnded) {
  start({{"Worker", 1, "ExitCode"}});
  bench.run_all();
  const std::string before = bench.uid("j-worker-0");
  bench.set_pod("j-worker-0", R"({"status":{"phase":"Failed","reason":"Evicted"}})");
  EXPECT_NE(bench.uid("j-worker-0"), before);
  EXPECT_EQ(bench.conditions(), "Created Restarting");
}

TEST_F(PyTorchJobs, AreScaledFromTheTop) {
  start({{"Worker", 3}});
  EXPECT_EQ(json::integer_at(bench.group(), {"spec", "minMember"}), 3);
  bench.run_all();
  bench.patch_job(R"({"spec":{"pytorchReplicaSpecs":{"Worker":{"replicas":1}}}})");
  EXPECT_THAT(bench.pods(), ElementsAre("j-worker-0"));
  EXPECT_THAT(bench.services(), ElementsAre("j-worker-0"));
  EXPECT_EQ(bench.counts("Worker"), "1/0/0");
  EXPECT_EQ(json::integer_at(bench.group(), {"spec", "minMember"}), 1);
  EXPECT_EQ(bench.conditions(), "Created Running");
  EXPECT_EQ(bench.own("restarts"), 0);
  bench.patch_job(R"({"spec":{"pytorchReplicaSpecs":{"Worker":{"replicas":2}}}})");
  EXPECT_THAT(bench.pods(), ElementsAre("j-worker-0", "j-worker-1"));
}

TEST_F(PyTorchJobs, AreSuspendedAndGoOnAsTheNextAttempt) {
  start({{"Master", 1}, {"Worker", 1}});
  bench.run_all();
  bench.patch_job(R"({"spec":{"runPolicy":{"suspend":true}}})");
  EXPECT_THAT(bench.pods(), IsEmpty());
  EXPECT_THAT(bench.services(), IsEmpty());
  EXPECT_TRUE(bench.group().is_null());
  EXPECT_EQ(bench.conditions(), "Created !Running Suspended");
  EXPECT_EQ(bench.message(), "PyTorchJob j is suspended.");
  EXPECT_EQ(bench.counts("Worker"), "0/0/0");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);

  bench.loop.advance(60s);
  bench.patch_job(R"({"spec":{"runPolicy":{"suspend":false}}})");
  EXPECT_EQ(bench.conditions(), "Created !Running !Suspended");
  EXPECT_EQ(bench.reason(), "PyTorchJobResumed");
  const json::Value job = bench.job();
  EXPECT_EQ(json::string_at(job, {"status", "startTime"}), to_rfc3339(bench.loop.clock().wall()));
  EXPECT_EQ(bench.own("attempt"), 2);
  const json::Value pod = bench.pod("j-master-0");
  EXPECT_EQ(json::string_at(pod, {"metadata", "annotations", "gangway.dev/attempt"}), "2");
  bench.run_all();
  EXPECT_EQ(bench.conditions(), "Created !Suspended Running");
  for (const char* reason : {"PyTorchJobSuspended", "PyTorchJobResumed"}) EXPECT_TRUE(bench.has_event(reason));
}

TEST_F(PyTorchJobs, MakeNothingWhileTheyAreMadeSuspended) {
  start({{"Worker", 1}}, R"({"spec":{"runPolicy":{"suspend":true}}})");
  EXPECT_THAT(bench.pods(), IsEmpty());
  EXPECT_EQ(bench.conditions(), "Created Suspended");
  bench.patch_job(R"({"spec":{"runPolicy":{"suspend":false}}})");
  EXPECT_EQ(bench.own("attempt"), 1);
  EXPECT_EQ(bench.pods().size(), 1u);
}

TEST_F(PyTorchJobs, WaitForTheLastPodOfTheAttemptBefore) {
  start({{"Worker", 2}});
  bench.run_all();
  bench.api.patch(kPods, {"default", "j-worker-0"}, testing::parsed(R"({"metadata":{"finalizers":["test/x"]}})"));
  bench.patch_job(R"({"spec":{"runPolicy":{"suspend":true}}})");
  bench.patch_job(R"({"spec":{"runPolicy":{"suspend":false}}})");
  EXPECT_THAT(bench.pods(), ElementsAre("j-worker-0")) << "it still ends";
  EXPECT_EQ(bench.counts("Worker"), "0/0/0") << "and counts for nothing";
  bench.end_deletion("j-worker-0");
  EXPECT_THAT(bench.pods(), ElementsAre("j-worker-0", "j-worker-1"));
}

TEST_F(PyTorchJobs, LeaveAloneWhatSomebodyElseRuns) {
  start({{"Worker", 1}}, R"({"spec":{"runPolicy":{"managedBy":"kueue.x-k8s.io/multikueue"}}})");
  EXPECT_THAT(bench.pods(), IsEmpty());
  EXPECT_EQ(bench.conditions(), "");
}

TEST_F(PyTorchJobs, AreNoGangWhereTheySaySo) {
  start({{"Worker", 2}}, R"({"metadata":{"annotations":{"gangway.dev/gang":"false"}}})");
  EXPECT_EQ(bench.pods().size(), 2u);
  EXPECT_TRUE(bench.group().is_null());
}

TEST_F(PyTorchJobs, KeepTheirPodGroupInStep) {
  start({{"Worker", 2}}, R"({"metadata":{"annotations":{"gangway.dev/min-runtime":"5m"}}})");
  bench.patch_job(R"({"metadata":{"annotations":{"gangway.dev/min-runtime":null,
      "gangway.dev/last-checkpoint":"2026-01-02T03:04:05Z"}}})");
  const json::Value group = bench.group();
  EXPECT_EQ(json::serialize(*json::find(group, {"metadata", "annotations"})),
            R"({"gangway.dev/last-checkpoint":"2026-01-02T03:04:05Z"})");
  bench.run_all();
  bench.end_pod("j-worker-1", 0);
  EXPECT_EQ(json::integer_at(bench.group(), {"spec", "minMember"}), 1) << "one of two has done its part";
}

TEST_F(PyTorchJobs, AreDeletedAfterTheirTime) {
  start({{"Master", 1}}, R"({"spec":{"runPolicy":{"ttlSecondsAfterFinished":30}}})");
  bench.run_all();
  bench.end_pod("j-master-0", 0);
  bench.loop.advance(29s);
  EXPECT_FALSE(bench.job().is_null());
  bench.loop.advance(1s);
  EXPECT_TRUE(bench.job().is_null());
  EXPECT_TRUE(bench.has_event("SuccessfulDeletePod", "Deleted job: j"));
}

TEST_F(PyTorchJobs, EndAtTheirDeadlineWithoutBeingAsked) {
  start({{"Master", 1}, {"Worker", 1}}, R"({"spec":{"activeDeadlineSeconds":60}})");
  bench.run_all();
  bench.loop.advance(59s);
  EXPECT_EQ(bench.conditions(), "Created Running");
  bench.loop.advance(1s);
  EXPECT_EQ(bench.conditions(), "Created !Running Failed");
  EXPECT_EQ(bench.message(), "Job j has failed because it was active longer than specified deadline");
  EXPECT_THAT(bench.pods(), IsEmpty()) << "whatever cleanPodPolicy says";
  EXPECT_THAT(bench.services(), IsEmpty());
}

TEST_F(PyTorchJobs, EndAtTheirBackoffLimit) {
  struct Case {
    int limit;
    int failures;
    bool fails;
  };
  for (const Case& each : {Case{0, 1, true}, {1, 1, true}, {3, 2, false}, {3, 3, true}}) {
    JobsBench other(pytorch_rules());
    other.start(
        a_job(pytorch_rules(), {{"Worker", 1}}, R"({"spec":{"backoffLimit":)" + std::to_string(each.limit) + "}}"));
    for (int i = 0; i < each.failures; ++i) {
      other.run("j-worker-0");
      other.end_pod("j-worker-0", 1);
    }
    SCOPED_TRACE(each.limit);
    EXPECT_EQ(other.message() == "Job j has failed because it has reached the specified backoff limit", each.fails)
        << other.message();
    EXPECT_EQ(other.pods().empty(), each.fails);
  }
}

TEST_F(PyTorchJobs, CountRestartsInPlaceToo) {
  start({{"Worker", 2}}, R"({"spec":{"runPolicy":{"backoffLimit":3}}})");
  bench.run_all();
  bench.set_pod("j-worker-0", R"({"status":{"containerStatuses":[{"name":"pytorch","restartCount":2}]}})");
  EXPECT_EQ(bench.conditions(), "Created Running");
  bench.set_pod("j-worker-1", R"({"status":{"containerStatuses":[{"name":"pytorch","restartCount":1}]}})");
  EXPECT_EQ(bench.conditions(), "Created !Running Failed");
}

TEST(TfJobs, RestartByExitCodeAndFailOtherwise) {
  JobsBench bench(tf_rules());
  bench.start(a_job(tf_rules(), {{"Chief", 1, "ExitCode"}, {"Worker", 2, "ExitCode"}}));
  bench.run_all();
  EXPECT_EQ(bench.message(), "TFJob default/j is running.");
  const std::string before = bench.uid("j-worker-1");
  bench.end_pod("j-worker-1", 130);
  EXPECT_NE(bench.uid("j-worker-1"), before);
  EXPECT_EQ(bench.conditions(), "Created Running");
  bench.run("j-worker-1");
  bench.end_pod("j-worker-1", 2);
  EXPECT_EQ(bench.conditions(), "Created !Running Failed");
  EXPECT_EQ(bench.message(), R"(job "j" is failing because "Worker" replica(s) failed.)");
}

TEST(TfJobs, SucceedWithTheirFirstWorker) {
  JobsBench bench(tf_rules());
  bench.start(a_job(tf_rules(), {{"PS", 1}, {"Worker", 2}}));
  bench.run_all();
  bench.end_pod("j-worker-0", 0);
  EXPECT_EQ(bench.conditions(), "Created !Running Succeeded");
  EXPECT_EQ(bench.message(), "TFJob default/j successfully completed.");
}

}  // namespace
}  // namespace gangway::jobs
