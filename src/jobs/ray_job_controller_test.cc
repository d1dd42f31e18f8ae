// The life of a RayJob: its states, what Ray's dashboard says, suspended, tried again, preempted, deleted.
#include "jobs/ray_job_controller.h"

#include <gmock/gmock.h>

#include "jobs/ray_dashboard.h"
#include "jobs/ray_trainable.h"
#include "jobs/test_ray.h"

namespace gangway::jobs {
namespace {

using client::resources::kAllotments;
using client::resources::kJobs;
using client::resources::kNodes;
using client::resources::kPodGroups;
using client::resources::kPods;
using client::resources::kServices;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using namespace std::chrono_literals;

// A head whose dashboard says what the test wants.
class FakeDashboard final : public sys::Fetch {
 public:
  explicit FakeDashboard(sys::EventLoop& loop) : loop_(loop) {}

  std::string status;  // of the job; empty: there is none
  bool is_silent = false;
  int submit_code = 200;
  std::string submit_text = "{}";
  std::vector<std::string> asked;   // "GET /api/jobs/x"
  std::vector<std::string> bodies;  // of POSTs

  void fetch(sys::FetchRequest request, sys::Completion<sys::FetchAnswer> done) override {
    EXPECT_EQ(request.host, "10.0.0.1");
    EXPECT_EQ(request.port, 8265);
    EXPECT_LE(request.timeout, 10s);
    asked.push_back(request.method + " " + request.path);
    if (request.method == "POST") bodies.push_back(request.body);
    loop_.post([done = std::move(done), answer = answer(request)] { done(answer); });
  }
  void connect(std::string, std::uint16_t, Duration, sys::Completion<void>) override {}
  std::size_t count(const std::string& start) const {
    return static_cast<std::size_t>(
        std::count_if(asked.begin(), asked.end(), [&](const std::string& one) { return one.starts_with(start); }));
  }

 private:
  Result<sys::FetchAnswer> answer(const sys::FetchRequest& request) {
    if (is_silent) return testing::an_error(Reason::kServiceUnavailable);
    if (request.path.ends_with("/stop")) return sys::FetchAnswer{200, "", R"({"stopped":true})"};
    if (request.method == "POST") {
      if (submit_code == 200) status = "PENDING";
      return sys::FetchAnswer{submit_code, "", submit_text};
    }
    if (status.empty()) return sys::FetchAnswer{404, "", "no such job"};
    if (!is_final_ray_status(status)) {
      ended_.reset();
    } else if (!ended_) {
      ended_ = loop_.clock().wall();
    }
    const auto milliseconds = [](WallTime time) {
      return std::to_string(std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count());
    };
    return sys::FetchAnswer{200, "",
                            R"({"status":")" + status + R"(","message":"Ray says so","start_time":1000000,)" +
                                R"("end_time":)" + (ended_ ? milliseconds(*ended_) : "null") + "}"};
  }

  sys::EventLoop& loop_;
  std::optional<WallTime> ended_;
};

struct RayJobBench : testing::ControllerBench {
  RayJobController reconciler;
  FakeDashboard dashboard{loop};
  RayDashboard probes{loop, &dashboard};

