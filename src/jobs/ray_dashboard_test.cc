// What is asked of Ray's dashboard and what its answers mean; whom the controller connects to.
#include "jobs/ray_dashboard.h"

#include <gmock/gmock.h>

#include "jobs/ray_deletion.h"
#include "jobs/ray_job_objects.h"
#include "jobs/test_ray.h"

namespace gangway::jobs {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

Result<json::Value> answer(const char* text) {
  return testing::parsed(text);
}

TEST(RayDashboard, AnswersMeanWhatTheProgramDoes) {
  struct Case {
    const char* name;
    const char* answer;
    RayProgram::Kind kind;
    std::string status;
  };
  const Case cases[] = {
      {"known", R"({"status":200,"body":{"status":"RUNNING","message":"m","start_time":1500,"end_time":null}})",
       RayProgram::Kind::kKnown, "RUNNING"},
      {"not there", R"({"status":404,"body":"Job x does not exist"})", RayProgram::Kind::kNotThere, ""},
      {"broken", R"({"status":500,"body":"trace"})", RayProgram::Kind::kSilent, ""},
      {"something else", R"({"status":200,"body":"<html>"})", RayProgram::Kind::kSilent, ""},
      {"silent", R"({"silent":"refused"})", RayProgram::Kind::kSilent, ""},
  };
  for (const Case& each : cases) {
    const RayProgram program = read_ray_status(answer(each.answer));
    EXPECT_EQ(program.kind, each.kind) << each.name;
    EXPECT_EQ(program.status, each.status) << each.name;
  }
}

TEST(RayDashboard, OnlyARefusalIsTheEndOfASubmission) {
  EXPECT_TRUE(read_ray_submission(answer(R"({"status":200,"body":{"submission_id":"x"}})")));
  EXPECT_TRUE(read_ray_submission(answer(R"({"silent":"refused"})")));
  EXPECT_TRUE(read_ray_submission(answer(R"({"status":503,"body":"later"})")));
  EXPECT_TRUE(read_ray_submission(
      answer(R"({"status":500,"body":"Job x already exists. Please use a different submission_id."})")));
  EXPECT_FALSE(read_ray_submission(answer(R"({"status":400,"body":"no entrypoint"})")));
}

TEST(RayDashboard, IdsStayInTheirPartOfThePath) {
  const RayJob job = read_ray_job(a_ray_job("{}", R"({"status":{"jobId":"../x y?z"}})"));
  const client::Probe probe = ask_ray_to_stop({"10.0.0.1", 8265}, job);
  EXPECT_EQ(json::string_at(probe.question, {"path"}), "/api/jobs/..%2Fx%20y%3Fz/stop");
}

TEST(RayDashboard, OnlyAddressesOfPodsAreAsked) {
  for (const char* good : {"10.0.0.1", "192.168.3.4", "100.64.0.9", "172.16.0.1", "fd00::1"})
    EXPECT_TRUE(is_pod_address(good)) << good;
  for (const char* bad :
       {"127.0.0.1", "127.9.9.9", "0.0.0.0", "169.254.169.254", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1",
        "ff02::1", "::ffff:127.0.0.1", "localhost", "example.com", "", "10.0.0.1:80"})
    EXPECT_FALSE(is_pod_address(bad)) << bad;

  struct NeverAsked final : sys::Fetch {
    void fetch(sys::FetchRequest request, sys::Completion<sys::FetchAnswer>) override { ADD_FAILURE() << request.host; }
    void connect(std::string, std::uint16_t, Duration, sys::Completion<void>) override { ADD_FAILURE(); }
  } fetch;
  testing::ManualLoop loop;
  RayDashboard dashboard(loop, &fetch);
  for (const RayHeadAddress& head :
       {RayHeadAddress{"127.0.0.1", 8265}, RayHeadAddress{"10.0.0.1", 0}, RayHeadAddress{"10.0.0.1", 65536}}) {
    std::optional<RayProgram> heard;
    dashboard.ask(ask_ray_status(head, read_ray_job(a_ray_job())),
                  [&](const Result<json::Value>& said) { heard = read_ray_status(said); });
    loop.run_until_idle();
    ASSERT_TRUE(heard.has_value());
    EXPECT_EQ(heard->kind, RayProgram::Kind::kSilent);
  }
}

// ── what a job makes ──

RayJob running_job(const std::string& spec = "{}") {
  return read_ray_job(a_ray_job(spec, R"({"status":{"jobId":"j-prog","rayClusterName":"j-x5cvb",
    "dashboardURL":"j-x5cvb-head-svc.default.svc.cluster.local:8265"}})"));
}

