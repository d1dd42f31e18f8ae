// MPIJobs of v2beta1: what their pods, files and launcher look like, and their life.
#include "jobs/mpi_ssh_job.h"

#include <gmock/gmock.h>

#include "api/gang.h"
#include "jobs/job_kinds.h"
#include "jobs/replica_pods.h"
#include "jobs/test_jobs.h"

namespace gangway::jobs {
namespace {

using client::resources::kConfigMaps;
using client::resources::kJobs;
using client::resources::kPods;
using client::resources::kSecrets;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

KubeflowJob job_of(int workers, const std::string& rest = "{}") {
  return read_job(ssh_mpi_rules(), a_job(ssh_mpi_rules(), {{"Launcher", 1}, {"Worker", workers}}, rest));
}

json::Value container_of(const json::Value& pod) {
  return json::array_at(pod, {"spec", "containers"}).front();
}

std::vector<std::string> variables(const std::string& rest) {
  std::vector<std::string> all;
  for (const auto& [name, value] : ssh_mpi_variables(job_of(2, rest))) all.push_back(name + "=" + value);
  return all;
}

TEST(SshMpiEnvironment, IsThatOfTheImplementation) {
  EXPECT_THAT(
      variables(R"({"spec":{"slotsPerWorker":2}})"),
      ElementsAre("K_MPI_JOB_ROLE=launcher", "OMPI_MCA_orte_keep_fqdn_hostnames=true",
                  "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile", "OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10",
                  "OMPI_MCA_orte_set_default_slots=2", "NVIDIA_VISIBLE_DEVICES=", "NVIDIA_DRIVER_CAPABILITIES="));
  EXPECT_THAT(variables(R"({"spec":{"slotsPerWorker":2,"mpiImplementation":"Intel"}})"),
              ElementsAre("K_MPI_JOB_ROLE=launcher", "I_MPI_HYDRA_HOST_FILE=/etc/mpi/hostfile",
                          "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS=-o ConnectionAttempts=10", "I_MPI_PERHOST=2",
                          "NVIDIA_VISIBLE_DEVICES=", "NVIDIA_DRIVER_CAPABILITIES="));
  EXPECT_THAT(variables(R"({"spec":{"mpiImplementation":"MPICH","runLauncherAsWorker":true}})"),
              ElementsAre("K_MPI_JOB_ROLE=launcher", "HYDRA_HOST_FILE=/etc/mpi/hostfile",
                          "HYDRA_LAUNCH_EXTRA_ARGS=-o ConnectionAttempts=10"));
}

TEST(SshMpiFiles, NameHostsByTheirPlaceInTheDns) {
  struct Case {
    const char* name;
    const char* rest;
    const char* hostfile;
    const char* discovered;
  };
  const Case cases[] = {
      {"OpenMPI", "{}", "j-worker-0.j.default.svc slots=1\nj-worker-1.j.default.svc slots=1\n",
       "#!/bin/sh\necho j-worker-1.j.default.svc\n"},
      {"Intel", R"({"spec":{"mpiImplementation":"Intel","slotsPerWorker":3}})",
       "j-worker-0.j.default.svc:3\nj-worker-1.j.default.svc:3\n", "#!/bin/sh\necho j-worker-1.j.default.svc\n"},
      {"with the launcher", R"({"spec":{"mpiImplementation":"MPICH","runLauncherAsWorker":true}})",
       "j-launcher.j.default.svc:1\nj-worker-0.j.default.svc:1\nj-worker-1.j.default.svc:1\n",
       "#!/bin/sh\necho j-launcher.j.default.svc\necho j-worker-1.j.default.svc\n"},
  };
  for (const Case& each : cases) {
    const json::Value files = ssh_mpi_texts(job_of(2, each.rest), {"j-worker-1"});
    EXPECT_EQ(json::string_at(files, {"hostfile"}), each.hostfile) << each.name;
    EXPECT_EQ(json::string_at(files, {"discover_hosts.sh"}), each.discovered) << each.name;
  }
}

TEST(SshMpiPods, WorkersServeSshUnderANameOfTheirOwn) {
  const KubeflowJob job = job_of(2);
  const json::Value pod = replica_pod(job, *job.find("Worker"), 1);
  EXPECT_EQ(json::string_at(pod, {"metadata", "name"}), "j-worker-1");
  EXPECT_EQ(json::serialize(*json::find(pod, {"metadata", "labels"})),
            R"({"training.kubeflow.org/job-name":"j","training.kubeflow.org/operator-name":"mpi-operator",)"
            R"("training.kubeflow.org/job-role":"worker","training.kubeflow.org/replica-index":"1",)"
            R"("scheduling.x-k8s.io/pod-group":"j"})");
  EXPECT_EQ(json::string_at(pod, {"spec", "hostname"}), "j-worker-1");
  EXPECT_EQ(json::string_at(pod, {"spec", "subdomain"}), "j");
  EXPECT_EQ(json::serialize(*json::find(pod, {"spec", "dnsConfig"})),
            R"({"searches":["j.default.svc.cluster.local"]})");
  const json::Value container = container_of(pod);
  EXPECT_EQ(json::serialize(*json::find(container, {"command"})), R"(["/usr/sbin/sshd","-De"])");
  EXPECT_THAT(variables_of(container), ElementsAre("K_MPI_JOB_ROLE=worker", "GANGWAY_ATTEMPT=1"));
  EXPECT_EQ(json::serialize(*json::find(container, {"volumeMounts"})),
            R"([{"name":"ssh-auth","mountPath":"/root/.ssh"}])");
  EXPECT_EQ(json::serialize(*json::find(json::array_at(pod, {"spec", "volumes"}).front(), {"secret"})),
            R"({"secretName":"j-ssh","items":[{"key":"ssh-privatekey","path":"id_rsa"},)"
            R"({"key":"ssh-publickey","path":"id_rsa.pub"},{"key":"ssh-publickey","path":"authorized_keys"}],)"
            R"("defaultMode":384})");
}

TEST(SshMpiPods, KeysOfAnotherUserAreReadable) {
  const KubeflowJob job = job_of(1, R"({"spec":{"sshAuthMountPath":"/home/mpi/.ssh"}})");
  const json::Value pod = replica_pod(job, *job.find("Worker"), 0);
  EXPECT_EQ(json::find(json::array_at(pod, {"spec", "volumes"}).front(), {"secret", "defaultMode"}), nullptr);
  EXPECT_EQ(json::string_at(json::array_at(container_of(pod), {"volumeMounts"}).front(), {"mountPath"}),
            "/home/mpi/.ssh");
}

TEST(SshMpiPods, AreCountedFromTheLauncherWhereItIsAHost) {
  const KubeflowJob job = job_of(1, R"({"spec":{"runLauncherAsWorker":true}})");
  const auto index = [&](const char* type) {
    const json::Value pod = replica_pod(job, *job.find(type), 0);
    return std::string(json::string_at(pod, {"metadata", "labels", api::kReplicaIndexLabel}));
  };
  EXPECT_EQ(index("Launcher"), "0");
  EXPECT_EQ(index("Worker"), "1");
}

struct SshMpiJobs : ::testing::Test {
  JobsBench bench{ssh_mpi_rules()};