  RayJobBench() { api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"}); }

  void start(const std::string& spec = "{}", const std::string& rest = "{}") {
    api.create(ray_jobs(), a_ray_job(spec, rest));
    ControllerBench::start(reconciler, &probes);
  }
  void patch(const std::string& body) {
    api.patch(ray_jobs(), {"default", "j"}, testing::parsed(body));
    loop.run_until_idle();
  }
  json::Value job() const { return api.tree(ray_jobs(), {"default", "j"}); }
  std::string text(const char* key) const {
    const json::Value tree = job();
    return std::string(json::string_at(tree, {"status", key}));
  }
  std::int64_t number(const char* key) const {
    const json::Value tree = job();
    return json::integer_at(tree, {"status", key});
  }
  std::int64_t attempt() const {
    const json::Value tree = job();
    return json::integer_at(tree, {"status", "gangway", "attempt"});
  }
  std::string state() const { return text("jobDeploymentStatus"); }
  std::string cluster_name() const { return text("rayClusterName"); }
  bool has_cluster() const { return static_cast<bool>(api.get(ray_clusters(), {"default", cluster_name()})); }
  bool has_submitter() const { return static_cast<bool>(api.get(kJobs, {"default", "j"})); }
  void set(const client::Resource& resource, const std::string& name, const std::string& body,
           const std::string& part = "status") {
    api.patch(resource, {"default", name}, testing::parsed(body), part);
    loop.run_until_idle();
  }

  // What the other controllers, the scheduler and the nodes do.
  std::string pod_name(const std::string& group) const { return cluster_name() + "-" + group; }
  void make_pod(const std::string& group, const std::string& address) {
    const json::Value cluster = api.tree(ray_clusters(), {"default", cluster_name()});
    const json::Value pod =
        testing::an_object("v1", "Pod", "default", pod_name(group))
            .label("ray.io/group", group)
            .label("ray.io/node-type", group == "headgroup" ? "head" : "worker")
            .owner("ray.io/v1", "RayCluster", cluster_name(), json::string_at(cluster, {"metadata", "uid"}), true)
            .with(R"({"metadata":{"annotations":{"gangway.dev/attempt":")" + std::to_string(attempt()) +
                  R"("}},"spec":{"nodeName":"n"}})");
    api.create(kPods, pod);
    set(kPods, pod_name(group),
        R"({"status":{"phase":"Running","podIP":")" + address +
            R"(","conditions":[{"type":"Ready","status":"True"}]}})");
  }
  void make_cluster_ready() {
    make_pod("headgroup", "10.0.0.1");
    set(ray_clusters(), cluster_name(), R"({"status":{"state":"ready"}})");
  }
  void end_submitter(const char* type) {
    set(kJobs, "j",
        R"({"status":{"conditions":[{"type":")" + std::string(type) +
            R"(","status":"True","message":"as the Job says","lastTransitionTime":")" +
            to_rfc3339(loop.clock().wall()) + R"("}]}})");
  }
  // Foreground deletion waits for pods, which are gone now.
  void end_deletions() {
    for (const auto& [resource, name] : {std::pair{ray_clusters(), cluster_name()}, {kJobs, std::string("j")}}) {
      if (api.get(resource, {"default", name})) set(resource, name, R"({"metadata":{"finalizers":null}})", "");
    }
    std::vector<std::string> pods;
    for (const auto& [name, version] : api.objects(kPods)) pods.push_back(name.name);
    for (const std::string& pod : pods) api.remove(kPods, {"default", pod});
    loop.run_until_idle();
  }
  void run() {
    make_cluster_ready();
    dashboard.status = "RUNNING";
    pass(4s);
  }
  void pass(Duration time) {
    loop.advance(time);
    loop.run_until_idle();
  }
  bool has_event(const std::string& reason) const {
    const auto& events = api.objects(client::resources::kEvents);
    return std::any_of(events.begin(), events.end(), [&](const auto& entry) {
      return json::string_at(testing::parsed(*entry.second.json), {"reason"}) == reason;
    });
  }
};

struct RayJobs : ::testing::Test, RayJobBench {};

