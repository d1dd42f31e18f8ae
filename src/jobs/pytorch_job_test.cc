#include "jobs/pytorch_job.h"

#include <gmock/gmock.h>

#include "jobs/job_conditions.h"
#include "jobs/replica_pods.h"
#include "jobs/test_jobs.h"

namespace gangway::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

KubeflowJob job_of(const std::vector<Replicas>& replicas, const std::string& rest = "{}") {
  return read_job(pytorch_rules(), a_job(pytorch_rules(), replicas, rest));
}

std::vector<std::string> variables(const KubeflowJob& job, const std::string& type, std::int64_t index) {
  std::vector<std::string> all;
  for (const auto& [name, value] : pytorch_variables(job, *job.find(type), index)) all.push_back(name + "=" + value);
  return all;
}

TEST(PyTorchEnvironment, TellsEveryoneOfTheMaster) {
  const KubeflowJob job = job_of({{"Master", 1}, {"Worker", 2}});
  EXPECT_THAT(variables(job, "Worker", 1),
              ElementsAre("PYTHONUNBUFFERED=1", "MASTER_PORT=23456", "PET_MASTER_PORT=23456", "MASTER_ADDR=j-master-0",
                          "PET_MASTER_ADDR=j-master-0", "WORLD_SIZE=3", "RANK=2", "PET_NODE_RANK=2",
                          "PET_NPROC_PER_NODE=auto", "PET_NNODES=3"));
  EXPECT_THAT(variables(job, "Master", 0),
              ElementsAre("PYTHONUNBUFFERED=1", "MASTER_PORT=23456", "PET_MASTER_PORT=23456", "MASTER_ADDR=j-master-0",
                          "PET_MASTER_ADDR=j-master-0", "WORLD_SIZE=3", "RANK=0", "PET_NODE_RANK=0",
                          "PET_NPROC_PER_NODE=auto", "PET_NNODES=3"));
}

TEST(PyTorchEnvironment, CountsProcesses) {
  struct Case {
    const char* given;
    const char* world;
  };
  for (const Case& each : {Case{"4", "WORLD_SIZE=12"}, {"gpu", "WORLD_SIZE=3"}, {"auto", "WORLD_SIZE=3"}}) {
    const auto job =
        job_of({{"Master", 1}, {"Worker", 2}}, R"({"spec":{"nprocPerNode":")" + std::string(each.given) + "\"}}");
    const auto found = variables(job, "Master", 0);
    EXPECT_THAT(found, ::testing::Contains(each.world));
    EXPECT_THAT(found, ::testing::Contains("PET_NPROC_PER_NODE=" + std::string(each.given)));
  }
}

TEST(PyTorchEnvironment, LetsWorkersMeetWithoutAMaster) {
  EXPECT_THAT(variables(job_of({{"Worker", 2}}), "Worker", 0),
              ElementsAre("PYTHONUNBUFFERED=1", "PET_NPROC_PER_NODE=auto", "PET_NNODES=2"));
  const auto job = job_of({{"Worker", 2}}, R"({"spec":{"elasticPolicy":{"minReplicas":1,"maxReplicas":3}}})");
  EXPECT_THAT(variables(job, "Worker", 1),
              ElementsAre("PYTHONUNBUFFERED=1", "PET_NPROC_PER_NODE=auto", "PET_RDZV_ENDPOINT=j-worker-0:23456",
                          "PET_RDZV_BACKEND=c10d", "PET_NNODES=1:3", "PET_MAX_RESTARTS=100"));
}

TEST(PyTorchEnvironment, TakesAllOfTheElasticPolicy) {
  const auto job = job_of({{"Worker", 4}}, R"({"spec":{"elasticPolicy":{"maxReplicas":4,"rdzvBackend":"etcd",
      "rdzvHost":"etcd","rdzvPort":2379,"rdzvId":"x","rdzvConf":[{"key":"a","value":"1"},{"key":"b","value":"2"}],
      "standalone":true,"nProcPerNode":2,"maxRestarts":7}}})");
  EXPECT_THAT(variables(job, "Worker", 0),
              ElementsAre("PYTHONUNBUFFERED=1", "PET_RDZV_ENDPOINT=etcd:2379", "PET_RDZV_BACKEND=etcd",
                          "PET_NNODES=4:4", "PET_MAX_RESTARTS=7", "PET_NPROC_PER_NODE=2", "PET_RDZV_ID=x",
                          "PET_RDZV_CONF=a=1,b=2", "PET_STANDALONE=1"));
}