TEST(RayJobObjects, ASubmitterHandsTheProgramOverOnce) {
  const json::Value job = ray_submitter_job(running_job());
  EXPECT_EQ(json::string_at(job, {"metadata", "name"}), "j");
  EXPECT_EQ(json::integer_at(job, {"spec", "backoffLimit"}), 2);
  EXPECT_EQ(json::string_at(job, {"metadata", "labels", "ray.io/originated-from-cr-name"}), "j");
  EXPECT_EQ(json::string_at(job, {"metadata", "labels", "ray.io/originated-from-crd"}), "RayJob");
  const json::Value& container = json::array_at(job, {"spec", "template", "spec", "containers"}).front();
  EXPECT_EQ(json::string_at(container, {"name"}), "ray-job-submitter");
  EXPECT_EQ(json::string_at(container, {"image"}), "ray:2");
  EXPECT_EQ(json::string_at(container, {"resources", "requests", "cpu"}), "500m");
  EXPECT_EQ(json::string_at(container, {"resources", "requests", "memory"}), "200Mi");
  EXPECT_EQ(json::string_at(container, {"resources", "limits", "cpu"}), "1");
  EXPECT_EQ(json::string_at(container, {"resources", "limits", "memory"}), "1Gi");
  const auto variables = variables_of(container);
  EXPECT_THAT(variables, Contains("PYTHONUNBUFFERED=1"));
  EXPECT_THAT(variables, Contains("RAY_DASHBOARD_ADDRESS=j-x5cvb-head-svc.default.svc.cluster.local:8265"));
  EXPECT_THAT(variables, Contains("RAY_JOB_SUBMISSION_ID=j-prog"));
  const std::string script(json::array_at(container, {"args"}).front().as_string());
  const std::size_t asks = script.find("ray job status");
  const std::size_t submits = script.find("ray job submit");
  const std::size_t follows = script.find("ray job logs");
  EXPECT_LT(asks, submits);
  EXPECT_LT(submits, follows);
  EXPECT_THAT(script, HasSubstr("-- python train.py\n"));
  EXPECT_THAT(script, HasSubstr("--no-wait --submission-id $RAY_JOB_SUBMISSION_ID"));
  EXPECT_THAT(script, HasSubstr("--follow $RAY_JOB_SUBMISSION_ID"));
}

TEST(RayJobObjects, WhatIsSaidOfTheProgramIsQuoted) {
  const std::string script = ray_submit_script(running_job(
      R"({"runtimeEnvYAML":"env_vars: {A: \"it's\"}","metadata":{"k":"v"},"entrypointNumGpus":0.5,
          "entrypointResources":"{\"lamp\": 1}"})"));
  EXPECT_THAT(script, HasSubstr(R"(--runtime-env-json '{"env_vars":{"A":"it'\''s"}}')"));
  EXPECT_THAT(script, HasSubstr(R"(--metadata-json '{"k":"v"}')"));
  EXPECT_THAT(script, HasSubstr("--entrypoint-num-gpus 0.5"));
  EXPECT_THAT(script, HasSubstr(R"(--entrypoint-resources '{"lamp":1}')"));
}

TEST(RayJobObjects, AUsersOwnSubmitterIsKept) {
  const json::Value job = ray_submitter_job(running_job(R"({"submitterConfig":{"backoffLimit":5},
    "submitterPodTemplate":{"spec":{"containers":[{"name":"mine","image":"x","command":["sleep","1"]}]}}})"));
  EXPECT_EQ(json::integer_at(job, {"spec", "backoffLimit"}), 5);
  const json::Value& container = json::array_at(job, {"spec", "template", "spec", "containers"}).front();
  EXPECT_EQ(json::string_at(container, {"name"}), "mine");
  EXPECT_EQ(json::serialize(container.at("command")), R"(["sleep","1"])");
  EXPECT_THAT(variables_of(container), Contains("RAY_JOB_SUBMISSION_ID=j-prog"));
  EXPECT_EQ(json::string_at(job, {"spec", "template", "spec", "restartPolicy"}), "Never");
}

TEST(RayJobObjects, OnSimulatedNodesTheSubmitterStandsForTheProgram) {
  const RayJob job = running_job(R"({"rayClusterSpec":{"headGroupSpec":{"template":{"metadata":{"annotations":{
    "gangway.dev/simulated-duration":"5s"}}}}}})");
  const json::Value submitter = ray_submitter_job(job);
  EXPECT_EQ(
      json::string_at(submitter, {"spec", "template", "metadata", "annotations", "gangway.dev/simulated-duration"}),
      "5s");
  const json::Value cluster = ray_job_cluster(job);
  EXPECT_EQ(json::serialize(cluster).find("simulated"), std::string::npos);
}