TEST_F(RayJobs, RunOnAClusterOfTheirOwn) {
  start(R"({"shutdownAfterJobFinishes":true,"ttlSecondsAfterFinished":60})", R"({"metadata":{"labels":{"team":"a"}}})");
  EXPECT_EQ(state(), "Initializing");
  EXPECT_THAT(cluster_name(), StartsWith("j-"));
  EXPECT_EQ(cluster_name().size(), 7U);
  EXPECT_THAT(text("jobId"), StartsWith("j-"));
  EXPECT_NE(text("startTime"), "");
  EXPECT_TRUE(api.get(ray_jobs(), {"default", "j"}).header->finalizers ==
              std::vector<std::string>{"ray.io/rayjob-finalizer"});
  const json::Value group = api.tree(kPodGroups, {"default", "j"});
  EXPECT_EQ(json::integer_at(group, {"spec", "minMember"}), 3) << "the head and two workers, not the submitter";
  const json::Value late =
      testing::parsed(std::string(json::string_at(group, {"metadata", "annotations", "gangway.dev/late-members"})));
  ASSERT_TRUE(late.is_array());
  EXPECT_EQ(json::string_at(late.get_array().front(), {"name"}), "submitter") << "for which there has to be room";
  const json::Value cluster = api.tree(ray_clusters(), {"default", cluster_name()});
  for (const auto& [key, value] : {std::pair{"team", "a"},
                                   {"ray.io/originated-from-cr-name", "j"},
                                   {"ray.io/originated-from-crd", "RayJob"},
                                   {"ray.io/job-submission-mode", "K8sJobMode"}})
    EXPECT_EQ(json::string_at(cluster, {"metadata", "labels", key}), value);
  EXPECT_FALSE(has_submitter()) << "there is nobody to hand the program to";

  make_cluster_ready();
  EXPECT_EQ(state(), "Running");
  ASSERT_TRUE(has_submitter());
  const json::Value submitter = api.tree(kJobs, {"default", "j"});
  EXPECT_EQ(json::string_at(submitter, {"spec", "template", "metadata", "labels", "gangway.dev/late-member"}),
            "submitter");
  EXPECT_EQ(text("dashboardURL"), cluster_name() + "-head-svc.default.svc.cluster.local:8265");
  EXPECT_EQ(text("jobStatus"), "");
  const json::Value service = api.tree(kServices, {"default", "j-head-svc"});
  EXPECT_EQ(json::string_at(service, {"spec", "selector", "ray.io/cluster"}), cluster_name());
  dashboard.status = "RUNNING";
  pass(4s);
  EXPECT_EQ(text("jobStatus"), "RUNNING");
  EXPECT_EQ(dashboard.asked.back(), "GET /api/jobs/" + text("jobId"));

  dashboard.status = "SUCCEEDED";
  pass(4s);
  EXPECT_EQ(state(), "Running") << "its output is still being followed";
  EXPECT_EQ(text("jobStatus"), "SUCCEEDED");
  end_submitter("Complete");
  EXPECT_EQ(state(), "Complete");
  EXPECT_EQ(number("succeeded"), 1);
  EXPECT_EQ(text("message"), "Ray says so");
  EXPECT_NE(text("endTime"), "");
  const json::Value tree = job();
  EXPECT_EQ(json::string_at(tree, {"status", "rayJobInfo", "startTime"}), "1970-01-01T00:16:40Z");
  EXPECT_THAT(std::string(json::string_at(tree, {"status", "rayJobInfo", "endTime"})), StartsWith("2026-"));
  EXPECT_EQ(json::string_at(tree, {"status", "rayClusterStatus", "state"}), "ready");
  EXPECT_EQ(writes_when_looking_again(), 0U);

  const std::size_t asked = dashboard.asked.size();
  pass(58s);
  EXPECT_TRUE(has_cluster());
  pass(3s);
  end_deletions();
  EXPECT_FALSE(has_cluster());
  EXPECT_TRUE(has_submitter()) << "for its output";
  EXPECT_FALSE(api.get(kPodGroups, {"default", "j"}));
  EXPECT_EQ(dashboard.asked.size(), asked) << "who has finished is not asked";
  for (const char* reason : {"CreatedRayCluster", "CreatedRayJobSubmitter", "CreatedService", "DeletedRayCluster"})
    EXPECT_TRUE(has_event(reason)) << reason;
}

TEST_F(RayJobs, AreAskedForEveryThreeSeconds) {
  start();
  run();
  const std::size_t before = dashboard.count("GET");
  pass(30s);
  EXPECT_GE(dashboard.count("GET"), before + 9);
  EXPECT_LE(dashboard.count("GET"), before + 11);
}

