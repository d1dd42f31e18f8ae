// MPIJobs of v1: what their pods and files look like, and their life.
#include "jobs/mpi_exec_job.h"

#include <gmock/gmock.h>

#include "api/gang.h"
#include "jobs/job_kinds.h"
#include "jobs/mpi_access.h"
#include "jobs/replica_pods.h"
#include "jobs/test_jobs.h"

namespace gangway::jobs {
namespace {

using client::resources::kConfigMaps;
using client::resources::kPodGroups;
using client::resources::kPods;
using client::resources::kServiceAccounts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using namespace std::chrono_literals;

KubeflowJob job_of(int workers, const std::string& rest = "{}") {
  return read_job(exec_mpi_rules(), a_job(exec_mpi_rules(), {{"Launcher", 1}, {"Worker", workers}}, rest));
}

json::Value pod_of(const KubeflowJob& job, const char* type, int index) {
  return replica_pod(job, *job.find(type), index);
}

json::Value container_of(const json::Value& pod) {
  return json::array_at(pod, {"spec", "containers"}).front();
}

std::string labels_of(const json::Value& pod) {
  std::string text;
  for (const char* key : {"operator-name", "job-name", "replica-type", "replica-index", "job-role"})
    text +=
        std::string(json::string_at(pod, {"metadata", "labels", "training.kubeflow.org/" + std::string(key)})) + ",";
  return text;
}

TEST(ExecMpiPods, ALauncherHasNoNumberAndKnowsItsHosts) {
  const json::Value pod = pod_of(job_of(2), "Launcher", 0);
  EXPECT_EQ(json::string_at(pod, {"metadata", "name"}), "j-launcher");
  EXPECT_EQ(labels_of(pod), "mpijob-controller,j,launcher,,master,");
  EXPECT_EQ(json::string_at(pod, {"metadata", "labels", api::kPodGroupLabel}), "j");
  EXPECT_EQ(json::string_at(pod, {"spec", "serviceAccountName"}), "j-launcher");
  EXPECT_EQ(json::string_at(pod, {"spec", "restartPolicy"}), "Never");
  const json::Value container = container_of(pod);
  EXPECT_THAT(variables_of(container),
              ElementsAre("OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh", "OMPI_MCA_plm_rsh_no_tree_spawn=1",
                          "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile", "I_MPI_HYDRA_BOOTSTRAP=rsh",
                          "I_MPI_HYDRA_BOOTSTRAP_EXEC=/etc/mpi/kubexec.sh",
                          "NVIDIA_VISIBLE_DEVICES=", "NVIDIA_DRIVER_CAPABILITIES=", "OMPI_ALLOW_RUN_AS_ROOT=1",
                          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "GANGWAY_ATTEMPT=1"));
  EXPECT_EQ(json::string_at(json::array_at(container, {"volumeMounts"}).front(), {"mountPath"}), "/etc/mpi");
  EXPECT_EQ(json::serialize(*json::find(json::array_at(pod, {"spec", "volumes"}).front(), {"configMap"})),
            R"({"name":"j-config","items":[{"key":"hostfile","path":"hostfile","mode":292},)"
            R"({"key":"kubexec.sh","path":"kubexec.sh","mode":365},)"
            R"({"key":"discover_hosts.sh","path":"discover_hosts.sh","mode":365}]})");
}

TEST(ExecMpiPods, WorkersSleepUnlessTheyHaveACommand) {
  const json::Value pod = pod_of(job_of(2), "Worker", 1);
  EXPECT_EQ(json::string_at(pod, {"metadata", "name"}), "j-worker-1");
  EXPECT_EQ(labels_of(pod), "mpijob-controller,j,worker,1,,");
  const json::Value container = container_of(pod);
  EXPECT_EQ(json::serialize(*json::find(container, {"command"})), R"(["sleep"])");
  EXPECT_EQ(json::serialize(*json::find(container, {"args"})), R"(["365d"])");
  EXPECT_THAT(variables_of(container), ElementsAre("GANGWAY_ATTEMPT=1"));
  EXPECT_EQ(json::find(container, {"ports"}), nullptr);
  const json::Value own = pod_of(job_of(1, R"({"spec":{"mpiReplicaSpecs":{"Worker":{"template":{"spec":{"containers":[
      {"name":"w","image":"i","command":["serve"]}]}}}}}})"),
                                 "Worker", 0);
  EXPECT_EQ(json::serialize(*json::find(container_of(own), {"command"})), R"(["serve"])");
  EXPECT_EQ(json::find(container_of(own), {"args"}), nullptr);
}