  void start(int workers, const std::string& rest = "{}", const std::string& restart = "") {
    bench.start(a_job(ssh_mpi_rules(), {{"Launcher", 1}, {"Worker", workers, restart}}, rest));
  }
  bool has_launcher() const { return static_cast<bool>(bench.api.get(kJobs, {"default", "j-launcher"})); }

  // What the Job's controller does.
  void make_launcher_pod(const std::string& name = "j-launcher-x") {
    const json::Value job = bench.get(kJobs, "j-launcher");
    json::Value pod = testing::an_object("v1", "Pod", "default", name).json();
    pod = merged(std::move(pod), *json::find(job, {"spec", "template"}));
    json::object_at(pod, {"metadata"})["ownerReferences"] =
        json::Array{json::Object{{"apiVersion", "batch/v1"},
                                 {"kind", "Job"},
                                 {"name", "j-launcher"},
                                 {"uid", json::string_at(job, {"metadata", "uid"})},
                                 {"controller", true}}};
    bench.api.create(kPods, pod);
    bench.loop.run_until_idle();
  }
  void end_launcher(const std::string& type, const std::string& reason, const std::string& message) {
    bench.api.patch(
        kJobs, {"default", "j-launcher"},
        testing::parsed(R"({"status":{"conditions":[{"type":")" + type + R"(","status":"True","reason":")" + reason +
                        R"(","message":")" + message + R"(","lastTransitionTime":"2026-01-02T03:05:05Z"}]}})"),
        "status");
    bench.loop.run_until_idle();
  }
  void make_ready(const std::string& name) {
    bench.set_pod(name, R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})");
  }
  // What the garbage collector does.
  void forget_launcher() {
    bench.api.patch(kJobs, {"default", "j-launcher"}, testing::parsed(R"({"metadata":{"finalizers":null}})"));
    bench.loop.run_until_idle();
  }
};