// ── how it ends ──

struct End {
  const char* name;
  const char* spec;
  const char* program;    // as Ray says; empty: it knows of none; "silent": nobody answers
  const char* submitter;  // a condition of the Job, or nothing
  Duration later;
  const char* state;
  const char* reason;
};

TEST(RayJobEnds, AreJudgedByRayAndTheSubmitter) {
  const End ends[] = {
      {"succeeded", "{}", "SUCCEEDED", "Complete", 4s, "Complete", ""},
      {"stopped", "{}", "STOPPED", "Complete", 4s, "Complete", ""},
      {"failed", "{}", "FAILED", "Complete", 4s, "Failed", "AppFailed"},
      {"failed, and its submitter too", "{}", "FAILED", "Failed", 4s, "Failed", "AppFailed"},
      {"never handed over", "{}", "", "Failed", 4s, "Failed", "SubmissionFailed"},
      {"lost behind a submitter that is done", "{}", "RUNNING", "Complete", 4s, "Running", ""},
      {"lost for too long", "{}", "RUNNING", "Complete", 35s, "Failed",
       "JobDeploymentStatusTransitionGracePeriodExceeded"},
      {"a submitter that does not end", "{}", "SUCCEEDED", "", 310s, "Complete",
       "JobDeploymentStatusTransitionGracePeriodExceeded"},
      {"silent for a while", "{}", "silent", "", 280s, "Running", ""},
      {"silent for too long", "{}", "silent", "", 320s, "Failed", "JobStatusCheckTimeoutExceeded"},
      {"too long in all", R"({"activeDeadlineSeconds":60})", "RUNNING", "", 70s, "Failed", "DeadlineExceeded"},
      {"in time", R"({"activeDeadlineSeconds":60,"preRunningDeadlineSeconds":5})", "RUNNING", "", 30s, "Running", ""},
      {"nobody follows it", R"({"submissionMode":"HTTPMode"})", "SUCCEEDED", "", 4s, "Complete", ""},
      {"nobody follows it, and it fails", R"({"submissionMode":"HTTPMode"})", "FAILED", "", 4s, "Failed", "AppFailed"},
      {"tried again", R"({"backoffLimit":1})", "FAILED", "Complete", 4s, "Retrying", "AppFailed"},
      {"handing over is tried again", R"({"backoffLimit":1})", "", "Failed", 4s, "Retrying", "SubmissionFailed"},
      {"no time to try again", R"({"backoffLimit":1,"activeDeadlineSeconds":60})", "RUNNING", "", 70s, "Failed",
       "DeadlineExceeded"},
      {"nobody to try again with", R"({"backoffLimit":1})", "silent", "", 320s, "Failed",
       "JobStatusCheckTimeoutExceeded"},
  };
  for (const End& end : ends) {
    RayJobBench bench;
    bench.start(end.spec);
    bench.run();
    const bool is_followed = bench.has_submitter();
    bench.dashboard.is_silent = std::string(end.program) == "silent";
    bench.dashboard.status = bench.dashboard.is_silent ? "RUNNING" : end.program;
    if (std::string(end.submitter).empty() || !is_followed) {
      bench.pass(end.later);
    } else {
      bench.end_submitter(end.submitter);
      bench.pass(end.later);
    }
    EXPECT_EQ(bench.state(), end.state) << end.name;
    EXPECT_EQ(bench.text("reason"), end.reason) << end.name;
    EXPECT_EQ(bench.number("failed"),
              std::string(end.state) == "Failed" || std::string(end.state) == "Retrying" ? 1 : 0)
        << end.name;
  }
}