TEST(PyTorchEnvironment, FillsInTheRangeOfAnElasticJob) {
  struct Case {
    const char* policy;
    std::int64_t minimum;
    std::int64_t maximum;
  };
  for (const Case& each : {Case{"{}", 5, 5},
                           {R"({"minReplicas":2})", 2, 2},
                           {R"({"maxReplicas":8})", 8, 8},
                           {R"({"minReplicas":2,"maxReplicas":8})", 2, 8}}) {
    const auto job = job_of({{"Worker", 5}}, R"({"spec":{"elasticPolicy":)" + std::string(each.policy) + "}}");
    ASSERT_TRUE(job.elastic);
    EXPECT_EQ(job.elastic->minimum, each.minimum) << each.policy;
    EXPECT_EQ(job.elastic->maximum, each.maximum) << each.policy;
  }
  EXPECT_FALSE(job_of({{"Worker", 5}}).elastic);
}

TEST(PyTorchPods, LookAsTheKindSays) {
  const auto job = job_of({{"Master", 1, "Never"}, {"Worker", 2, "ExitCode"}},
                          R"({"metadata":{"annotations":{"gangway.dev/checkpoint-dir":"/ckpt"}},
                              "status":{"gangway":{"attempt":3}}})");
  const json::Value pod = replica_pod(job, *job.find("Worker"), 1);
  EXPECT_EQ(json::string_at(pod, {"metadata", "name"}), "j-worker-1");
  EXPECT_EQ(json::map_at(pod, {"metadata", "labels"}),
            json::Object({
                {"training.kubeflow.org/job-name", "j"},
                {"training.kubeflow.org/operator-name", "pytorchjob-controller"},
                {"training.kubeflow.org/replica-type", "worker"},
                {"training.kubeflow.org/replica-index", "1"},
                {"scheduling.x-k8s.io/pod-group", "j"},
            }));
  EXPECT_EQ(json::string_at(pod, {"metadata", "annotations", "gangway.dev/attempt"}), "3");
  EXPECT_EQ(json::string_at(pod, {"spec", "restartPolicy"}), "Never");
  const json::Value& container = json::array_at(pod, {"spec", "containers"}).at(0);
  EXPECT_EQ(json::serialize(*json::find(container, {"ports"})),
            R"([{"name":"pytorchjob-port","containerPort":23456}])");
  const auto found = variables_of(container);
  EXPECT_THAT(std::vector(found.end() - 2, found.end()), ElementsAre("CHECKPOINT_DIR=/ckpt", "GANGWAY_ATTEMPT=3"));
  EXPECT_EQ(json::string_at(json::array_at(pod, {"spec", "initContainers"}).at(0), {"name"}), "init-pytorch");

  const json::Value chief = replica_pod(job, *job.find("Master"), 0);
  EXPECT_EQ(json::string_at(chief, {"metadata", "labels", "training.kubeflow.org/job-role"}), "master");
  EXPECT_THAT(json::array_at(chief, {"spec", "initContainers"}), IsEmpty());
}

TEST(PyTorchPods, HaveTheFirstWorkerAsChiefWithoutAMaster) {
  const auto job = job_of({{"Worker", 2}}, R"({"metadata":{"annotations":{"gangway.dev/gang":"false",
      "gangway.dev/on-preempt":"Requeue"}}})");
  const json::Value first = replica_pod(job, *job.find("Worker"), 0);
  EXPECT_EQ(json::string_at(first, {"metadata", "labels", "training.kubeflow.org/job-role"}), "master");
  EXPECT_EQ(json::string_at(first, {"metadata", "labels", "scheduling.x-k8s.io/pod-group"}), "");
  EXPECT_EQ(json::string_at(first, {"metadata", "annotations", "gangway.dev/on-preempt"}), "Requeue");
  EXPECT_THAT(json::array_at(first, {"spec", "initContainers"}), IsEmpty());
}

TEST(PyTorchPods, HaveAServiceEach) {
  auto tree = a_job(pytorch_rules(), {{"Master", 1}}, "{}");
  json::Value* containers =
      json::find(tree, {"spec", "pytorchReplicaSpecs", "Master", "template", "spec", "containers"});
  containers->get_array().at(0).get_object()["ports"] = testing::parsed(
      R"([{"containerPort":80},{"name":"board","containerPort":6006},{"name":"pytorchjob-port","containerPort":99}])");
  const auto job = read_job(pytorch_rules(), tree);
  const json::Value service = replica_service(job, *job.find("Master"), 0);
  EXPECT_EQ(json::string_at(service, {"metadata", "name"}), "j-master-0");
  EXPECT_EQ(json::string_at(service, {"spec", "clusterIP"}), "None");
  EXPECT_EQ(json::serialize(*json::find(service, {"spec", "ports"})),
            R"([{"name":"board","port":6006},{"name":"pytorchjob-port","port":99}])");
  EXPECT_EQ(json::string_at(service, {"spec", "selector", "training.kubeflow.org/replica-index"}), "0");
  EXPECT_THAT(pytorch_variables(job, *job.find("Master"), 0),
              ::testing::Contains(std::pair<std::string, std::string>("MASTER_PORT", "99")));
}

