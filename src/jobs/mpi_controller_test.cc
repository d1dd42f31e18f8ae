// The life of an MPIJob: workers, launcher, end; suspended, preempted and queued again in between.
#include "jobs/mpi_controller.h"

#include <gmock/gmock.h>

#include "api/gang.h"
#include "jobs/mpi_job.h"
#include "jobs/mpi_objects.h"
#include "jobs/mpi_trainable.h"
#include "jobs/test_jobs.h"

namespace gangway::jobs {
namespace {

using client::resources::kAllotments;
using client::resources::kConfigMaps;
using client::resources::kJobs;
using client::resources::kPodGroups;
using client::resources::kPods;
using client::resources::kServiceAccounts;
using client::resources::kStatefulSets;
using ::testing::HasSubstr;

struct MpiBench : testing::ControllerBench {
  MpiController reconciler;

  MpiBench() { api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"}); }

  void start(const std::string& rest = "{}") {
    json::Value job = testing::an_object("kubeflow.org/v1alpha1", "MPIJob", "default", "j").json();
    job = merged(std::move(job), testing::parsed(R"({"spec":{"replicas":2,"template":{"spec":{"containers":[
        {"name":"mpi","image":"i"}]}}}})"));
    api.create(mpi_jobs(), merged(std::move(job), testing::parsed(rest)));
    ControllerBench::start(reconciler);
  }
  void patch(const client::Resource& resource, const std::string& name, const std::string& body,
             const std::string& part = "") {
    api.patch(resource, {"default", name}, testing::parsed(body), part);
    loop.run_until_idle();
  }
  json::Value get(const client::Resource& resource, const std::string& name) const {
    return api.tree(resource, {"default", name});
  }
  bool exists(const client::Resource& resource, const std::string& name) const {
    return static_cast<bool>(api.get(resource, {"default", name}));
  }
  json::Value job() const { return get(mpi_jobs(), "j"); }
  std::string state() const {
    const json::Value tree = job();
    const json::Array& all = json::array_at(tree, {"status", "conditions"});
    return all.empty() ? "" : std::string(json::string_at(all.back(), {"type"}));
  }
  std::string message() const {
    const json::Value tree = job();
    return std::string(json::string_at(json::array_at(tree, {"status", "conditions"}).back(), {"message"}));
  }
  std::string launcher_status() const {
    const json::Value tree = job();
    return std::string(json::string_at(tree, {"status", "launcherStatus"}));
  }
  std::int64_t attempt() const {
    const json::Value tree = job();
    return json::integer_at(tree, {"status", "gangway", "attempt"});
  }

  // What the other controllers do.
  void make_workers_ready(int count) {
    patch(kStatefulSets, "j-worker",
          R"({"status":{"observedGeneration":99,"readyReplicas":)" + std::to_string(count) + "}}", "status");
  }
  void make_worker_pod(int index, const std::string& attempt = "") {
    json::Value pod = testing::an_object("v1", "Pod", "default", "j-worker-" + std::to_string(index)).json();
    const json::Value set = get(kStatefulSets, "j-worker");
    json::object_at(pod, {"metadata"})["labels"] = json::Object{{"mpi_job_name", "j"}, {"mpi_role_type", "worker"}};
    json::object_at(pod, {"metadata"})["ownerReferences"] =
        json::Array{json::Object{{"apiVersion", "apps/v1"},
                                 {"kind", "StatefulSet"},
                                 {"name", "j-worker"},
                                 {"uid", json::string_at(set, {"metadata", "uid"})},
                                 {"controller", true}}};
    if (!attempt.empty()) json::object_at(pod, {"metadata"})["annotations"] = json::Object{{api::kAttempt, attempt}};
    api.create(kPods, pod);
    patch(kPods, "j-worker-" + std::to_string(index), R"({"status":{"phase":"Running"}})", "status");
  }
  void run_launcher() {
    make_workers_ready(2);
    patch(kJobs, "j-launcher", R"({"status":{"active":1,"ready":1,"startTime":"2026-01-02T03:04:05Z"}})", "status");
  }
  void end_launcher(const char* type) {
    patch(kJobs, "j-launcher",
          R"({"status":{"active":0,"ready":0,"conditions":[{"type":")" + std::string(type) +
              R"(","status":"True","message":"no more tries","lastTransitionTime":"2026-01-02T03:05:05Z"}]}})",
          "status");
  }
};