// What ran into a limit was not handed over and done with: its pod would hold its room for ever.
TEST_F(RayJobs, TakeASubmitterThatHasNotEndedWithTheirCluster) {
  start(R"({"activeDeadlineSeconds":60,"shutdownAfterJobFinishes":true})");
  run();
  dashboard.status = "RUNNING";
  pass(70s);
  EXPECT_EQ(state(), "Failed");
  EXPECT_TRUE(has_submitter());
  end_deletions();
  EXPECT_FALSE(has_cluster());
  end_deletions();
  EXPECT_FALSE(has_submitter());
}

TEST_F(RayJobs, LeaveASubmitterThatHasEndedToBeRead) {
  start(R"({"shutdownAfterJobFinishes":true})");
  run();
  dashboard.status = "SUCCEEDED";
  end_submitter("Complete");
  pass(4s);
  EXPECT_EQ(state(), "Complete");
  end_deletions();
  EXPECT_FALSE(has_cluster());
  end_deletions();
  EXPECT_TRUE(has_submitter());
}

TEST_F(RayJobs, FailWhenTheyDoNotGetToRun) {
  start(R"({"preRunningDeadlineSeconds":30})");
  pass(29s);
  EXPECT_EQ(state(), "Initializing");
  pass(2s);
  EXPECT_EQ(state(), "Failed");
  EXPECT_EQ(text("reason"), "PreRunningDeadlineExceeded");
}

TEST_F(RayJobs, AreTriedAgainOnANewCluster) {
  start(R"({"backoffLimit":1})");
  const std::string first = cluster_name();
  const std::string first_id = text("jobId");
  run();
  dashboard.status = "FAILED";
  pass(4s);
  end_submitter("Failed");
  EXPECT_EQ(state(), "Retrying");
  EXPECT_TRUE(api.get(kPodGroups, {"default", "j"}));
  end_deletions();
  EXPECT_EQ(state(), "Initializing");
  EXPECT_EQ(attempt(), 2);
  EXPECT_NE(cluster_name(), first);
  EXPECT_NE(text("jobId"), first_id);
  EXPECT_EQ(text("jobStatus"), "");
  EXPECT_EQ(number("failed"), 1);
  EXPECT_TRUE(has_cluster());
  EXPECT_FALSE(has_submitter());
  dashboard.status = "";
  run();
  EXPECT_TRUE(has_submitter());
  const json::Value service = api.tree(kServices, {"default", "j-head-svc"});
  EXPECT_EQ(json::string_at(service, {"spec", "selector", "ray.io/cluster"}), cluster_name()) << "it follows";
  dashboard.status = "FAILED";
  pass(4s);
  end_submitter("Failed");
  EXPECT_EQ(state(), "Failed");
  EXPECT_EQ(number("failed"), 2);
}

// ── modes ──

TEST_F(RayJobs, AreHandedOverByTheController) {
  start(
      R"({"submissionMode":"HTTPMode","runtimeEnvYAML":"pip: [requests]","metadata":{"a":"b"},"entrypointNumCpus":1})");
  make_cluster_ready();
  EXPECT_FALSE(has_submitter());
  EXPECT_EQ(state(), "Running");
  ASSERT_EQ(dashboard.bodies.size(), 1U);
  EXPECT_EQ(dashboard.bodies.front(), R"({"entrypoint":"python train.py","submission_id":")" + text("jobId") +
                                          R"(","runtime_env":{"pip":["requests"]},"metadata":{"a":"b"},)"
                                          R"("entrypoint_num_cpus":1})");
  EXPECT_EQ(text("jobStatus"), "PENDING");
  dashboard.status = "RUNNING";
  pass(4s);
  EXPECT_EQ(text("jobStatus"), "RUNNING");
  EXPECT_EQ(dashboard.count("POST"), 1U);
}

TEST_F(RayJobs, FailWhenRayDoesNotTakeThem) {
  dashboard.submit_code = 400;
  dashboard.submit_text = "no such thing";
  start(R"({"submissionMode":"HTTPMode"})");
  make_cluster_ready();
  EXPECT_EQ(state(), "Failed");
  EXPECT_EQ(text("reason"), "SubmissionFailed");
  EXPECT_THAT(text("message"), HasSubstr("no such thing"));
}

