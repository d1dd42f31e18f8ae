#include "cli/arena/job_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arena/test_jobs.h"

namespace gangway::cli::arena {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

PodOf mpi_pod(const std::string& role, const std::string& pod, const std::string& phase = "Running") {
  return {"mpi", "medium", role, pod, phase, "192.168.0.23", role == "launcher" ? 0 : 1};
}

TEST(MpiView, RunsWhenItsLauncherAndWorkersDo) {
  const auto jobs = views(an_mpi_job("medium", 1, 58s), {a_pod(mpi_pod("worker", "medium-worker-0")),
                                                         a_pod(mpi_pod("launcher", "medium-launcher-sz5xj"))});
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].status, "RUNNING");
  EXPECT_EQ(jobs[0].priority, "medium");
  EXPECT_EQ(jobs[0].instances[0].name, "medium-launcher-sz5xj") << "who speaks for the job comes first";
  EXPECT_EQ(jobs[0].requested_gpus, 1) << "the launcher asks for none";
  EXPECT_EQ(jobs[0].allocated_gpus, 1);
  EXPECT_EQ(jobs[0].duration, 58s);
}

TEST(MpiView, WaitsWhileAWorkerDoesWhateverTheLauncherSays) {
  const auto jobs = views(an_mpi_job("medium", 2, 58s, R"({"launcherStatus":"Active"})"),
                          {a_pod(mpi_pod("launcher", "medium-launcher-a")), a_pod(mpi_pod("worker", "medium-worker-0")),
                           a_pod(mpi_pod("worker", "medium-worker-1", "Pending"))});
  EXPECT_EQ(jobs[0].status, "PENDING");
  EXPECT_EQ(jobs[0].reason, "Unschedulable");
  EXPECT_EQ(jobs[0].message, "medium-worker-1: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.");
}

TEST(MpiView, ItsEndStandsStillAndSaysWhoTookItsPlace) {
  const json::Value event = from(R"({"metadata":{"creationTimestamp":"2026-01-01T11:52:00Z"},"reason":"Preempted",
      "message":"by default/critical-worker-0 on node 192.168.0.23",
      "involvedObject":{"namespace":"default","name":"medium-worker-0"}})");
  const auto jobs =
      views(an_mpi_job("medium", 1, 20min, R"({"launcherStatus":"Failed","completionTime":"2026-01-01T11:52:00Z"})"),
            {a_pod(mpi_pod("launcher", "medium-launcher-a", "Failed"))}, {event});
  EXPECT_EQ(jobs[0].status, "FAILED");
  EXPECT_EQ(jobs[0].duration, 12min);
  EXPECT_EQ(jobs[0].reason, "Preempted");
  EXPECT_EQ(jobs[0].message, "medium-worker-0 was preempted by default/critical-worker-0 on node 192.168.0.23");
  EXPECT_EQ(jobs[0].allocated_gpus, 0);
}

TEST(MpiView, APreemptionOfAnEarlierJobOfThatNameIsNotItsOwn) {
  const json::Value event = from(R"({"metadata":{"creationTimestamp":"2026-01-01T10:00:00Z"},"reason":"Preempted",
      "message":"by x","involvedObject":{"namespace":"default","name":"medium-worker-0"}})");
  const auto jobs = views(an_mpi_job("medium", 1, 20min), {}, {event});
  EXPECT_EQ(jobs[0].status, "PENDING");
  EXPECT_EQ(jobs[0].message, "");
}

PodOf torch_pod(const std::string& role, const std::string& pod, const std::string& phase = "Running") {
  return {"pytorchjob-controller", "train", role, pod, phase, "172.16.0.208", 4};
}

TEST(PytorchView, ComesBackInItsOldPlace) {
  const json::Value away = from(R"({"metadata":{"namespace":"default","name":"x"},
      "spec":{"pod":"train-worker-0","group":"train","attempt":2,"by":"default/critical"}})");
  const auto jobs =
      views(a_pytorch_job("train", 1, 5min), {a_pod(torch_pod("master", "train-master-0", "Pending"))}, {}, {away});
  EXPECT_EQ(jobs[0].status, "QUEUING");
  EXPECT_EQ(jobs[0].reason, "Preempted");
  EXPECT_THAT(jobs[0].message, HasSubstr("preempted by default/critical; comes back as attempt 2"));
}

TEST(PytorchView, ItsControllerSaysThatItWasPreempted) {
  const auto jobs = views(a_pytorch_job("train", 1, 5min, R"({"gangway":{"attempt":2},"conditions":[
      {"type":"Restarting","status":"True","reason":"PyTorchJobPreempted",
       "message":"PyTorchJob train was preempted by default/critical and is queued again as attempt 2."}]})"),
                          {a_pod(torch_pod("master", "train-master-0", "Pending"))});
  EXPECT_EQ(jobs[0].status, "QUEUING");
  EXPECT_EQ(jobs[0].reason, "Preempted");
  EXPECT_EQ(jobs[0].attempt, 2);
  EXPECT_EQ(jobs[0].message, "PyTorchJob train was preempted by default/critical and is queued again as attempt 2.");
}