TEST(ExecMpiPods, WhatTheUserSetStays) {
  const json::Value pod = pod_of(job_of(1, R"({"spec":{"mpiReplicaSpecs":{"Launcher":{"template":{"spec":{
      "serviceAccountName":"mine","containers":[{"name":"l","image":"i","env":[{"name":"I_MPI_HYDRA_BOOTSTRAP","value":"ssh"}],
      "resources":{"limits":{"nvidia.com/gpu":1}}}]}}}}}})"),
                                 "Launcher", 0);
  EXPECT_EQ(json::string_at(pod, {"spec", "serviceAccountName"}), "mine");
  EXPECT_THAT(variables_of(container_of(pod)), IsSupersetOf({"I_MPI_HYDRA_BOOTSTRAP=ssh"}));
  EXPECT_THAT(variables_of(container_of(pod)), ::testing::Not(::testing::Contains("I_MPI_HYDRA_BOOTSTRAP=rsh")));
  EXPECT_THAT(variables_of(container_of(pod)), ::testing::Not(::testing::Contains("NVIDIA_VISIBLE_DEVICES=")))
      << "it asked for a GPU";
}

TEST(ExecMpiFiles, NameTheHosts) {
  struct Case {
    const char* name;
    const char* rest;
    const char* hostfile;
    const char* discovered;
  };
  const Case cases[] = {
      {"as it is", "{}", "j-worker-0 slots=1\nj-worker-1 slots=1\n", "#!/bin/sh\necho j-worker-1:1\n"},
      {"slots", R"({"spec":{"slotsPerWorker":4}})", "j-worker-0 slots=4\nj-worker-1 slots=4\n",
       "#!/bin/sh\necho j-worker-1:4\n"},
      {"a launcher with none", R"({"spec":{"mpiReplicaSpecs":{"Launcher":{"template":{"spec":{"containers":[
          {"name":"l","image":"i","resources":{"limits":{"nvidia.com/gpu":"0"}}}]}}}}}})",
       "j-worker-0 slots=1\nj-worker-1 slots=1\n", "#!/bin/sh\necho j-worker-1:1\n"},
      {"a launcher with GPUs", R"({"spec":{"mpiReplicaSpecs":{"Launcher":{"template":{"spec":{"containers":[
          {"name":"l","image":"i","resources":{"limits":{"nvidia.com/gpu":1}}}]}}}}}})",
       "j-launcher slots=1\nj-worker-0 slots=1\nj-worker-1 slots=1\n", "#!/bin/sh\necho j-worker-1:1\n"},
  };
  for (const Case& each : cases) {
    const json::Value files = exec_mpi_texts(job_of(2, each.rest), {"j-worker-1"});
    EXPECT_EQ(json::string_at(files, {"hostfile"}), each.hostfile) << each.name;
    EXPECT_EQ(json::string_at(files, {"discover_hosts.sh"}), each.discovered) << each.name;
  }
  const json::Value files = exec_mpi_texts(job_of(1, R"({"spec":{"mainContainer":"train"}})"), {});
  EXPECT_THAT(std::string(json::string_at(files, {"kubexec.sh"})), HasSubstr("-c train "));
}