TEST_F(RayJobs, AreHandedOverBesideTheHead) {
  for (const bool loses_head : {false, true}) {
    RayJobBench bench;
    bench.start(R"({"submissionMode":"SidecarMode"})");
    const json::Value cluster = bench.api.tree(ray_clusters(), {"default", bench.cluster_name()});
    EXPECT_EQ(json::string_at(cluster, {"metadata", "annotations", "ray.io/disable-provisioned-head-restart"}), "true");
    const json::Value* head = json::find(cluster, {"spec", "headGroupSpec", "template", "spec"});
    ASSERT_NE(head, nullptr);
    EXPECT_EQ(json::string_at(*head, {"restartPolicy"}), "Never");
    const json::Value& beside = json::array_at(*head, {"containers"}).back();
    EXPECT_EQ(json::string_at(beside, {"name"}), "ray-job-submitter");
    EXPECT_THAT(variables_of(beside), ::testing::Contains("RAY_DASHBOARD_ADDRESS=127.0.0.1:8265"));
    bench.run();
    EXPECT_EQ(bench.state(), "Running");
    EXPECT_FALSE(bench.has_submitter());
    if (loses_head) {
      bench.api.remove(kPods, {"default", bench.pod_name("headgroup")});
      bench.loop.run_until_idle();
      EXPECT_EQ(bench.state(), "Failed");
      continue;
    }
    bench.dashboard.status = "SUCCEEDED";
    bench.pass(4s);
    EXPECT_EQ(bench.state(), "Running") << "its output is still being followed";
    bench.set(kPods, bench.pod_name("headgroup"), R"({"status":{"containerStatuses":[
        {"name":"ray-job-submitter","state":{"terminated":{"exitCode":0}}}]}})");
    EXPECT_EQ(bench.state(), "Complete");
  }
}

TEST_F(RayJobs, WaitForWhoHandsThemOver) {
  start(R"({"submissionMode":"InteractiveMode","shutdownAfterJobFinishes":true})");
  make_cluster_ready();
  EXPECT_EQ(state(), "Waiting");
  EXPECT_EQ(text("jobId"), "");
  patch(R"({"spec":{"suspend":true}})");
  EXPECT_EQ(state(), "Waiting") << "there is nothing to suspend";
  patch(R"({"spec":{"suspend":false,"jobId":"mine"}})");
  EXPECT_EQ(state(), "Running");
  EXPECT_EQ(text("jobId"), "mine");
  dashboard.status = "SUCCEEDED";
  pass(4s);
  EXPECT_EQ(state(), "Complete");
}

TEST_F(RayJobs, RunOnAClusterThatIsThere) {
  api.create(ray_clusters(), merged(a_ray_cluster(), testing::parsed(R"({"metadata":{"name":"theirs"}})")));
  json::Value asked = a_ray_job(R"({"clusterSelector":{"ray.io/cluster":"theirs"}})");
  json::object_at(asked, {"spec"}).erase("rayClusterSpec");
  api.create(ray_jobs(), asked);
  ControllerBench::start(reconciler, &probes);
  EXPECT_EQ(cluster_name(), "theirs");
  EXPECT_EQ(state(), "Initializing");
  EXPECT_FALSE(api.get(kPodGroups, {"default", "j"}));
  make_pod("headgroup", "10.0.0.1");
  set(ray_clusters(), "theirs", R"({"status":{"state":"ready"}})");
  pass(4s);  // nobody tells a job of a cluster that is not its own
  EXPECT_EQ(state(), "Running");
  dashboard.status = "SUCCEEDED";
  pass(4s);
  end_submitter("Complete");
  EXPECT_EQ(state(), "Complete");
  EXPECT_TRUE(has_cluster()) << "it is somebody else's";
}

