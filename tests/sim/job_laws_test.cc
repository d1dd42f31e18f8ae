// Each law of training jobs, broken by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/laws.h"
#include "sim/test_roots.h"

namespace gangway::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kJobs = "pytorchjobs.kubeflow.org";

// A law, a job "j" of two workers and its pods, and what was said.
struct JobCourt {
  explicit JobCourt(std::unique_ptr<Law> under_test) : law(std::move(under_test)) {}

  std::unique_ptr<Law> law;
  TestRoots roots;
  Verdicts verdicts;

  void put(const TestObject& object) { law->on_change(object.resource, roots.put(object), *roots.root(), verdicts); }
  // `state`: the condition that is true.
  void job(const std::string& state, int attempt = 1, const std::string& policy = "",
           const std::string& annotations = "") {
    std::string spec = R"("spec":{"pytorchReplicaSpecs":{"Worker":{"replicas":2}},"runPolicy":{)" + policy + "}}";
    put({.resource = kJobs,
         .name = {"ns", "j"},
         .metadata = R"("annotations":{)" + annotations + "}",
         .body = spec + R"(,"status":{"gangway":{"attempt":)" + std::to_string(attempt) +
                 R"(},"conditions":[{"type":")" + state + R"(","status":"True"}]})"});
  }
  struct Pod {
    std::string phase = "Running";
    int attempt = 1;
    std::string exit_code = {};  // of a program that ends
    bool is_deleting = false;
    bool is_preempted = false;
  };
  void pod(const std::string& name, const Pod& pod) {
    std::string annotations = R"("gangway.dev/attempt":")" + std::to_string(pod.attempt) + R"(")";
    if (!pod.exit_code.empty())
      annotations +=
          R"(,"gangway.dev/simulated-duration":"1s","gangway.dev/simulated-exit-code":")" + pod.exit_code + R"(")";
    std::string status = R"("phase":")" + pod.phase + R"(")";
    if (pod.is_preempted)
      status += R"(,"conditions":[{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"}])";
    put({.resource = "pods",
         .name = {"ns", name},
         .owners = {owned_by("uid-j")},
         .deleting = pod.is_deleting,
         .metadata = R"("annotations":{)" + annotations + "}",
         .body = R"("status":{)" + status + "}"});
  }
  void remove_pod(const std::string& name) {
    law->on_change("pods", roots.erase("pods", {"ns", name}), *roots.root(), verdicts);
  }
  void group() {
    put({.resource = "podgroups.scheduling.x-k8s.io",
         .name = {"ns", "j"},
         .uid = "uid-g",
         .owners = {owned_by("uid-j")}});
  }
  const std::vector<std::string>& rest() {
    law->at_rest(*roots.root(), verdicts);
    return verdicts.all();
  }
};

// ── jobs_end_once ──

TEST(JobsEndOnceTest, HoldsForAJobThatRunsAndFails) {
  JobCourt court(jobs_end_once());
  court.job("Running");
  court.job("Failed");
  court.job("Failed", 1, R"("suspend":true)");
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
}

TEST(JobsEndOnceTest, IsBrokenByOneThatRunsAgain) {
  JobCourt court(jobs_end_once());
  court.job("Failed");
  court.job("Running");
  EXPECT_THAT(court.verdicts.all(), ElementsAre("pytorchjobs.kubeflow.org ns/j had failed"));
}

TEST(JobsEndOnceTest, IsBrokenByAnAttemptThatIsForgotten) {
  JobCourt court(jobs_end_once());
  court.job("Running", 2);
  court.job("Running", 1);
  EXPECT_THAT(court.verdicts.all(), ElementsAre("pytorchjobs.kubeflow.org ns/j went back from attempt 2 to 1"));
}

// ── attempts_do_not_overlap ──

TEST(AttemptsDoNotOverlapTest, HoldsWhenOneComesAfterTheOther) {
  JobCourt court(attempts_do_not_overlap());
  court.job("Running");
  court.pod("a", {});
  court.job("Restarting", 2);
  court.remove_pod("a");
  court.pod("b", {.attempt = 2});
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
}

TEST(AttemptsDoNotOverlapTest, IsBrokenByAPodThatComesTooEarly) {
  JobCourt court(attempts_do_not_overlap());
  court.job("Running");
  court.pod("a", {});
  court.job("Restarting", 2);
  court.pod("b", {.attempt = 2});
  EXPECT_THAT(court.verdicts.all(), ElementsAre("pod ns/b of attempt 2 is made while pod ns/a of attempt 1 is there"));
}

TEST(AttemptsDoNotOverlapTest, ExcusesOneThatWasAskedForEarlier) {
  JobCourt court(attempts_do_not_overlap());
  court.job("Running");
  court.job("Restarting", 2);
  court.pod("a", {});
  court.pod("b", {.attempt = 2});
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
}

