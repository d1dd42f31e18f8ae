#include "jobs/tf_job.h"

#include <gmock/gmock.h>

#include "jobs/replica_pods.h"
#include "jobs/test_jobs.h"

namespace gangway::jobs {
namespace {

KubeflowJob job_of(const std::vector<Replicas>& replicas, const std::string& rest = "{}") {
  return read_job(tf_rules(), a_job(tf_rules(), replicas, rest));
}

TEST(TfConfig, NamesEveryone) {
  const auto job = job_of({{"PS", 1}, {"Worker", 2}, {"Chief", 1}, {"Evaluator", 1}});
  EXPECT_EQ(testing::parsed(tf_config(job, *job.find("Worker"), 1)), testing::parsed(R"({
      "cluster":{"chief":["j-chief-0.default.svc:2222"],"evaluator":["j-evaluator-0.default.svc:2222"],
                 "ps":["j-ps-0.default.svc:2222"],
                 "worker":["j-worker-0.default.svc:2222","j-worker-1.default.svc:2222"]},
      "task":{"type":"worker","index":1},"environment":"cloud"})"));
}

TEST(TfConfig, IsSparseWhereWorkersComeAndGo) {
  const auto job = job_of({{"PS", 2}, {"Worker", 2}}, R"({"spec":{"enableDynamicWorker":true}})");
  EXPECT_EQ(testing::parsed(tf_config(job, *job.find("Worker"), 1)),
            testing::parsed(R"({"cluster":{"ps":["j-ps-0.default.svc:2222","j-ps-1.default.svc:2222"],
                "worker":{"1":"j-worker-1.default.svc:2222"}},"task":{"type":"worker","index":1}})"));
  EXPECT_EQ(testing::parsed(tf_config(job, *job.find("PS"), 0)),
            testing::parsed(R"({"cluster":{"ps":["j-ps-0.default.svc:2222"]},"task":{"type":"ps","index":0}})"));
}

TEST(TfConfig, IsGivenToTheTrainingContainerOfMoreThanOnePod) {
  auto tree = a_job(tf_rules(), {{"Worker", 2}}, "{}");
  json::find(tree, {"spec", "tfReplicaSpecs", "Worker", "template", "spec", "containers"})
      ->get_array()
      .push_back(json::Object{{"name", "sidecar"}, {"image", "i"}});
  const auto job = read_job(tf_rules(), tree);
  const json::Value pod = replica_pod(job, *job.find("Worker"), 0);
  const json::Array& containers = json::array_at(pod, {"spec", "containers"});
  EXPECT_THAT(variables_of(containers.at(0)).front(), ::testing::StartsWith("TF_CONFIG={"));
  EXPECT_THAT(variables_of(containers.at(1)), ::testing::ElementsAre("GANGWAY_ATTEMPT=1"));

  const auto alone = job_of({{"Worker", 1}});
  const json::Value single = replica_pod(alone, *alone.find("Worker"), 0);
  EXPECT_THAT(variables_of(json::array_at(single, {"spec", "containers"}).at(0)),
              ::testing::ElementsAre("GANGWAY_ATTEMPT=1"));
}

TEST(TfVerdict, FollowsTheTallies) {
  struct Case {
    const char* name;
    std::vector<Replicas> replicas;
    const char* rest;
    std::map<std::string, ReplicaTally, std::less<>> tallies;
    std::vector<std::string> want;
  };
  const std::vector<Replicas> workers{{"Worker", 2}};
  const std::vector<Replicas> with_chief{{"Chief", 1}, {"Worker", 2}};
  const char* all = R"({"spec":{"successPolicy":"AllWorkers"}})";
  const char* dynamic = R"({"spec":{"enableDynamicWorker":true}})";
  const Case cases[] = {
      {"workers run", workers, "{}", {{"Worker", {.active = 1}}}, {"Running: TFJob default/j is running."}},
      {"the first worker suffices",
       workers,
       "{}",
       {{"Worker", {.active = 1, .succeeded = 1, .has_first_succeeded = true}}},
       {"Succeeded: TFJob default/j successfully completed."}},
      {"another does not",
       workers,
       "{}",
       {{"Worker", {.active = 1, .succeeded = 1}}},
       {"Running: TFJob default/j is running."}},
      {"nor the first, if all have to",
       workers,
       all,
       {{"Worker", {.active = 1, .succeeded = 1, .has_first_succeeded = true}}},
       {"Running: TFJob default/j is running."}},
      {"all",
       workers,
       all,
       {{"Worker", {.succeeded = 2, .has_first_succeeded = true}}},
       {"Succeeded: TFJob default/j successfully completed."}},
      {"the chief decides",
       with_chief,
       "{}",
       {{"Chief", {.active = 1}}, {"Worker", {.succeeded = 2, .has_first_succeeded = true}}},
       {"Running: TFJob default/j is running."}},
      {"the chief is done",
       with_chief,
       "{}",
       {{"Chief", {.succeeded = 1}}, {"Worker", {.active = 2}}},
       {"Succeeded: TFJob default/j successfully completed."}},
      {"a failure is the end, whatever the policy",
       {{"Worker", 2, "OnFailure"}},
       "{}",
       {{"Worker", {.active = 1, .failed = 1}}},
       {"Running: TFJob default/j is running.",
        "Failed: TFJob default/j has failed because 1 Worker replica(s) failed."}},
      {"but not of what is replaced",
       with_chief,
       "{}",
       {{"Chief", {.active = 1}}, {"Worker", {.active = 1, .failed = 1, .replacing = 1}}},
       {}},
      {"nor of dynamic workers",
       workers,
       dynamic,
       {{"Worker", {.active = 1, .failed = 1}}},
       {"Running: TFJob default/j is running."}},
  };
  for (const Case& each : cases) {
    std::vector<std::string> found;
    for (const Finding& finding : tf_rules().judge(job_of(each.replicas, each.rest), each.tallies))
      found.push_back(std::string(finding.type) + ": " + finding.message);
    EXPECT_EQ(found, each.want) << each.name;
  }
}

}  // namespace
}  // namespace gangway::jobs