TEST_F(RayJobs, AreNotTakenWhenTheyAreWrong) {
  struct Case {
    const char* spec;
    const char* message;
  };
  for (const Case& each : {Case{R"({"suspend":true})", "shutdownAfterJobFinishes"},
                           Case{R"({"clusterSelector":{"ray.io/cluster":"r"},"backoffLimit":1})", "clusterSelector"},
                           Case{R"({"submissionMode":"InteractiveMode","backoffLimit":1})", "InteractiveMode"},
                           Case{R"({"submissionMode":"SidecarMode","submitterConfig":{}})", "SidecarMode"}}) {
    RayJobBench bench;
    bench.start(each.spec);
    EXPECT_EQ(bench.state(), "ValidationFailed");
    EXPECT_THAT(bench.text("message"), HasSubstr(each.message));
    EXPECT_FALSE(bench.has_cluster());
    EXPECT_EQ(bench.writes_when_looking_again(), 0U);
  }
}

// ── suspended, preempted, deleted ──

TEST_F(RayJobs, AreSuspendedAndBeginAnew) {
  start(R"({"shutdownAfterJobFinishes":true})");
  run();
  const std::string first = cluster_name();
  patch(R"({"spec":{"suspend":true}})");
  EXPECT_EQ(state(), "Suspending");
  patch(R"({"spec":{"suspend":false}})");
  EXPECT_EQ(state(), "Suspending") << "begun, it is carried through";
  patch(R"({"spec":{"suspend":true}})");
  end_deletions();
  EXPECT_EQ(state(), "Suspended");
  for (const char* key : {"jobId", "rayClusterName", "dashboardURL", "jobStatus", "message", "reason"})
    EXPECT_EQ(text(key), "") << key;
  EXPECT_FALSE(api.get(ray_clusters(), {"default", first}));
  EXPECT_FALSE(has_submitter());
  EXPECT_FALSE(api.get(kPodGroups, {"default", "j"}));
  EXPECT_EQ(text("endTime"), "");
  EXPECT_EQ(writes_when_looking_again(), 0U);

  const std::string before = text("startTime");
  pass(10s);
  patch(R"({"spec":{"suspend":false}})");
  EXPECT_EQ(state(), "Initializing");
  EXPECT_EQ(attempt(), 2);
  EXPECT_NE(cluster_name(), first);
  EXPECT_NE(text("startTime"), before);
  EXPECT_TRUE(has_cluster());
  run();
  EXPECT_EQ(state(), "Running");
}

TEST_F(RayJobs, MadeSuspendedHaveNoCluster) {
  start(R"({"shutdownAfterJobFinishes":true,"suspend":true})");
  EXPECT_EQ(state(), "Suspended");
  EXPECT_THAT(api.objects(ray_clusters()), IsEmpty());
  EXPECT_THAT(api.objects(kPodGroups), IsEmpty());
}

TEST_F(RayJobs, ComeBackWholeWhenTheyArePreempted) {
  start("{}", R"({"metadata":{"annotations":{"gangway.dev/on-preempt":"Requeue"}}})");
  run();
  const std::string first = cluster_name();
  api.create(kAllotments,
             testing::an_object("gangway.dev/v1alpha1", "Allotment", "default", client::allotment_name(true, "j"))
                 .with(R"({"spec":{"gang":{"kind":"PodGroup","name":"j"}},"status":{"preemptedBy":[
                                {"namespace":"default","name":"urgent","at":"2100-01-01T00:00:00Z"}]}})"));
  api.patch(kPods, {"default", pod_name("headgroup")}, testing::parsed(R"({"metadata":{"finalizers":["test/x"]}})"));
  set(kPods, pod_name("headgroup"), R"({"status":{"conditions":[
      {"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"}]}})");
  const std::string head = pod_name("headgroup");
  api.remove(kPods, {"default", head});
  loop.run_until_idle();
  EXPECT_EQ(state(), "Retrying");
  EXPECT_EQ(text("reason"), "Preempted");
  EXPECT_EQ(text("message"), "RayJob j was preempted by default/urgent and is queued again as attempt 2.");
  EXPECT_TRUE(has_event("RayJobPreempted"));
  EXPECT_TRUE(api.get(kPodGroups, {"default", "j"})) << "the place in line";
  set(kPods, head, R"({"metadata":{"finalizers":null}})", "");
  end_deletions();
  EXPECT_EQ(state(), "Initializing");
  EXPECT_EQ(attempt(), 2);
  EXPECT_EQ(number("failed"), 0) << "it has not failed";
  EXPECT_NE(cluster_name(), first);
  EXPECT_EQ(text("reason"), "Preempted") << "until it runs";
}