TEST(ExecMpiJudgement, FollowsTheLauncher) {
  struct Case {
    const char* name;
    ReplicaTally launcher, workers;
    const char* type;
    const char* message;
    const char* reason = "";
  };
  const Case cases[] = {
      {"waiting", {}, {.active = 2}, "", ""},
      {"running", {.active = 1}, {}, "Running", "MPIJob j is running."},
      {"done", {.succeeded = 1}, {.active = 2}, "Succeeded", "MPIJob j is successfully completed."},
      {"done, and a worker is lost",
       {.succeeded = 1},
       {.failed = 1},
       "Succeeded",
       "MPIJob j is successfully completed."},
      {"failed", {.failed = 1}, {.active = 2}, "Failed", "MPIJob j is failed because 1 Launcher replica(s) failed."},
      {"a worker", {.active = 1}, {.failed = 2}, "Failed", "MPIJob j is failed because 2 Worker replica(s) failed."},
      {"evicted", {.active = 1}, {.failed = 1, .evicted = 1}, "Failed", "1/2 workers are evicted", "MPIJobEvicted"},
      {"tried again", {.active = 1}, {.failed = 1, .replacing = 1}, "", ""},
  };
  const KubeflowJob job = job_of(2);
  for (const Case& each : cases) {
    const auto found = exec_mpi_rules().judge(job, {{"Launcher", each.launcher}, {"Worker", each.workers}});
    if (*each.type == 0) {
      EXPECT_THAT(found, IsEmpty()) << each.name;
      continue;
    }
    ASSERT_EQ(found.size(), 1U) << each.name;
    EXPECT_EQ(found[0].type, each.type) << each.name;
    EXPECT_EQ(found[0].message, each.message) << each.name;
    EXPECT_EQ(found[0].reason, each.reason) << each.name;
  }
}

struct ExecMpiJobs : ::testing::Test {
  JobsBench bench{exec_mpi_rules()};

  void start(int workers, const std::string& rest = "{}", const std::string& restart = "") {
    bench.start(a_job(exec_mpi_rules(), {{"Launcher", 1, restart}, {"Worker", workers, restart}}, rest));
  }
  std::string discovered() const {
    const json::Value map = bench.get(kConfigMaps, "j-config");
    return std::string(json::string_at(map, {"data", "discover_hosts.sh"}));
  }
};

TEST_F(ExecMpiJobs, MakeAllTheirPodsAtOnce) {
  start(2);
  EXPECT_THAT(bench.pods(), ElementsAre("j-launcher", "j-worker-0", "j-worker-1"));
  EXPECT_THAT(bench.services(), IsEmpty());
  EXPECT_THAT(bench.names(kConfigMaps), ElementsAre("j-config"));
  for (const client::Resource& each : {kServiceAccounts, kRoles, kRoleBindings})
    EXPECT_THAT(bench.names(each), ElementsAre("j-launcher")) << each.plural;
  const json::Value group = bench.group();
  EXPECT_EQ(json::integer_at(group, {"spec", "minMember"}), 3);
  EXPECT_EQ(bench.conditions(), "Created");
  EXPECT_EQ(bench.message(), "MPIJob j is created.");
  EXPECT_EQ(bench.reason(), "MPIJobCreated");
  EXPECT_EQ(discovered(), "#!/bin/sh\n");
  EXPECT_EQ(bench.writes_when_looking_again(), 0U);
}

TEST_F(ExecMpiJobs, RunAndSucceedWithTheirLauncher) {
  start(2, R"({"spec":{"runPolicy":{"cleanPodPolicy":"Running"}}})");
  bench.run("j-worker-1");
  EXPECT_EQ(discovered(), "#!/bin/sh\necho j-worker-1:1\n");
  bench.run_all();
  EXPECT_EQ(discovered(), "#!/bin/sh\necho j-worker-0:1\necho j-worker-1:1\n");
  EXPECT_EQ(bench.conditions(), "Created Running");
  EXPECT_EQ(bench.counts("Launcher"), "1/0/0");
  EXPECT_EQ(bench.counts("Worker"), "2/0/0");
  bench.end_pod("j-launcher", 0);
  EXPECT_EQ(bench.conditions(), "Created !Running Succeeded");
  EXPECT_THAT(bench.pods(), ElementsAre("j-launcher")) << "workers would sleep on";
  EXPECT_TRUE(bench.group().is_null());
  EXPECT_EQ(bench.writes_when_looking_again(), 0U);
}