struct MpiJobs : ::testing::Test, MpiBench {};

TEST_F(MpiJobs, AreLaunchedWhenAllWorkersAreReady) {
  start();
  for (const auto& [resource, name] : {std::pair{kConfigMaps, "j-config"},
                                       {kServiceAccounts, "j-launcher"},
                                       {kRoles, "j-launcher"},
                                       {kRoleBindings, "j-launcher"},
                                       {kStatefulSets, "j-worker"},
                                       {kPodGroups, "j"}})
    EXPECT_TRUE(exists(resource, name)) << name;
  const json::Value group = get(kPodGroups, "j");
  EXPECT_EQ(json::integer_at(group, {"spec", "minMember"}), 2);
  make_workers_ready(1);
  EXPECT_FALSE(exists(kJobs, "j-launcher"));
  EXPECT_EQ(state(), "Created");
  run_launcher();
  EXPECT_EQ(state(), "Running");
  EXPECT_EQ(launcher_status(), "Active");
  const json::Value tree = job();
  EXPECT_EQ(json::integer_at(tree, {"status", "workerReplicas"}), 2);
  EXPECT_EQ(json::string_at(tree, {"status", "startTime"}), "2026-01-02T03:04:05Z");
  EXPECT_EQ(writes_when_looking_again(), 0U);
}

// Its pod is made later, and has room from the start.
TEST_F(MpiJobs, AnnounceALauncherThatTakesRoom) {
  start(R"({"spec":{"launcherResources":{"limits":{"cpu":"2"}}}})");
  const json::Value group = get(kPodGroups, "j");
  EXPECT_EQ(json::integer_at(group, {"spec", "minMember"}), 2) << "the workers";
  const json::Value late =
      testing::parsed(std::string(json::string_at(group, {"metadata", "annotations", api::kLateMembers})));
  ASSERT_TRUE(late.is_array() && late.get_array().size() == 1);
  const json::Value& launcher = late.get_array().front();
  EXPECT_EQ(json::string_at(launcher, {"name"}), "launcher");
  EXPECT_EQ(json::integer_at(launcher, {"count"}), 1);
  const json::Array& containers = json::array_at(launcher, {"template", "spec", "containers"});
  ASSERT_EQ(containers.size(), 1U);
  EXPECT_EQ(json::string_at(containers.front(), {"resources", "limits", "cpu"}), "2");
  run_launcher();
  const json::Value made = get(kJobs, "j-launcher");
  EXPECT_EQ(json::string_at(made, {"spec", "template", "metadata", "labels", api::kLateMemberLabel}), "launcher");
  EXPECT_EQ(writes_when_looking_again(), 0U);
}

TEST_F(MpiJobs, AnnounceNobodyForALauncherThatTakesNothing) {
  start();
  const json::Value group = get(kPodGroups, "j");
  EXPECT_EQ(json::string_at(group, {"metadata", "annotations", api::kLateMembers}), "");
}

TEST_F(MpiJobs, KeepTheirListOfHostsInStep) {
  start();
  make_worker_pod(1);
  make_worker_pod(0);
  json::Value map = get(kConfigMaps, "j-config");
  EXPECT_EQ(json::string_at(map, {"data", "discover_hosts.sh"}), "#!/bin/sh\necho j-worker-0:1\necho j-worker-1:1\n");
  api.remove(kPods, {"default", "j-worker-0"});
  loop.run_until_idle();
  map = get(kConfigMaps, "j-config");
  EXPECT_EQ(json::string_at(map, {"data", "discover_hosts.sh"}), "#!/bin/sh\necho j-worker-1:1\n");
}