TEST(PytorchView, AnElasticJobRunsWithItsMinimum) {
  json::Value job = a_pytorch_job("train", 3, 5min);
  json::object_at(job, {"spec", "pytorchReplicaSpecs"}).erase("Master");
  json::object_at(job, {"spec"})["elasticPolicy"] = json::Object{{"minReplicas", 2}, {"maxReplicas", 3}};
  const auto pods = {a_pod(torch_pod("worker", "train-worker-0")), a_pod(torch_pod("worker", "train-worker-1")),
                     a_pod(torch_pod("worker", "train-worker-2", "Pending"))};
  const auto jobs = views(job, pods);
  EXPECT_EQ(jobs[0].status, "RUNNING");
  EXPECT_EQ(jobs[0].running, 2);
  EXPECT_EQ(jobs[0].desired, 3);
  EXPECT_THAT(jobs[0].message, HasSubstr("2/3 instances run; train-worker-2: 0/1 nodes are available"));
  EXPECT_EQ(jobs[0].chief()->name, "train-worker-0");
}

TEST(PytorchView, AWorkerThatHasComeBackIsNotWhatAnElasticJobLacks) {
  json::Value job = a_pytorch_job("train", 3, 5min);
  json::object_at(job, {"spec", "pytorchReplicaSpecs"}).erase("Master");
  json::object_at(job, {"spec"})["elasticPolicy"] = json::Object{{"minReplicas", 1}, {"maxReplicas", 3}};
  const auto pods = {a_pod(torch_pod("worker", "train-worker-0")), a_pod(torch_pod("worker", "train-worker-1")),
                     a_pod(torch_pod("worker", "train-worker-2", "Pending"))};
  const auto event = [](const std::string& pod) {
    return from(R"({"metadata":{"creationTimestamp":"2026-01-01T11:58:00Z"},"reason":"Preempted",
        "message":"by default/critical-master-0 on node n","involvedObject":{"namespace":"default","name":")" +
                pod + "\"}}");
  };
  EXPECT_THAT(views(job, pods, {event("train-worker-2")})[0].message,
              HasSubstr("train-worker-2 was preempted by default/critical-master-0 on node n"));
  EXPECT_THAT(views(job, pods, {event("train-worker-1")})[0].message, Not(HasSubstr("was preempted")));
}

TEST(PytorchView, AWorkerThatHasDoneItsPartIsNotMissing) {
  const auto jobs = views(a_pytorch_job("train", 1, 5min), {a_pod(torch_pod("master", "train-master-0")),
                                                            a_pod(torch_pod("worker", "train-worker-0", "Succeeded"))});
  EXPECT_EQ(jobs[0].status, "RUNNING");
  EXPECT_EQ(jobs[0].message, "");
}

TEST(PytorchView, AnEndingPodDoesNotRunAndStillHoldsItsGpus) {
  json::Value ending = a_pod(torch_pod("worker", "train-worker-0"));
  json::object_at(ending, {"metadata"})["deletionTimestamp"] = "2026-01-01T11:59:59Z";
  const auto jobs = views(a_pytorch_job("train", 1, 5min), {a_pod(torch_pod("master", "train-master-0")), ending});
  EXPECT_EQ(jobs[0].status, "PENDING");
  EXPECT_EQ(jobs[0].allocated_gpus, 8);
  EXPECT_EQ(jobs[0].instances[1].status, "Terminating");
}

TEST(PytorchView, SuspensionIsSomebodysWordOrAQueues) {
  json::Value job = a_pytorch_job("train", 1, 5min);
  json::object_at(job, {"spec", "runPolicy"})["suspend"] = true;
  EXPECT_EQ(views(job, {})[0].status, "SUSPENDED");
  json::object_at(job, {"metadata", "labels"})["kueue.x-k8s.io/queue-name"] = "team";
  EXPECT_EQ(views(job, {})[0].status, "QUEUING");
}

TEST(PytorchView, ItsConditionsSayHowItEnded) {
  const auto failed = views(a_pytorch_job("train", 1, 5min, R"({"startTime":"2026-01-01T11:56:00Z",
      "completionTime":"2026-01-01T11:58:00Z","conditions":[
      {"type":"Running","status":"False"},
      {"type":"Failed","status":"True","reason":"PyTorchJobFailed","message":"1 Worker replica(s) failed."}]})"),
                            {});
  EXPECT_EQ(failed[0].status, "FAILED");
  EXPECT_EQ(failed[0].reason, "PyTorchJobFailed");
  EXPECT_EQ(failed[0].duration, 2min);
}

TEST(Views, PodsOfAnotherKindOfThatNameAreNotItsOwn) {
  PodOf other = torch_pod("worker", "train-worker-0");
  other.operator_name = "tfjob-controller";
  EXPECT_TRUE(views(a_pytorch_job("train", 1, 5min), {a_pod(other)})[0].instances.empty());
}

