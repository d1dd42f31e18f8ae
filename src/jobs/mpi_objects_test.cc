// What is read off an MPIJob, and what its objects look like.
#include "jobs/mpi_objects.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "api/gang.h"
#include "api/mpi.h"
#include "jobs/mpi_files.h"
#include "jobs/test_jobs.h"

namespace gangway::jobs {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;

MpiJob a_mpi_job(const std::string& spec, const std::string& rest = "{}") {
  json::Value job = testing::an_object("kubeflow.org/v1alpha1", "MPIJob", "default", "j").json();
  job = merged(std::move(job), testing::parsed(R"({"spec":{"template":{"spec":{"containers":[{"name":"mpi","image":"i",
      "command":["mpirun","train"],"resources":{"limits":{"nvidia.com/gpu":"2"}},
      "volumeMounts":[{"name":"data","mountPath":"/data"}]}],"volumes":[{"name":"data","emptyDir":{}}]}}}})"));
  job = merged(std::move(job), testing::parsed(rest));
  job = merged(std::move(job), json::Object{{"spec", testing::parsed(spec)}});
  return {version_of(job), job};
}

json::Value first_container(const json::Value& maker) {
  return json::array_at(maker, {"spec", "template", "spec", "containers"}).front();
}

TEST(MpiWorkersTest, AreReadInAllTheirForms) {
  struct Case {
    const char* name;
    const char* spec;
    std::int64_t count, units, slots;
  };
  const Case cases[] = {
      {"replicas", R"({"replicas":3})", 3, 2, 2},
      {"their slots", R"({"replicas":3,"slotsPerWorker":5})", 3, 2, 5},
      {"less than a node", R"({"gpus":2,"gpusPerNode":4})", 1, 2, 2},
      {"several nodes", R"({"gpus":16,"gpusPerNode":8})", 2, 8, 8},
      {"one each", R"({"gpus":3})", 3, 1, 1},
      {"units", R"({"processingUnits":8,"processingUnitsPerNode":4,"processingResourceType":"cpu"})", 2, 4, 4},
      {"no units", R"({"replicas":2,"processingResourceType":"cpu"})", 2, 0, 1},
  };
  for (const Case& each : cases) {
    const MpiWorkers workers = a_mpi_job(each.spec).workers;
    EXPECT_EQ(workers.count, each.count) << each.name;
    EXPECT_EQ(workers.units, each.units) << each.name;
    EXPECT_EQ(workers.slots, each.slots) << each.name;
  }
}

TEST(MpiObjectsTest, FilesNameTheWorkers) {
  const MpiJob job = a_mpi_job(R"({"replicas":2})");
  const json::Value map = mpi_config_map(job.owner(), mpi_texts(job, {"j-worker-1"}));
  EXPECT_EQ(json::string_at(map, {"metadata", "name"}), "j-config");
  EXPECT_EQ(json::string_at(map, {"data", "hostfile"}), "j-worker-0 slots=2\nj-worker-1 slots=2\n");
  EXPECT_EQ(json::string_at(map, {"data", "discover_hosts.sh"}), "#!/bin/sh\necho j-worker-1:2\n");
  EXPECT_EQ(json::string_at(map, {"data", "kubexec.sh"}).substr(0, 10), "#!/bin/sh\n");
}

TEST(MpiObjectsTest, WorkersSleepInParallel) {
  const json::Value set = mpi_worker_set(a_mpi_job(R"({"gpus":8,"gpusPerNode":4})"));
  EXPECT_EQ(json::string_at(set, {"metadata", "name"}), "j-worker");
  EXPECT_EQ(json::string_at(set, {"spec", "podManagementPolicy"}), "Parallel");
  EXPECT_EQ(json::integer_at(set, {"spec", "replicas"}), 2);
  const json::Value container = first_container(set);
  EXPECT_EQ(json::serialize(*json::find(container, {"command"})), R"(["sleep"])");
  EXPECT_EQ(json::string_at(container, {"resources", "limits", "nvidia.com/gpu"}), "4");
  EXPECT_EQ(json::string_at(set, {"spec", "template", "metadata", "labels", api::kMpiRoleLabel}), "worker");
  EXPECT_EQ(json::string_at(set, {"spec", "template", "metadata", "labels", api::kPodGroupLabel}), "j");
}

TEST(MpiObjectsTest, WhatRunsInAWorkerIsAskedBeforeItEnds) {
  const auto hook = [](std::string_view pod) {
    const json::Value container =
        first_container(mpi_worker_set(a_mpi_job(fmt::format(R"({{"replicas":1,"template":{{"spec":{}}}}})", pod))));
    const json::Value* found = json::find(container, {"lifecycle", "preStop", "exec", "command"});
    return found == nullptr ? std::string() : json::serialize(*found);
  };
  EXPECT_EQ(hook("{}"), json::serialize(json::Array{"/bin/sh", "-c", mpi_end_hook()}));
  EXPECT_EQ(hook(R"({"containers":[{"name":"mpi","image":"i","lifecycle":{"preStop":{"exec":{"command":["own"]}}}}]})"),
            R"(["own"])");
  EXPECT_EQ(hook(R"({"shareProcessNamespace":true})"), "") << "whose processes they are cannot be told";
}