TEST_F(MpiJobs, EndWithTheirLauncher) {
  for (const bool succeeds : {true, false}) {
    MpiBench life;
    life.start();
    life.run_launcher();
    life.end_launcher(succeeds ? "Complete" : "Failed");
    EXPECT_EQ(life.launcher_status(), succeeds ? "Succeeded" : "Failed");
    EXPECT_EQ(life.state(), succeeds ? "Succeeded" : "Failed");
    const json::Value tree = life.job();
    EXPECT_EQ(json::string_at(tree, {"status", "completionTime"}), "2026-01-02T03:05:05Z");
    const json::Value set = life.get(kStatefulSets, "j-worker");
    EXPECT_EQ(json::integer_at(set, {"spec", "replicas"}, -1), 0);
    EXPECT_TRUE(life.exists(kJobs, "j-launcher"));
    EXPECT_FALSE(life.exists(kPodGroups, "j"));
    EXPECT_EQ(life.writes_when_looking_again(), 0U);
  }
}

TEST_F(MpiJobs, KeepTheirWorkersWhenTheySaySo) {
  start(R"({"spec":{"cleanPodPolicy":"None"}})");
  run_launcher();
  end_launcher("Complete");
  const json::Value set = get(kStatefulSets, "j-worker");
  EXPECT_EQ(json::integer_at(set, {"spec", "replicas"}), 2);
  EXPECT_TRUE(exists(kPodGroups, "j")) << "a worker that is lost is made again, and would wait for it for ever";
  EXPECT_EQ(writes_when_looking_again(), 0U);
}

TEST_F(MpiJobs, GrowAndShrinkByTheirSpec) {
  start();
  run_launcher();
  patch(mpi_jobs(), "j", R"({"spec":{"replicas":3}})");
  const json::Value set = get(kStatefulSets, "j-worker");
  EXPECT_EQ(json::integer_at(set, {"spec", "replicas"}), 3);
  const json::Value map = get(kConfigMaps, "j-config");
  EXPECT_THAT(std::string(json::string_at(map, {"data", "hostfile"})), HasSubstr("j-worker-2 slots=1"));
  const json::Value role = get(kRoles, "j-launcher");
  EXPECT_THAT(json::serialize(role), HasSubstr("j-worker-2"));
  const json::Value group = get(kPodGroups, "j");
  EXPECT_EQ(json::integer_at(group, {"spec", "minMember"}), 3);
}

TEST_F(MpiJobs, ThatArePreemptedComeBackWhole) {
  start(R"({"metadata":{"annotations":{"gangway.dev/on-preempt":"Requeue"}}})");
  make_worker_pod(0);
  run_launcher();
  const std::string old_set = api.get(kStatefulSets, {"default", "j-worker"}).header->uid;
  // The pod goes, and stays for a while.
  patch(kPods, "j-worker-0", R"({"metadata":{"finalizers":["test/x"]}})");
  patch(kPods, "j-worker-0",
        R"({"status":{"conditions":[{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"}]}})",
        "status");
  api.remove(kPods, {"default", "j-worker-0"});
  loop.run_until_idle();
  EXPECT_EQ(state(), "Restarting");
  EXPECT_EQ(attempt(), 2);
  EXPECT_THAT(message(), HasSubstr("is queued again as attempt 2."));
  EXPECT_EQ(launcher_status(), "");
  EXPECT_TRUE(exists(kPodGroups, "j")) << "it keeps its place in line";
  // Both are deleted with their pods, which is the garbage collector's work.
  for (const auto& [resource, name] : {std::pair{kStatefulSets, "j-worker"}, {kJobs, "j-launcher"}}) {
    ASSERT_TRUE(exists(resource, name));
    EXPECT_TRUE(api.get(resource, {"default", name}).header->deleting_since) << name;
    patch(resource, name, R"({"metadata":{"finalizers":null}})");
  }
  const api::Version set = api.get(kStatefulSets, {"default", "j-worker"});
  ASSERT_TRUE(set);
  EXPECT_NE(set.header->uid, old_set);
  const json::Value tree = get(kStatefulSets, "j-worker");
  EXPECT_EQ(json::string_at(tree, {"spec", "template", "metadata", "annotations", api::kAttempt}), "2");
  EXPECT_FALSE(exists(kJobs, "j-launcher"));
  EXPECT_EQ(writes_when_looking_again(), 0U);
}