TEST(PyTorchVerdict, FollowsTheTallies) {
  struct Case {
    const char* name;
    std::vector<Replicas> replicas;
    const char* rest;
    std::map<std::string, ReplicaTally, std::less<>> tallies;
    std::vector<std::string> want;
  };
  const std::vector<Replicas> both{{"Master", 1, "Never"}, {"Worker", 2, "OnFailure"}};
  const std::vector<Replicas> workers{{"Worker", 2}};
  const char* elastic = R"({"spec":{"elasticPolicy":{"minReplicas":1,"maxReplicas":2}}})";
  const Case cases[] = {
      {"nothing yet", both, "{}", {{"Master", {}}, {"Worker", {}}}, {}},
      {"only workers run", both, "{}", {{"Master", {}}, {"Worker", {.active = 2}}}, {}},
      {"the master runs",
       both,
       "{}",
       {{"Master", {.active = 1}}, {"Worker", {}}},
       {"Running: PyTorchJob j is running."}},
      {"the master is done",
       both,
       "{}",
       {{"Master", {.succeeded = 1}}, {"Worker", {.active = 1, .failed = 1}}},
       {"Succeeded: PyTorchJob j is successfully completed."}},
      {"the master failed",
       both,
       "{}",
       {{"Master", {.failed = 1}}, {"Worker", {.active = 2}}},
       {"Failed: PyTorchJob j is failed because 1 Master replica(s) failed."}},
      {"a worker goes",
       both,
       "{}",
       {{"Master", {.active = 1}}, {"Worker", {.active = 1, .failed = 1}}},
       {"Restarting: PyTorchJob j is restarting because 1 Worker replica(s) failed."}},
      {"workers run", workers, "{}", {{"Worker", {.active = 1}}}, {"Running: PyTorchJob default/j is running."}},
      {"one of two done",
       workers,
       "{}",
       {{"Worker", {.active = 1, .succeeded = 1}}},
       {"Running: PyTorchJob default/j is running."}},
      {"all done",
       workers,
       "{}",
       {{"Worker", {.succeeded = 2}}},
       {"Succeeded: PyTorchJob default/j successfully completed."}},
      {"any of an elastic job done",
       workers,
       elastic,
       {{"Worker", {.active = 1, .succeeded = 1}}},
       {"Succeeded: PyTorchJob default/j successfully completed."}},
      {"scaled to none", {{"Worker", 0}}, "{}", {{"Worker", {}}}, {}},
  };
  for (const Case& each : cases) {
    std::vector<std::string> found;
    for (const Finding& finding : pytorch_rules().judge(job_of(each.replicas, each.rest), each.tallies))
      found.push_back(std::string(finding.type) + ": " + finding.message);
    EXPECT_EQ(found, each.want) << each.name;
  }
}

TEST(PyTorchGang, CountsWhatMustStartTogether) {
  struct Case {
    const char* name;
    std::vector<Replicas> replicas;
    const char* rest;
    std::int64_t succeeded;
    std::int64_t minimum;
    std::int64_t maximum;
  };
  const char* elastic = R"({"spec":{"elasticPolicy":{"minReplicas":2,"maxReplicas":6}}})";
  for (const Case& each : {
           Case{"all", {{"Master", 1}, {"Worker", 3}}, "{}", 0, 4, 0},
           Case{"who is done does not come back", {{"Master", 1}, {"Worker", 3}}, "{}", 3, 1, 0},
           Case{"elastic", {{"Worker", 4}}, elastic, 0, 2, 6},
           Case{"elastic with a master", {{"Master", 1}, {"Worker", 4}}, elastic, 0, 3, 7},
           Case{"as given",
                {{"Worker", 4}},
                R"({"spec":{"runPolicy":{"schedulingPolicy":{"minAvailable":3}}}})",
                0,
                3,
                0},
       }) {
    const GangWish wish = job_of(each.replicas, each.rest).gang_wish(each.succeeded);
    EXPECT_EQ(wish.minimum, each.minimum) << each.name;
    EXPECT_EQ(wish.maximum, each.maximum) << each.name;
  }
}

}  // namespace
}  // namespace gangway::jobs
