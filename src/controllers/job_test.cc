#include "controllers/job.h"

#include "controllers/test_jobs.h"
#include "controllers/ttl_after_finished.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kJobs;
using client::resources::kPods;

TEST_F(JobTest, RunsOnePodAndCompletes) {
  start();
  ASSERT_EQ(bench.pod_names().size(), 1u);
  EXPECT_EQ(bench.counts(), "1/0/0");
  EXPECT_EQ(bench.text({"status", "startTime"}), to_rfc3339(bench.loop.clock().wall()));
  const std::string name = bench.pod_names()[0];
  const api::Version pod = api.get(kPods, {"default", name});
  EXPECT_TRUE(name.starts_with("j-")) << name;
  EXPECT_EQ(pod.header->label("job"), "j");
  EXPECT_EQ(pod.header->finalizers, std::vector<std::string>{kTrackingFinalizer});
  EXPECT_EQ(pod.header->owners.at(0).uid, api.get(kJobs, {"default", "j"}).header->uid);
  EXPECT_TRUE(pod.header->owners.at(0).controller);

  bench.loop.advance(5s);
  bench.succeed(name);
  EXPECT_EQ(bench.counts(), "0/1/0");
  EXPECT_EQ(bench.conditions(), "SuccessCriteriaMet Complete:CompletionsReached");
  EXPECT_EQ(bench.message(), "Reached expected number of succeeded pods");
  EXPECT_EQ(bench.text({"status", "completionTime"}), to_rfc3339(bench.loop.clock().wall()));
  EXPECT_EQ(bench.uncounted(), "{}");
  EXPECT_TRUE(api.get(kPods, {"default", name}).header->finalizers.empty());
  for (const char* reason : {"SuccessfulCreate", "Completed"}) EXPECT_TRUE(bench.has_event(reason)) << reason;
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(JobTest, RunsAsManyAtOnceAsParallelismSays) {
  start(R"({"parallelism":3,"completions":5})");
  EXPECT_EQ(bench.counts(), "3/0/0");
  bench.succeed(bench.active_pods()[0]);
  EXPECT_EQ(bench.counts(), "3/1/0");
  bench.succeed(bench.active_pods()[0]);
  bench.succeed(bench.active_pods()[0]);
  // Two are left to do.
  EXPECT_EQ(bench.counts(), "2/3/0");
  bench.succeed(bench.active_pods()[0]);
  bench.succeed(bench.active_pods()[0]);
  EXPECT_EQ(bench.counts(), "0/5/0");
  EXPECT_EQ(bench.conditions(), "SuccessCriteriaMet Complete:CompletionsReached");
  EXPECT_EQ(bench.pod_names().size(), 5u);
}

TEST_F(JobTest, NoCompletionsAreCompleteAtOnce) {
  start(R"({"completions":0})");
  EXPECT_TRUE(bench.pod_names().empty());
  EXPECT_EQ(bench.conditions(), "SuccessCriteriaMet Complete:CompletionsReached");
}

TEST_F(JobTest, AWorkQueueIsDoneWhenOneHasSucceededAndTheOthersHaveEnded) {
  start(R"({"completions":null,"parallelism":3})");
  EXPECT_EQ(bench.counts(), "3/0/0");
  bench.succeed(bench.active_pods()[0]);
  // No more are made; those that run go on.
  EXPECT_EQ(bench.counts(), "2/1/0");
  bench.fail(bench.active_pods()[0]);
  EXPECT_EQ(bench.conditions(), "");
  bench.succeed(bench.active_pods()[0]);
  EXPECT_EQ(bench.counts(), "0/2/1");
  EXPECT_EQ(bench.conditions(), "SuccessCriteriaMet Complete:CompletionsReached");
  EXPECT_EQ(bench.pod_names().size(), 3u);
}

// 10 s after the first failure, 20 s after the second, 40 s after the third, and 6 min at most.
TEST_F(JobTest, WaitsLongerAfterEachFailure) {
  start(R"({"backoffLimit":100})");
  const int waits[] = {10, 20, 40, 80, 160, 320, 360, 360};
  for (const int seconds : waits) {
    bench.fail(bench.active_pods().at(0));
    EXPECT_TRUE(bench.active_pods().empty());
    bench.loop.advance(std::chrono::seconds(seconds) - 1ms);
    EXPECT_TRUE(bench.active_pods().empty()) << seconds;
    bench.loop.advance(1ms);
    EXPECT_EQ(bench.active_pods().size(), 1u) << seconds;
  }
}

TEST_F(JobTest, ASuccessEndsTheBackOff) {
  start(R"({"parallelism":1,"completions":3})");
  bench.fail(bench.active_pods().at(0));
  bench.loop.advance(10s);
  bench.fail(bench.active_pods().at(0));
  bench.loop.advance(20s);
  bench.succeed(bench.active_pods().at(0));
  EXPECT_EQ(bench.active_pods().size(), 1u);
  bench.loop.advance(1s);
  bench.fail(bench.active_pods().at(0));
  bench.loop.advance(10s);
  EXPECT_EQ(bench.active_pods().size(), 1u);
}

TEST_F(JobTest, FailsWhenMorePodsHaveFailedThanTheLimitSays) {
  start(R"({"backoffLimit":1})");
  bench.fail(bench.active_pods().at(0));
  EXPECT_EQ(bench.counts(), "0/0/1");
  EXPECT_EQ(bench.conditions(), "");
  bench.loop.advance(10s);
  bench.fail(bench.active_pods().at(0));
  EXPECT_EQ(bench.counts(), "0/0/2");
  EXPECT_EQ(bench.conditions(), "FailureTarget Failed:BackoffLimitExceeded");
  EXPECT_EQ(bench.message(), "Job has reached the specified backoff limit");
  EXPECT_TRUE(bench.has_event("BackoffLimitExceeded"));
  bench.loop.advance(1h);
  EXPECT_EQ(bench.pod_names().size(), 2u);
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(JobTest, TheOtherPodsOfAJobThatFailsAreDeletedAndCountAsFailed) {
  start(R"({"backoffLimit":0,"parallelism":3,"completions":3})");
  bench.fail(bench.active_pods().at(0));
  EXPECT_EQ(bench.conditions(), "FailureTarget Failed:BackoffLimitExceeded");
  EXPECT_EQ(bench.counts(), "0/0/3");
  EXPECT_EQ(bench.pod_names().size(), 1u);
  EXPECT_TRUE(bench.has_event("SuccessfulDelete"));
}

TEST_F(JobTest, PodsThatRestartTheirContainersTooOftenFailTheJob) {
  start(R"({"backoffLimit":2,"template":{"spec":{"restartPolicy":"OnFailure"}}})");
  const auto restarted = [&](int times) {
    api.patch(kPods, {"default", bench.pod_names()[0]},
              testing::parsed(R"({"status":{"phase":"Running","containerStatuses":[{"name":"main","restartCount":)" +
                              std::to_string(times) + "}]}}"),
              "status");
    bench.loop.run_until_idle();
  };
  restarted(1);
  EXPECT_EQ(bench.conditions(), "");
  restarted(2);
  EXPECT_EQ(bench.conditions(), "FailureTarget Failed:BackoffLimitExceeded");
}

TEST_F(JobTest, FailsAtExactlyItsDeadline) {
  start(R"({"activeDeadlineSeconds":100})");
  bench.loop.advance(99'999ms);
  EXPECT_EQ(bench.conditions(), "");
  bench.loop.advance(1ms);
  EXPECT_EQ(bench.conditions(), "FailureTarget Failed:DeadlineExceeded");
  EXPECT_EQ(bench.message(), "Job was active longer than specified deadline");
  EXPECT_EQ(bench.counts(), "0/0/1");
  EXPECT_TRUE(bench.pod_names().empty());
}

TEST_F(JobTest, SuspendsAndResumes) {
  start(R"({"parallelism":2,"completions":2,"activeDeadlineSeconds":100})");
  bench.loop.advance(90s);
  bench.patch_job(R"({"spec":{"suspend":true}})");
  EXPECT_TRUE(bench.pod_names().empty());
  // What was taken back has not failed.
  EXPECT_EQ(bench.counts(), "0/0/0");
  EXPECT_EQ(bench.conditions(), "Suspended:JobSuspended");
  EXPECT_TRUE(bench.has_event("Suspended"));
  EXPECT_TRUE(bench.has_event("SuccessfulDelete"));
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
  bench.loop.advance(1h);
  EXPECT_EQ(bench.conditions(), "Suspended:JobSuspended");

  bench.patch_job(R"({"spec":{"suspend":false}})");
  EXPECT_EQ(bench.counts(), "2/0/0");
  EXPECT_EQ(bench.conditions(), "");
  EXPECT_TRUE(bench.has_event("Resumed"));
  EXPECT_EQ(bench.text({"status", "startTime"}), to_rfc3339(bench.loop.clock().wall()));
  bench.loop.advance(99s);
  EXPECT_EQ(bench.conditions(), "");
  bench.loop.advance(1s);
  EXPECT_EQ(bench.conditions(), "FailureTarget Failed:DeadlineExceeded");
}

TEST_F(JobTest, AJobThatIsMadeSuspendedHasNotBegun) {
  start(R"({"suspend":true})");
  EXPECT_TRUE(bench.pod_names().empty());
  EXPECT_EQ(bench.text({"status", "startTime"}), "");
  EXPECT_EQ(bench.conditions(), "Suspended:JobSuspended");
}

TEST_F(JobTest, TakesBackWhatParallelismNoLongerAllows) {
  start(R"({"parallelism":4,"completions":10})");
  bench.patch_job(R"({"spec":{"parallelism":1}})");
  EXPECT_EQ(bench.counts(), "1/0/0");
  EXPECT_EQ(bench.pod_names().size(), 1u);
  bench.patch_job(R"({"spec":{"parallelism":3}})");
  EXPECT_EQ(bench.counts(), "3/0/0");
  for (const std::string& name : bench.pod_names())
    EXPECT_FALSE(api.get(kPods, {"default", name}).header->finalizers.empty());
}

TEST_F(JobTest, APodThatIsDeletedCountsAsFailedAndIsReplaced) {
  start();
  api.remove(kPods, {"default", bench.pod_names()[0]});
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.counts(), "0/0/1");
  EXPECT_TRUE(bench.pod_names().empty());
  bench.loop.advance(10s);
  EXPECT_EQ(bench.counts(), "1/0/1");
}

TEST_F(JobTest, APodThatIsDeletedAfterItSucceededHasSucceeded) {
  start();
  const std::string name = bench.pod_names()[0];
  bench.end_pod(name, "Succeeded", 0);
  api.remove(kPods, {"default", name});
  bench.loop.run_until_idle();
  EXPECT_TRUE(bench.pod_names().empty());
  EXPECT_EQ(bench.counts(), "0/1/0");
  EXPECT_EQ(bench.conditions(), "SuccessCriteriaMet Complete:CompletionsReached");
}

// With podReplacementPolicy Failed a pod that is being deleted holds its place until it has ended.
TEST_F(JobTest, ReplacesOnlyWhatHasFailedWhenToldSo) {
  start(R"({"podReplacementPolicy":"Failed"})");
  const std::string name = bench.pod_names()[0];
  api.patch(kPods, {"default", name},
            testing::parsed(R"({"metadata":{"finalizers":["batch.kubernetes.io/job-tracking","example.com/hold"]}})"));
  api.remove(kPods, {"default", name});
  bench.loop.advance(1min);
  EXPECT_EQ(bench.counts(), "0/0/0");
  EXPECT_EQ(json::integer_at(bench.job(), {"status", "terminating"}), 1);
  EXPECT_EQ(bench.pod_names().size(), 1u);
  bench.fail(name);
  EXPECT_EQ(bench.counts(), "0/0/1");
  bench.loop.advance(10s);
  EXPECT_EQ(bench.counts(), "1/0/1");
}

// The last word waits until nothing of the Job runs any more.
TEST_F(JobTest, IsNotFinishedWhileAPodIsStillTerminating) {
  start(R"({"backoffLimit":0,"parallelism":2,"completions":2})");
  const std::string slow = bench.active_pods().at(1);
  api.patch(kPods, {"default", slow},
            testing::parsed(R"({"metadata":{"finalizers":["batch.kubernetes.io/job-tracking","example.com/hold"]}})"));
  bench.fail(bench.active_pods().at(0));
  EXPECT_EQ(bench.conditions(), "FailureTarget:BackoffLimitExceeded");
  EXPECT_EQ(bench.counts(), "0/0/2");
  api.patch(kPods, {"default", slow}, testing::parsed(R"({"metadata":{"finalizers":[]}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.conditions(), "FailureTarget Failed:BackoffLimitExceeded");
  EXPECT_EQ(bench.counts(), "0/0/2");
}

TEST_F(JobTest, LetsPodsGoWhenTheJobIsDeleted) {
  start(R"({"parallelism":2,"completions":2})");
  api.remove(kJobs, {"default", "j"});
  bench.loop.run_until_idle();
  for (const std::string& name : bench.pod_names())
    EXPECT_TRUE(api.get(kPods, {"default", name}).header->finalizers.empty());
}

TEST_F(JobTest, LetsPodsGoWhileTheJobIsBeingDeleted) {
  start(R"({"parallelism":2,"completions":2})");
  api.remove(kJobs, {"default", "j"}, "Foreground");
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.pod_names().size(), 2u);
  for (const std::string& name : bench.pod_names())
    EXPECT_TRUE(api.get(kPods, {"default", name}).header->finalizers.empty());
}

TEST_F(JobTest, LeavesJobsOfOtherManagersAlone) {
  start(R"({"managedBy":"example.com/controller"})");
  EXPECT_TRUE(api.writes().empty());
}

TEST_F(JobTest, APodThatLostItsFinalizerGetsItAgain) {
  start();
  const std::string name = bench.pod_names()[0];
  api.patch(kPods, {"default", name}, testing::parsed(R"({"metadata":{"finalizers":[]}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(api.get(kPods, {"default", name}).header->finalizers, std::vector<std::string>{kTrackingFinalizer});
  bench.succeed(name);
  EXPECT_EQ(bench.counts(), "0/1/0");
}

TEST_F(JobTest, CountsPodsThatAreReady) {
  start(R"({"parallelism":2,"completions":2})");
  api.patch(kPods, {"default", bench.pod_names()[0]},
            testing::parsed(R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})"),
            "status");
  bench.loop.run_until_idle();
  EXPECT_EQ(json::integer_at(bench.job(), {"status", "ready"}), 1);
}

struct TtlTest : ::testing::Test {
  Bench bench;
  TtlAfterFinished reconciler;

  void job(const std::string& ttl, const std::string& condition) {
    bench.api.create(kJobs, testing::an_object("batch/v1", "Job", "default", "j")
                                .with(R"({"spec":{"ttlSecondsAfterFinished":)" + ttl + "}}")
                                .with(R"({"status":{"conditions":[{"type":")" + condition +
                                      R"(","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})"));
    bench.start(reconciler);
  }
  bool is_there() { return static_cast<bool>(bench.api.get(kJobs, {"default", "j"})); }
};

TEST_F(TtlTest, DeletesAFinishedJobWhenItsTimeIsOver) {
  job("100", "Failed");
  bench.loop.advance(99'999ms);
  EXPECT_TRUE(bench.api.writes().empty());
  bench.loop.advance(1ms);
  ASSERT_EQ(bench.api.writes().size(), 1u);
  EXPECT_EQ(json::string_at(testing::parsed(bench.api.writes()[0].body), {"propagationPolicy"}), "Foreground");
}

TEST_F(TtlTest, KeepsJobsThatHaveNotFinishedOrSayNothing) {
  job("1", "Suspended");
  bench.loop.advance(1h);
  EXPECT_TRUE(is_there());
  bench.api.patch(kJobs, {"default", "j"}, testing::parsed(R"({"spec":{"ttlSecondsAfterFinished":null}})"));
  bench.api.patch(kJobs, {"default", "j"},
                  testing::parsed(R"({"status":{"conditions":[{"type":"Complete","status":"True",
                                      "lastTransitionTime":"2026-01-01T00:00:00Z"}]}})"),
                  "status");
  bench.loop.advance(1h);
  EXPECT_TRUE(is_there());
}

}  // namespace
}  // namespace gangway::controllers