TEST_F(SshMpiJobs, HaveAKeyANameAndALauncherOfTheirOwn) {
  start(2, R"({"spec":{"runPolicy":{"activeDeadlineSeconds":60}}})");
  EXPECT_THAT(bench.pods(), ElementsAre("j-worker-0", "j-worker-1"));
  EXPECT_THAT(bench.services(), ElementsAre("j"));
  EXPECT_THAT(bench.names(kConfigMaps), ElementsAre("j-config"));
  const json::Value service = bench.get(client::resources::kServices, "j");
  EXPECT_EQ(json::serialize(*json::find(service, {"spec"})),
            R"({"clusterIP":"None","selector":{"training.kubeflow.org/operator-name":"mpi-operator",)"
            R"("training.kubeflow.org/job-name":"j"}})");
  const json::Value secret = bench.get(kSecrets, "j-ssh");
  EXPECT_EQ(json::string_at(secret, {"type"}), "kubernetes.io/ssh-auth");
  EXPECT_EQ(json::serialize(*json::find(secret, {"stringData"})), R"({"ssh-privatekey":"PEM","ssh-publickey":"line"})");
  const json::Value launcher = bench.get(kJobs, "j-launcher");
  EXPECT_EQ(json::integer_at(launcher, {"spec", "backoffLimit"}), 6);
  EXPECT_EQ(json::integer_at(launcher, {"spec", "activeDeadlineSeconds"}), 60);
  EXPECT_EQ(json::string_at(launcher, {"spec", "podReplacementPolicy"}), "Failed");
  const json::Value& pod = *json::find(launcher, {"spec", "template"});
  EXPECT_EQ(json::string_at(pod, {"metadata", "labels", api::kJobRoleLabel}), "launcher");
  EXPECT_EQ(json::string_at(pod, {"spec", "hostname"}), "j-launcher");
  EXPECT_EQ(json::string_at(pod, {"spec", "restartPolicy"}), "OnFailure");
  EXPECT_EQ(json::find(pod, {"metadata", "name"}), nullptr);
  const json::Value group = bench.group();
  EXPECT_EQ(json::integer_at(group, {"spec", "minMember"}), 3);
  EXPECT_EQ(bench.message(), "MPIJob default/j is created.");
  EXPECT_EQ(bench.writes_when_looking_again(), 0U);
}

TEST_F(SshMpiJobs, RunWhenLauncherAndAllWorkersDo) {
  start(2);
  make_launcher_pod();
  bench.run("j-launcher-x");
  bench.run("j-worker-0");
  EXPECT_EQ(bench.conditions(), "Created");
  bench.run("j-worker-1");
  EXPECT_EQ(bench.conditions(), "Created Running");
  EXPECT_EQ(bench.message(), "MPIJob default/j is running.");
  EXPECT_EQ(bench.counts("Launcher"), "1/0/0");
  EXPECT_EQ(bench.counts("Worker"), "2/0/0");
  const json::Value map = bench.get(kConfigMaps, "j-config");
  EXPECT_EQ(json::string_at(map, {"data", "discover_hosts.sh"}),
            "#!/bin/sh\necho j-worker-0.j.default.svc\necho j-worker-1.j.default.svc\n");
  end_launcher("Complete", "CompletionsReached", "m");
  EXPECT_EQ(bench.conditions(), "Created !Running Succeeded");
  EXPECT_EQ(bench.message(), "MPIJob default/j successfully completed.");
  const json::Value tree = bench.job();
  EXPECT_EQ(json::string_at(tree, {"status", "completionTime"}), "2026-01-02T03:05:05Z") << "when the Job says";
  EXPECT_EQ(bench.pods().size(), 3U) << "cleanPodPolicy None keeps them";
  EXPECT_TRUE(bench.group().is_null());
  EXPECT_EQ(bench.writes_when_looking_again(), 0U);
}