TEST(MpiObjectsTest, WorkersOnSimulatedNodesOnlySleep) {
  const MpiJob job = a_mpi_job(R"({"replicas":1,"template":{"metadata":{"annotations":{
      "gangway.dev/simulated-duration":"1s","gangway.dev/simulated-termination":"2s"}}}})");
  const auto annotations = [](const json::Value& maker) {
    return json::serialize(*json::find(maker, {"spec", "template", "metadata", "annotations"}));
  };
  EXPECT_EQ(annotations(mpi_worker_set(job)), R"({"gangway.dev/simulated-termination":"2s"})");
  EXPECT_EQ(annotations(mpi_launcher_job(job)),
            R"({"gangway.dev/simulated-duration":"1s","gangway.dev/simulated-termination":"2s"})");
}

TEST(MpiObjectsTest, TheLauncherTakesNothingAndKnowsItsHosts) {
  const json::Value launcher = mpi_launcher_job(a_mpi_job(R"({"replicas":2,"activeDeadlineSeconds":60})"));
  EXPECT_EQ(json::integer_at(launcher, {"spec", "backoffLimit"}), 6);
  EXPECT_EQ(json::integer_at(launcher, {"spec", "activeDeadlineSeconds"}), 60);
  EXPECT_EQ(json::string_at(launcher, {"spec", "template", "spec", "serviceAccountName"}), "j-launcher");
  EXPECT_EQ(json::string_at(launcher, {"spec", "template", "spec", "restartPolicy"}), "Never");
  EXPECT_EQ(json::string_at(launcher, {"spec", "template", "metadata", "labels", api::kLateMemberLabel}), "launcher");
  const json::Value container = first_container(launcher);
  EXPECT_EQ(json::serialize(*json::find(container, {"command"})), R"(["mpirun","train"])");
  EXPECT_EQ(json::serialize(*json::find(container, {"resources"})), "{}");
  EXPECT_EQ(json::array_at(container, {"volumeMounts"}).size(), 2U);
  EXPECT_THAT(variables_of(container),
              IsSupersetOf({"GANGWAY_ATTEMPT=1", "OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh",
                            "OMPI_MCA_plm_rsh_no_tree_spawn=1", "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile"}));
}

// Open MPI refuses root, which containers run as unless they say otherwise; images made for it say that it need not.
TEST(MpiObjectsTest, TheLauncherMayRunAsTheRootOfItsContainerUnlessItSaysOtherwise) {
  const json::Value launcher = mpi_launcher_job(a_mpi_job(R"({"replicas":1})"));
  EXPECT_THAT(variables_of(first_container(launcher)),
              IsSupersetOf({"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}));
  const json::Value strict = mpi_launcher_job(a_mpi_job(R"({"replicas":1,"template":{"spec":{"containers":[
      {"name":"mpi","image":"i","env":[{"name":"OMPI_ALLOW_RUN_AS_ROOT","value":"0"}]}]}}})"));
  EXPECT_THAT(variables_of(first_container(strict)), Not(Contains("OMPI_ALLOW_RUN_AS_ROOT=1")));
}

TEST(MpiObjectsTest, TheLauncherMayBeToldApart) {
  const json::Value launcher = mpi_launcher_job(a_mpi_job(
      R"({"replicas":1,"backoffLimit":0,"mountsOnLauncher":false,"launcherOnMaster":true,
          "launcherResources":{"limits":{"cpu":"1"}},"template":{"spec":{"serviceAccountName":"mine"}}})"));
  const json::Value container = first_container(launcher);
  EXPECT_EQ(json::serialize(*json::find(container, {"resources"})), R"({"limits":{"cpu":"1"}})");
  EXPECT_EQ(json::array_at(container, {"volumeMounts"}).size(), 1U);
  EXPECT_EQ(json::array_at(launcher, {"spec", "template", "spec", "volumes"}).size(), 1U);
  EXPECT_EQ(json::integer_at(launcher, {"spec", "backoffLimit"}, -1), 0);
  EXPECT_EQ(json::string_at(launcher, {"spec", "template", "spec", "serviceAccountName"}), "mine");
  EXPECT_EQ(json::array_at(launcher, {"spec", "template", "spec", "tolerations"}).size(), 1U);
}

TEST(MpiObjectsTest, TheLauncherMayReachItsWorkersAndNobodyElse) {
  const MpiJob job = a_mpi_job(R"({"replicas":2})");
  const json::Value role = mpi_role(job.owner(), job.worker_names());
  const json::Array& rules = json::array_at(role, {"rules"});
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(json::serialize(*json::find(rules[1], {"resourceNames"})), R"(["j-worker-0","j-worker-1"])");
  EXPECT_EQ(json::serialize(*json::find(rules[1], {"resources"})), R"(["pods/exec"])");
}

}  // namespace
}  // namespace gangway::jobs