TEST_F(ExecMpiJobs, FailWithTheirLauncher) {
  start(1);
  bench.run_all();
  bench.end_pod("j-launcher", 205);
  EXPECT_EQ(bench.conditions(), "Created !Running Failed");
  EXPECT_EQ(bench.reason(), "MPIJobFailed");
  EXPECT_EQ(bench.pods().size(), 2U) << "cleanPodPolicy None keeps them";
}

TEST_F(ExecMpiJobs, MakeADeletedWorkerAgain) {
  start(2);
  bench.run_all();
  const std::string before = bench.uid("j-worker-1");
  bench.begin_deletion("j-worker-1", false);
  EXPECT_EQ(bench.conditions(), "Created Running");
  EXPECT_EQ(discovered(), "#!/bin/sh\necho j-worker-0:1\n");
  bench.end_pod("j-worker-1", 143);  // it was told to end, and says how it did
  EXPECT_EQ(bench.conditions(), "Created Running");
  bench.end_deletion("j-worker-1");
  EXPECT_NE(bench.uid("j-worker-1"), before);
  EXPECT_EQ(bench.own("restarts"), 0);
}

TEST_F(ExecMpiJobs, TryAgainWhatMayBe) {
  struct Case {
    const char* restart;
    int code;
    const char* conditions;
  };
  for (const Case& each : {Case{"ExitCode", 205, "Created Restarting"},
                           {"ExitCode", 1, "Created !Running Failed"},
                           {"OnFailure", 1, "Created Restarting"},
                           {"Never", 205, "Created !Running Failed"}}) {
    JobsBench other(exec_mpi_rules());
    other.start(a_job(exec_mpi_rules(), {{"Launcher", 1, each.restart}, {"Worker", 1}}));
    other.run_all();
    const std::string before = other.uid("j-launcher");
    other.end_pod("j-launcher", each.code);
    EXPECT_EQ(other.conditions(), each.conditions) << each.restart << each.code;
    EXPECT_EQ(other.uid("j-launcher") != before, std::string(each.conditions).ends_with("Restarting"));
  }
}

TEST_F(ExecMpiJobs, KeepTheirLimits) {
  start(1, R"({"spec":{"runPolicy":{"activeDeadlineSeconds":60,"ttlSecondsAfterFinished":10}}})");
  bench.run_all();
  bench.loop.advance(61s);
  EXPECT_EQ(bench.reason(), "MPIJobFailed");
  EXPECT_EQ(bench.message(), "Job j has failed because it was active longer than specified deadline");
  EXPECT_THAT(bench.pods(), IsEmpty());
  bench.loop.advance(11s);
  EXPECT_TRUE(bench.job().is_null());
}

TEST_F(ExecMpiJobs, GrowAndShrinkByTheirSpec) {
  start(1);
  bench.run_all();
  bench.patch_job(R"({"spec":{"mpiReplicaSpecs":{"Worker":{"replicas":3}}}})");
  EXPECT_THAT(bench.pods(), ElementsAre("j-launcher", "j-worker-0", "j-worker-1", "j-worker-2"));
  json::Value map = bench.get(kConfigMaps, "j-config");
  EXPECT_THAT(std::string(json::string_at(map, {"data", "hostfile"})), HasSubstr("j-worker-2 slots=1"));
  EXPECT_EQ(discovered(), "#!/bin/sh\necho j-worker-0:1\n") << "the others do not run yet";
  EXPECT_THAT(json::serialize(bench.get(kRoles, "j-launcher")), HasSubstr("j-worker-2"));
  bench.run_all();
  EXPECT_THAT(discovered(), HasSubstr("echo j-worker-2:1"));
  bench.patch_job(R"({"spec":{"mpiReplicaSpecs":{"Worker":{"replicas":2}}}})");
  EXPECT_THAT(bench.pods(), ElementsAre("j-launcher", "j-worker-0", "j-worker-1"));
  EXPECT_EQ(discovered(), "#!/bin/sh\necho j-worker-0:1\necho j-worker-1:1\n");
  EXPECT_EQ(bench.conditions(), "Created Running");
}