TEST_F(SshMpiJobs, CleanUpTheirWorkersOnly) {
  struct Case {
    const char* policy;
    std::vector<std::string> left;
  };
  for (const Case& each :
       {Case{"All", {"j-launcher-x"}}, {"Running", {"j-launcher-x"}}, {"None", {"j-launcher-x", "j-worker-0"}}}) {
    SshMpiJobs_CleanUpTheirWorkersOnly_Test other;
    other.start(1, R"({"spec":{"runPolicy":{"cleanPodPolicy":")" + std::string(each.policy) + R"("}}})");
    other.make_launcher_pod();
    other.bench.run_all();
    other.end_launcher("Complete", "r", "m");
    EXPECT_EQ(other.bench.pods(), each.left) << each.policy;
    EXPECT_TRUE(other.has_launcher()) << each.policy;
  }
}

TEST_F(SshMpiJobs, FailAsTheirLaunchersJobSays) {
  start(1);
  make_launcher_pod();
  bench.run_all();
  bench.set_pod("j-launcher-x", R"({"status":{"phase":"Failed","reason":"Evicted","message":"no memory"}})");
  EXPECT_EQ(bench.conditions(), "Created Running") << "its Job may try again";
  end_launcher("Failed", "BackoffLimitExceeded", "too often");
  EXPECT_EQ(bench.conditions(), "Created !Running Failed");
  EXPECT_EQ(bench.reason(), "BackoffLimitExceeded/Evicted");
  EXPECT_EQ(bench.message(), "too often: no memory");
  EXPECT_EQ(bench.counts("Launcher"), "0/0/1");
}

TEST_F(SshMpiJobs, FailForGoodWhenAWorkerIsEvicted) {
  start(2);
  make_launcher_pod();
  bench.run_all();
  bench.set_pod("j-worker-1", R"({"status":{"phase":"Failed","reason":"Evicted"}})");
  EXPECT_EQ(bench.conditions(), "Created !Running Failed");
  EXPECT_EQ(bench.reason(), "MPIJobEvicted");
  EXPECT_EQ(bench.message(), "1/2 workers are evicted");
  const json::Value tree = bench.job();
  EXPECT_NE(json::string_at(tree, {"status", "completionTime"}), "");
}

TEST_F(SshMpiJobs, ReplaceAnEvictedWorkerWhereItMayRestart) {
  start(1, "{}", "OnFailure");
  make_launcher_pod();
  bench.run_all();
  const std::string before = bench.uid("j-worker-0");
  bench.set_pod("j-worker-0", R"({"status":{"phase":"Failed","reason":"Evicted"}})");
  EXPECT_NE(bench.uid("j-worker-0"), before);
  EXPECT_EQ(bench.conditions(), "Created Restarting");
  bench.run("j-worker-0");
  EXPECT_EQ(bench.conditions(), "Created Running");
}

TEST_F(SshMpiJobs, LaunchWhenWorkersAreReadyWhereTheySaySo) {
  start(2, R"({"spec":{"launcherCreationPolicy":"WaitForWorkersReady"}})");
  json::Value group = bench.group();
  EXPECT_EQ(json::integer_at(group, {"spec", "minMember"}), 2) << "the launcher comes later";
  EXPECT_THAT(std::string(json::string_at(group, {"metadata", "annotations", api::kLateMembers})),
              HasSubstr(R"([{"name":"launcher","count":1,)"))
      << "to room that is granted now";
  bench.run_all();
  make_ready("j-worker-0");
  EXPECT_FALSE(has_launcher());
  make_ready("j-worker-1");
  ASSERT_TRUE(has_launcher());
  const json::Value launcher = bench.get(kJobs, "j-launcher");
  EXPECT_EQ(json::string_at(launcher, {"spec", "template", "metadata", "labels", api::kLateMemberLabel}), "launcher");
}