TEST(AttemptsDoNotOverlapTest, IsBrokenByAnAttemptThatIsNotOnRecord) {
  JobCourt court(attempts_do_not_overlap());
  court.job("Running");
  court.pod("a", {.attempt = 2});
  EXPECT_THAT(court.verdicts.all(), ElementsAre("pod ns/a is of attempt 2, of which its job knows nothing"));
}

// ── jobs_fail_for_a_reason ──

TEST(JobsFailForAReasonTest, HoldsForAProgramThatFails) {
  JobCourt court(jobs_fail_for_a_reason());
  court.job("Running");
  court.pod("a", {.phase = "Failed", .exit_code = "3"});
  court.job("Failed");
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
}

TEST(JobsFailForAReasonTest, IsBrokenByAFailureThatNobodySaw) {
  JobCourt court(jobs_fail_for_a_reason());
  court.pod("a", {.exit_code = "0"});
  court.job("Failed");
  EXPECT_THAT(court.verdicts.all(), ElementsAre(HasSubstr("has failed, and nothing befell it")));
}

TEST(JobsFailForAReasonTest, IsBrokenByASuccessOfAProgramThatFails) {
  JobCourt court(jobs_fail_for_a_reason());
  court.pod("a", {.exit_code = "3"});
  court.job("Succeeded");
  EXPECT_THAT(court.verdicts.all(), ElementsAre(HasSubstr("has succeeded, and its program fails"),
                                                HasSubstr("has succeeded, and its program never ends")));
}

TEST(JobsFailForAReasonTest, IsAboutHowPreemptionsEnd) {
  for (const bool comes_back : {false, true}) {
    JobCourt court(jobs_fail_for_a_reason());
    court.pod("a", {.is_deleting = true, .is_preempted = true});
    court.job("Failed", 1, "", comes_back ? R"("gangway.dev/on-preempt":"Requeue")" : "");
    EXPECT_EQ(court.verdicts.all().size(), comes_back ? 1U : 0U);
  }
}

TEST(JobsFailForAReasonTest, ExcusesWhatLosesAPod) {
  JobCourt court(jobs_fail_for_a_reason());
  court.pod("a", {});
  court.remove_pod("a");
  court.job("Failed", 1, "", R"("gangway.dev/on-preempt":"Requeue")");
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
}

// ── jobs_are_as_they_say ──

TEST(JobsAreAsTheySayTest, HoldsForJobsInEveryState) {
  JobCourt running(jobs_are_as_they_say());
  running.job("Running");
  running.group();
  running.pod("a", {});
  running.pod("b", {});
  EXPECT_THAT(running.rest(), IsEmpty());
  JobCourt waiting(jobs_are_as_they_say());
  waiting.job("Created");
  waiting.pod("a", {.phase = "Pending"});
  waiting.pod("b", {.phase = "Pending"});
  EXPECT_THAT(waiting.rest(), IsEmpty());
  JobCourt suspended(jobs_are_as_they_say());
  suspended.job("Suspended", 1, R"("suspend":true)");
  EXPECT_THAT(suspended.rest(), IsEmpty());
  JobCourt over(jobs_are_as_they_say());
  over.job("Succeeded", 1, R"("cleanPodPolicy":"Running")");
  over.pod("a", {.phase = "Succeeded"});
  EXPECT_THAT(over.rest(), IsEmpty());
}

TEST(JobsAreAsTheySayTest, IsBrokenByWhatIsLeftOfAJobThatIsOver) {
  JobCourt court(jobs_are_as_they_say());
  court.job("Failed", 1, R"("cleanPodPolicy":"Running")");
  court.group();
  court.pod("a", {});
  EXPECT_THAT(court.rest(), ElementsAre(HasSubstr("is over and has a group"), HasSubstr("is over and a is Running")));
}

TEST(JobsAreAsTheySayTest, IsBrokenByASuspendedJobThatRuns) {
  JobCourt court(jobs_are_as_they_say());
  court.job("Running", 1, R"("suspend":true)");
  court.group();
  court.pod("a", {});
  EXPECT_THAT(court.rest(), ElementsAre(HasSubstr("should be suspended"), HasSubstr("is suspended and has 1 pods"),
                                        HasSubstr("is suspended and has a group")));
}

TEST(JobsAreAsTheySayTest, IsBrokenByPodsThatAreMissingOrOfAnotherAttempt) {
  JobCourt court(jobs_are_as_they_say());
  court.job("Created", 2);
  court.pod("a", {});
  EXPECT_THAT(court.rest(), ElementsAre(HasSubstr("is in attempt 2, and a is of another"), HasSubstr("has 1 of 2 pods"),
                                        HasSubstr("has all that it wants and does not run")));
}

TEST(JobsAreAsTheySayTest, IsBrokenByAProgramThatNeverEnds) {
  JobCourt court(jobs_are_as_they_say());
  court.job("Running");
  court.pod("a", {.exit_code = "0"});
  court.pod("b", {});
  EXPECT_THAT(court.rest(), ElementsAre(HasSubstr("has a, whose program never ends")));
}

}  // namespace
}  // namespace gangway::sim