TEST_F(RayJobs, AreStoppedWhenTheyAreDeleted) {
  start();
  run();
  const std::string id = text("jobId");
  api.remove(ray_jobs(), {"default", "j"});
  loop.run_until_idle();
  EXPECT_EQ(dashboard.asked.back(), "POST /api/jobs/" + id + "/stop");
  EXPECT_FALSE(api.get(ray_jobs(), {"default", "j"}));
}

TEST_F(RayJobs, GoAlsoWhenNobodyHearsThatTheyShouldStop) {
  start();
  run();
  dashboard.is_silent = true;
  api.remove(ray_jobs(), {"default", "j"});
  loop.run_until_idle();
  EXPECT_FALSE(api.get(ray_jobs(), {"default", "j"}));
}

// ── on simulated nodes ──

TEST_F(RayJobs, OnSimulatedNodesDoWhatTheirSubmitterDoes) {
  api.create(kNodes, testing::an_object("v1", "Node", "", "n")
                         .with(R"({"status":{"nodeInfo":{"containerRuntimeVersion":"simulated://1"}}})"));
  start();
  make_cluster_ready();
  EXPECT_EQ(text("jobStatus"), "PENDING");
  set(kJobs, "j", R"({"status":{"active":1,"ready":1}})");
  pass(4s);
  EXPECT_EQ(text("jobStatus"), "RUNNING");
  end_submitter("Complete");
  EXPECT_EQ(text("jobStatus"), "SUCCEEDED");
  EXPECT_EQ(state(), "Complete");
  EXPECT_THAT(dashboard.asked, IsEmpty());
}

TEST_F(RayJobs, OnSimulatedNodesWithoutASubmitterTakeTheirTime) {
  api.create(kNodes, testing::an_object("v1", "Node", "", "n")
                         .with(R"({"status":{"nodeInfo":{"containerRuntimeVersion":"simulated://1"}}})"));
  start(R"({"submissionMode":"HTTPMode","rayClusterSpec":{"headGroupSpec":{"template":{"metadata":{"annotations":{
    "gangway.dev/simulated-duration":"30s","gangway.dev/simulated-exit-code":"3"}}}}}})");
  make_cluster_ready();
  EXPECT_EQ(text("jobStatus"), "RUNNING");
  pass(20s);
  EXPECT_EQ(state(), "Running");
  pass(15s);
  EXPECT_EQ(state(), "Failed");
  EXPECT_EQ(text("jobStatus"), "FAILED");
}

TEST_F(RayJobs, AreTrainables) {
  start(R"({"shutdownAfterJobFinishes":true})");
  run();
  std::vector<api::Version> pods;
  for (const auto& [name, version] : api.objects(kPods)) pods.push_back(version);
  const Trainable seen = ray_job_trainable(api.get(ray_jobs(), {"default", "j"}), job(), pods);
  EXPECT_EQ(seen.phase, Phase::kRunning);
  EXPECT_EQ(seen.minimum, 3);
  EXPECT_EQ(seen.gang, "j");
  EXPECT_EQ(seen.chief, pod_name("headgroup"));
  EXPECT_EQ(seen.wish(), 4);
  ASSERT_NE(seen.find("submitter"), nullptr);
  EXPECT_EQ(seen.suspend_at, (std::vector<std::string>{"spec", "suspend"}));
}

}  // namespace
}  // namespace gangway::jobs