// Room for the launcher is held until it comes: it must not wait for workers that there may be no room for.
TEST_F(SshMpiJobs, LaunchWithAsManyWorkersAsAreEnough) {
  start(2, R"({"metadata":{"annotations":{"gangway.dev/min-workers":"1"}},
               "spec":{"launcherCreationPolicy":"WaitForWorkersReady"}})");
  bench.run("j-worker-0");
  EXPECT_FALSE(has_launcher());
  make_ready("j-worker-0");
  EXPECT_TRUE(has_launcher());
}

TEST_F(SshMpiJobs, AreSuspendedAndResumed) {
  start(1);
  make_launcher_pod();
  bench.run_all();
  bench.patch_job(R"({"spec":{"runPolicy":{"suspend":true}}})");
  EXPECT_EQ(bench.conditions(), "Created !Running Suspended");
  EXPECT_EQ(bench.message(), "MPIJob suspended");
  EXPECT_EQ(bench.reason(), "MPIJobSuspended");
  EXPECT_THAT(bench.pods(), ElementsAre("j-launcher-x")) << "it goes with its Job";
  EXPECT_TRUE(bench.api.get(kJobs, {"default", "j-launcher"}).header->deleting_since);
  EXPECT_THAT(bench.names(kSecrets), ElementsAre("j-ssh"));
  bench.api.remove(kPods, {"default", "j-launcher-x"});
  forget_launcher();
  EXPECT_FALSE(has_launcher());
  EXPECT_EQ(bench.writes_when_looking_again(), 0U);
  bench.patch_job(R"({"spec":{"runPolicy":{"suspend":false}}})");
  EXPECT_TRUE(has_launcher());
  EXPECT_THAT(bench.pods(), ElementsAre("j-worker-0"));
  EXPECT_EQ(bench.own("attempt"), 2);
  EXPECT_TRUE(bench.has_event("MPIJobResumed", "MPIJob resumed"));
}

TEST_F(SshMpiJobs, ThatArePreemptedComeBackWhole) {
  start(2, R"({"metadata":{"annotations":{"gangway.dev/on-preempt":"Requeue"}}})");
  make_launcher_pod();
  bench.run_all();
  bench.begin_deletion("j-worker-1", true);
  EXPECT_EQ(bench.conditions(), "Created Restarting");
  EXPECT_EQ(bench.reason(), "MPIJobPreempted");
  EXPECT_EQ(bench.own("attempt"), 2);
  EXPECT_TRUE(bench.api.get(kJobs, {"default", "j-launcher"}).header->deleting_since);
  bench.end_deletion("j-worker-1");
  bench.api.remove(kPods, {"default", "j-launcher-x"});
  bench.loop.run_until_idle();
  EXPECT_THAT(bench.pods(), IsEmpty()) << "its Job is there";
  forget_launcher();
  EXPECT_THAT(bench.pods(), ElementsAre("j-worker-0", "j-worker-1"));
  const json::Value launcher = bench.get(kJobs, "j-launcher");
  EXPECT_EQ(json::string_at(launcher, {"metadata", "annotations", api::kAttempt}), "2");
  EXPECT_EQ(json::string_at(launcher, {"spec", "template", "metadata", "annotations", api::kAttempt}), "2");
}

TEST_F(SshMpiJobs, AreTrainable) {
  start(2, R"({"metadata":{"annotations":{"gangway.dev/min-workers":"1","gangway.dev/max-workers":"4"}}})");
  make_launcher_pod();
  bench.run_all();
  std::vector<api::Version> pods;
  for (const auto& [name, version] : bench.api.objects(kPods)) pods.push_back(version);
  const Trainable seen = find_job_kind("kubeflow.org", "MPIJob")
                             ->read(bench.api.get(ssh_mpi_rules().resource, {"default", "j"}), bench.job(), pods);
  EXPECT_EQ(seen.chief, "j-launcher-x");
  EXPECT_EQ(seen.minimum, 2);
  EXPECT_EQ(seen.granted(), 3);
  EXPECT_EQ(seen.phase, Phase::kRunning);
  EXPECT_EQ(seen.find("worker")->maximum, 4);
  EXPECT_EQ(seen.offer().shrink_by, 1);
}

}  // namespace
}  // namespace gangway::jobs