TEST_F(ExecMpiJobs, AreElasticByAnnotation) {
  start(3, R"({"metadata":{"annotations":{"gangway.dev/min-workers":"1","gangway.dev/max-workers":"4",
      "gangway.dev/on-preempt":"Shrink"}}})");
  const json::Value group = bench.group();
  EXPECT_EQ(json::integer_at(group, {"spec", "minMember"}), 2);
  EXPECT_EQ(json::string_at(group, {"metadata", "annotations", api::kMaxMembers}), "5");
  bench.run_all();
  bench.begin_deletion("j-worker-2", true);
  EXPECT_EQ(bench.conditions(), "Created Running");
  EXPECT_EQ(bench.own("attempt"), 1);
}

TEST_F(ExecMpiJobs, ThatArePreemptedComeBackWhole) {
  start(2, R"({"metadata":{"annotations":{"gangway.dev/on-preempt":"Requeue"}}})");
  bench.run_all();
  const std::string before = bench.uid("j-launcher");
  bench.begin_deletion("j-worker-0", true);
  EXPECT_EQ(bench.conditions(), "Created Restarting");
  EXPECT_EQ(bench.reason(), "MPIJobPreempted");
  EXPECT_EQ(bench.own("attempt"), 2);
  EXPECT_THAT(bench.pods(), ElementsAre("j-worker-0")) << "none of the next is made while one of the last is there";
  bench.end_deletion("j-worker-0");
  EXPECT_THAT(bench.pods(), ElementsAre("j-launcher", "j-worker-0", "j-worker-1"));
  EXPECT_NE(bench.uid("j-launcher"), before);
  EXPECT_EQ(json::string_at(bench.pod("j-launcher"), {"metadata", "annotations", api::kAttempt}), "2");
  EXPECT_EQ(discovered(), "#!/bin/sh\n");
}

TEST_F(ExecMpiJobs, AreSuspendedAndResumed) {
  start(1);
  bench.run_all();
  bench.patch_job(R"({"spec":{"runPolicy":{"suspend":true}}})");
  EXPECT_EQ(bench.conditions(), "Created !Running Suspended");
  EXPECT_EQ(bench.message(), "MPIJob j is suspended.");
  EXPECT_THAT(bench.pods(), IsEmpty());
  EXPECT_TRUE(bench.group().is_null());
  EXPECT_EQ(bench.writes_when_looking_again(), 0U);
  bench.patch_job(R"({"spec":{"runPolicy":{"suspend":false}}})");
  EXPECT_THAT(bench.pods(), ElementsAre("j-launcher", "j-worker-0"));
  EXPECT_EQ(bench.own("attempt"), 2);
}

TEST_F(ExecMpiJobs, AreTrainable) {
  start(2, R"({"metadata":{"annotations":{"gangway.dev/min-workers":"1"}}})");
  bench.run_all();
  std::vector<api::Version> pods;
  for (const auto& [name, version] : bench.api.objects(kPods)) pods.push_back(version);
  const Trainable seen = find_job_kind("kubeflow.org", "MPIJob")
                             ->read(bench.api.get(exec_mpi_rules().resource, {"default", "j"}), bench.job(), pods);
  EXPECT_EQ(seen.chief, "j-launcher");
  EXPECT_EQ(seen.minimum, 2);
  EXPECT_EQ(seen.granted(), 3);
  EXPECT_EQ(seen.phase, Phase::kRunning);
  EXPECT_EQ(seen.offer().shrink_by, 1);
  EXPECT_EQ(json::serialize(seen.resize("worker", 4).value()),
            R"({"spec":{"mpiReplicaSpecs":{"Worker":{"replicas":4}}}})");
  EXPECT_FALSE(seen.resize("launcher", 2).has_value());
}

}  // namespace
}  // namespace gangway::jobs