TEST(RayJobObjects, TheClusterHasWhatTheJobSaysOfItself) {
  RayJob job = read_ray_job(a_ray_job("{}", R"({"metadata":{"annotations":{"gangway.dev/on-preempt":"Requeue",
    "kubectl.kubernetes.io/last-applied-configuration":"{}"},"labels":{"kueue.x-k8s.io/queue-name":"q"}},
    "status":{"rayClusterName":"j-x5cvb","gangway":{"attempt":2}}})"));
  const json::Value cluster = ray_job_cluster(job);
  EXPECT_EQ(json::string_at(cluster, {"metadata", "name"}), "j-x5cvb");
  EXPECT_EQ(json::string_at(cluster, {"metadata", "annotations", "gangway.dev/on-preempt"}), "Requeue");
  EXPECT_EQ(json::string_at(cluster, {"metadata", "annotations", "gangway.dev/attempt"}), "2");
  EXPECT_THAT(json::serialize(cluster), Not(HasSubstr("last-applied")));
  EXPECT_THAT(json::serialize(cluster), Not(HasSubstr("queue-name")));
}

// ── what goes when it has finished ──

TEST(RayDeletion, IsDueAsTheJobSays) {
  struct Case {
    const char* name;
    std::string spec;
    const char* status;
    int later;
    const char* want;  // what is deleted
    int again;         // seconds after the end; 0: never
  };
  const std::string rules = R"({"deletionStrategy":{"deletionRules":[
    {"policy":"DeleteWorkers","condition":{"jobStatus":"FAILED","ttlSeconds":10}},
    {"policy":"DeleteCluster","condition":{"jobStatus":"FAILED","ttlSeconds":60}},
    {"policy":"DeleteSelf","condition":{"jobDeploymentStatus":"Complete","ttlSeconds":5}}]}})";
  const Case cases[] = {
      {"nothing said", "{}", "SUCCEEDED", 100, "", 0},
      {"at once", R"({"shutdownAfterJobFinishes":true})", "SUCCEEDED", 0, "cluster", 0},
      {"later", R"({"shutdownAfterJobFinishes":true,"ttlSecondsAfterFinished":30})", "SUCCEEDED", 10, "", 30},
      {"then", R"({"shutdownAfterJobFinishes":true,"ttlSecondsAfterFinished":30})", "SUCCEEDED", 30, "cluster", 0},
      {"rules: not yet", rules, "FAILED", 0, "", 10},
      {"rules: the first", rules, "FAILED", 20, "workers", 60},
      {"rules: both", rules, "FAILED", 60, "workers cluster", 0},
      {"rules: itself", rules, "SUCCEEDED", 5, "self", 0},
  };
  const WallTime end = *parse_rfc3339("2026-01-02T03:04:05Z");
  for (const Case& each : cases) {
    const std::string deployment = std::string(each.status) == "FAILED" ? "Failed" : "Complete";
    const RayJob job = read_ray_job(
        a_ray_job(each.spec, R"({"status":{"endTime":"2026-01-02T03:04:05Z","jobStatus":")" + std::string(each.status) +
                                 R"(","jobDeploymentStatus":")" + deployment + R"("}})"));
    const RayDeletion deletion = ray_deletion(job, end + std::chrono::seconds(each.later));
    std::string what;
    for (const auto& [is_due, word] : {std::pair{deletion.deletes_workers, "workers"},
                                       {deletion.deletes_cluster, "cluster"},
                                       {deletion.deletes_self, "self"}})
      if (is_due) what += (what.empty() ? "" : " ") + std::string(word);
    EXPECT_EQ(what, each.want) << each.name;
    EXPECT_EQ(deletion.look_again_at.has_value(), each.again != 0) << each.name;
    if (deletion.look_again_at) {
      EXPECT_EQ(*deletion.look_again_at, end + std::chrono::seconds(each.again)) << each.name;
    }
  }
}

}  // namespace
}  // namespace gangway::jobs