TEST(Views, TheNewestComesFirst) {
  ReadObjects objects;
  objects.jobs.push_back({{}, {an_mpi_job("old", 1, 20min), an_mpi_job("new", 1, 5s)}});
  objects.jobs.push_back({{}, {a_pytorch_job("between", 1, 10min)}});
  const auto jobs = view_jobs(std::move(objects), kNow);
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_EQ(jobs[0].name + jobs[1].name + jobs[2].name, "newbetweenold");
}

TEST(Views, TypesThatShareAKindAreToldApart) {
  json::Value job = an_mpi_job("et", 2, 5s);
  json::object_at(job, {"metadata", "labels"})["app"] = "etjob";
  EXPECT_EQ(views(job, {})[0].type, JobType::kEt);
  json::object_at(job, {"metadata", "labels"})["app"] = "my-own";
  EXPECT_EQ(views(job, {})[0].type, JobType::kMpi);
}

TEST(Views, ARayJobIsWhatRayAndItsPodsSay) {
  json::Value job = from(R"({"apiVersion":"ray.io/v1","kind":"RayJob","metadata":{"namespace":"default","name":"ray"},
    "spec":{"rayClusterSpec":{"headGroupSpec":{"template":{"spec":{"containers":[{"name":"h"}]}}},
      "workerGroupSpecs":[{"groupName":"w","replicas":1,"minReplicas":1,"template":{"spec":{"containers":[
        {"name":"w","resources":{"limits":{"nvidia.com/gpu":"2"}}}]}}}]}},
    "status":{"jobStatus":"RUNNING","jobDeploymentStatus":"Running","rayClusterName":"ray-abc"}})");
  const auto pod = [](const std::string& name, const std::string& role) {
    json::Value made = a_pod({"ray", "", "", name, "Running", "10.0.0.1", 0});
    json::object_at(made, {"metadata"})["labels"] =
        json::Object{{"ray.io/cluster", "ray-abc"}, {"ray.io/node-type", role}};
    return made;
  };
  auto jobs = views(job, {pod("ray-abc-head-x", "head"), pod("ray-abc-w-worker-y", "worker")});
  EXPECT_EQ(jobs[0].status, "RUNNING");
  EXPECT_EQ(jobs[0].requested_gpus, 2);
  EXPECT_EQ(jobs[0].chief()->name, "ray-abc-head-x");
  json::object_at(job, {"status"})["jobStatus"] = "SUCCEEDED";
  json::object_at(job, {"status"})["jobDeploymentStatus"] = "Complete";
  EXPECT_EQ(views(job, {})[0].status, "SUCCEEDED");
}

TEST(Names, OfPodsBeginWithTheirJobsAndARole) {
  EXPECT_TRUE(is_named_after("demo", "demo-worker-0"));
  EXPECT_TRUE(is_named_after("demo", "demo-launcher-x7k2p"));
  EXPECT_FALSE(is_named_after("demo", "demo-two-worker-0"));
  EXPECT_FALSE(is_named_after("demo", "demo-worker-master-0")) << "of the job demo-worker";
  EXPECT_FALSE(is_named_after("demo", "demo"));
  EXPECT_FALSE(is_named_after("demo", "demo-workers-0"));
}

TEST(Suspension, IsWhereTheKindReadsIt) {
  EXPECT_EQ(json::serialize(suspend_patch(an_mpi_job("old", 1, 5s), true)),
            R"({"spec":{"runPolicy":{"suspend":true}}})");
  EXPECT_EQ(json::serialize(suspend_patch(a_pytorch_job("x", 1, 5s), false)),
            R"({"spec":{"runPolicy":{"suspend":false}}})");
  EXPECT_EQ(json::serialize(suspend_patch(from(R"({"kind":"RayJob","spec":{}})"), true)),
            R"({"spec":{"suspend":true}})");
}

TEST(Elasticity, IsInAnnotationsOrInThePolicy) {
  json::Value job = an_mpi_job("et", 2, 5s);
  EXPECT_FALSE(elasticity_of(job).is_elastic);
  json::object_at(job, {"metadata", "annotations"})["gangway.dev/min-workers"] = "1";
  json::object_at(job, {"metadata", "annotations"})["gangway.dev/max-workers"] = "4";
  const Elasticity size = elasticity_of(job);
  EXPECT_TRUE(size.is_elastic);
  EXPECT_EQ(size.count, 2);
  EXPECT_EQ(size.minimum, 1);
  EXPECT_EQ(size.maximum, 4);
  EXPECT_EQ(json::serialize(scale_patch(job, 3)), R"({"spec":{"replicas":3}})");
  EXPECT_EQ(json::serialize(scale_patch(a_pytorch_job("x", 1, 5s), 3)),
            R"({"spec":{"pytorchReplicaSpecs":{"Worker":{"replicas":3}}}})");
}

}  // namespace
}  // namespace gangway::cli::arena