// A single worker is bound without an Allotment. By the time anybody looks it has gone, another waits in its place, and
// the launcher has failed for want of it: the grant of who took its room is all that is left.
TEST_F(MpiJobs, ThatWerePreemptedUnseenComeBackToo) {
  start(R"({"metadata":{"annotations":{"gangway.dev/on-preempt":"Requeue"}},"spec":{"replicas":1}})");
  make_workers_ready(1);
  run_launcher();
  api.create(client::resources::kAllotments,
             testing::an_object("gangway.dev/v1alpha1", "Allotment", "default", "critical-x")
                 .with(R"({"spec":{"gang":{"kind":"PodGroup","name":"critical"},"grantedAt":")" +
                       to_rfc3339(loop.clock().wall()) + R"(","victims":[{"namespace":"default","pod":"j-worker-0",
                           "uid":"gone","gang":"default/j","how":"Requeue"}]}})"));
  loop.run_until_idle();
  EXPECT_EQ(state(), "Running") << "nothing has happened yet";
  make_workers_ready(0);
  end_launcher("Failed");
  EXPECT_EQ(attempt(), 2);
  EXPECT_EQ(state(), "Restarting");
  EXPECT_THAT(message(), HasSubstr("was preempted by default/critical and is queued again as attempt 2."));
}

TEST_F(MpiJobs, AreSuspendedAndResumed) {
  start();
  run_launcher();
  patch(mpi_jobs(), "j", R"({"spec":{"runPolicy":{"suspend":true}}})");
  EXPECT_EQ(state(), "Suspended");
  EXPECT_FALSE(exists(kPodGroups, "j"));
  for (const auto& [resource, name] : {std::pair{kStatefulSets, "j-worker"}, {kJobs, "j-launcher"}})
    patch(resource, name, R"({"metadata":{"finalizers":null}})");
  EXPECT_FALSE(exists(kStatefulSets, "j-worker"));
  EXPECT_EQ(writes_when_looking_again(), 0U);
  patch(mpi_jobs(), "j", R"({"spec":{"runPolicy":{"suspend":false}}})");
  EXPECT_TRUE(exists(kStatefulSets, "j-worker"));
  EXPECT_EQ(attempt(), 2);
}

TEST_F(MpiJobs, AreNoGangWhenTheySaySo) {
  start(R"({"metadata":{"annotations":{"gangway.dev/gang":"false"}}})");
  EXPECT_FALSE(exists(kPodGroups, "j"));
  const json::Value set = get(kStatefulSets, "j-worker");
  EXPECT_EQ(json::string_at(set, {"spec", "template", "metadata", "labels", api::kPodGroupLabel}), "");
}

TEST_F(MpiJobs, AreTrainable) {
  start();
  run_launcher();
  const Trainable seen = mpi_trainable(api.get(mpi_jobs(), {"default", "j"}), job(), {});
  EXPECT_EQ(seen.kind, "MPIJob");
  EXPECT_EQ(seen.minimum, 2);
  EXPECT_EQ(seen.gang, "j");
  EXPECT_EQ(seen.phase, Phase::kQueued);
  EXPECT_EQ(seen.find("worker")->wish, 2);
  EXPECT_EQ(json::serialize(seen.resize("worker", 4).value()), R"({"spec":{"replicas":4}})");
  EXPECT_FALSE(seen.resize("launcher", 2).has_value());
}

}  // namespace
}  // namespace gangway::jobs
