// Golden outputs: the layouts that users and their scripts know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arena/nodes_report.h"
#include "cli/arena/print_jobs.h"
#include "cli/arena/print_others.h"
#include "cli/arena/test_jobs.h"

namespace gangway::cli::arena {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::vector<JobView> medium() {
  return views(an_mpi_job("medium", 1, 58s),
               {a_pod({"mpi", "medium", "launcher", "medium-launcher-sz5xj", "Running", "192.168.0.23", 0}),
                a_pod({"mpi", "medium", "worker", "medium-worker-0"})});
}

TEST(GetText, OfARunningMpiJob) {
  EXPECT_EQ(get_text(medium()[0], kNow),
            R"(STATUS: RUNNING
NAMESPACE: default
PRIORITY: medium
TRAINING DURATION: 58s

NAME    STATUS   TRAINER  AGE  INSTANCE               NODE
medium  RUNNING  MPIJOB   58s  medium-launcher-sz5xj  192.168.0.23
medium  RUNNING  MPIJOB   58s  medium-worker-0        192.168.0.23
)");
}

TEST(GetText, OfOneThatWasPreempted) {
  const json::Value event = from(R"({"metadata":{"creationTimestamp":"2026-01-01T11:52:00Z"},"reason":"Preempted",
      "message":"by default/critical-worker-0 on node 192.168.0.23",
      "involvedObject":{"namespace":"default","name":"medium-worker-0"}})");
  const auto jobs = views(
      an_mpi_job("medium", 1, 20min, R"({"launcherStatus":"Failed","completionTime":"2026-01-01T11:52:00Z"})"),
      {a_pod({"mpi", "medium", "launcher", "medium-launcher-sz5xj", "Failed", "192.168.0.23", 0, 20min})}, {event});
  EXPECT_EQ(get_text(jobs[0], kNow),
            R"(STATUS: FAILED
NAMESPACE: default
PRIORITY: medium
TRAINING DURATION: 12m

NAME    STATUS  TRAINER  AGE  INSTANCE               NODE
medium  FAILED  MPIJOB   20m  medium-launcher-sz5xj  192.168.0.23

REASON: medium-worker-0 was preempted by default/critical-worker-0 on node 192.168.0.23
)");
}

TEST(GetText, OfPytorchShowsEveryInstance) {
  std::vector<json::Value> pods;
  for (const auto& [role, name, address] :
       {std::tuple{"worker", "p-worker-1", "172.16.0.209"}, std::tuple{"master", "p-master-0", "172.16.0.208"},
        std::tuple{"worker", "p-worker-0", "172.16.0.210"}})
    pods.push_back(a_pod({"pytorchjob-controller", "p", role, name, "Running", address, 4, 3min}));
  const auto jobs = views(a_pytorch_job("p", 2, 3min, R"({"startTime":"2026-01-01T11:57:00Z"})"), pods);
  EXPECT_EQ(get_text(jobs[0], kNow),
            R"(STATUS: RUNNING
NAMESPACE: default
PRIORITY: medium
TRAINING DURATION: 3m

NAME  STATUS   TRAINER     AGE  INSTANCE    NODE
p     RUNNING  PYTORCHJOB  3m   p-master-0  172.16.0.208
p     RUNNING  PYTORCHJOB  3m   p-worker-0  172.16.0.210
p     RUNNING  PYTORCHJOB  3m   p-worker-1  172.16.0.209
)");
  EXPECT_EQ(jobs[0].requested_gpus, 12);
}

TEST(GetText, Wide) {
  setenv("TZ", "UTC", 1);
  tzset();
  EXPECT_EQ(get_wide_text(medium()[0], kNow),
            "Name:        medium\n"
            "Status:      RUNNING\n"
            "Namespace:   default\n"
            "Priority:    medium\n"
            "Trainer:     MPIJOB\n"
            "Duration:    58s\n"
            "CreateTime:  2026-01-01 11:59:02\n"
            "EndTime:     \n"
            "\n"
            "Instances:\n"
            "  NAME                   STATUS   AGE  IS_CHIEF  GPU(Requested)  NODE\n"
            "  ----                   ------   ---  --------  --------------  ----\n"
            "  medium-launcher-sz5xj  Running  58s  true      0               node-192.168.0.23\n"
            "  medium-worker-0        Running  58s  false     1               node-192.168.0.23\n");
}

TEST(ListText, HasArenasColumnsAndMoreOnlyWhenAsked) {
  ReadObjects objects;
  objects.jobs.push_back({{}, {an_mpi_job("demo", 1, 10min, R"({"launcherStatus":"Succeeded"})")}});
  objects.jobs.push_back({{}, {a_pytorch_job("demo2", 1, 9s, R"({"startTime":"2026-01-01T11:59:51Z"})")}});
  objects.pods = {a_pod({"mpi", "demo", "launcher", "demo-launcher-a", "Succeeded", "10.0.0.8", 0}),
                  a_pod({"pytorchjob-controller", "demo2", "master", "demo2-master-0", "Pending", "", 4})};
  const auto jobs = view_jobs(std::move(objects), kNow);
  EXPECT_EQ(list_text(jobs, {}, kNow),
            "NAME   STATUS     TRAINER     DURATION  GPU(Requested)  GPU(Allocated)  NODE\n"
            "demo2  PENDING    PYTORCHJOB  9s        8               0               N/A\n"
            "demo   SUCCEEDED  MPIJOB      10m       1               N/A             10.0.0.8\n");
  EXPECT_EQ(
      list_text(jobs, {true, true}, kNow),
      "NAMESPACE  NAME   STATUS     TRAINER     DURATION  GPU(Requested)  GPU(Allocated)  NODE      PRIORITY  REASON\n"
      "default    demo2  PENDING    PYTORCHJOB  9s        8               0               N/A       medium    "
      "Unschedulable\n"
      "default    demo   SUCCEEDED  MPIJOB      10m       1               N/A             10.0.0.8  medium    N/A\n");
  EXPECT_EQ(list_text({}, {}, kNow), "NAME  STATUS  TRAINER  DURATION  GPU(Requested)  GPU(Allocated)  NODE\n");
}

TEST(TopJobs, MostGpusFirstAndASum) {
  ReadObjects objects;
  objects.jobs.push_back({{}, {an_mpi_job("medium", 1, 58s), an_mpi_job("large", 3, 90s)}});
  objects.pods = {a_pod({"mpi", "medium", "launcher", "medium-launcher-a", "Running", "10.0.0.8", 0}),
                  a_pod({"mpi", "medium", "worker", "medium-worker-0"})};
  EXPECT_EQ(top_jobs_text(view_jobs(std::move(objects), kNow), {}, kNow),
            "NAME    STATUS   TRAINER  AGE  GPU(Requested)  GPU(Allocated)  NODE\n"
            "large   PENDING  MPIJOB   1m   3               0               N/A\n"
            "medium  RUNNING  MPIJOB   58s  1               1               10.0.0.8\n"
            "\n"
            "Total Allocated/Requested GPUs of Training Jobs: 1/1\n");
}

TEST(JobJson, HasArenasKeysInTheirOrder) {
  const json::Value document = to_json(medium()[0], kNow);
  std::string keys;
  for (const auto& member : document.as_object()) keys += std::string(member.key()) + " ";
  EXPECT_THAT(keys, ::testing::StartsWith("uuid name namespace duration status trainer tensorboard chiefName instances "
                                          "priority requestGPUs allocatedGPUs creationTimestamp "));
  EXPECT_EQ(json::string_at(document, {"chiefName"}), "medium-launcher-sz5xj");
}

json::Value a_node(const std::string& name, const std::string& address, int gpus, bool is_master) {
  json::Value node =
      from(R"({"metadata":{"labels":{}},"spec":{},"status":{"conditions":[{"type":"Ready","status":"True"}]}})");
  json::object_at(node, {"metadata"})["name"] = name;
  if (is_master) json::object_at(node, {"metadata", "labels"})["node-role.kubernetes.io/master"] = "";
  json::object_at(node, {"status"})["addresses"] =
      json::Array{json::Object{{"type", "InternalIP"}, {"address", address}}};
  for (const char* field : {"capacity", "allocatable"}) {
    json::Object amounts{{"cpu", "4"}};
    if (gpus > 0) amounts["nvidia.com/gpu"] = std::to_string(gpus);
    json::object_at(node, {"status"})[field] = amounts;
  }
  return node;
}

TEST(TopNode, ListsNodesAndTheSum) {
  const std::vector<json::Value> nodes = {a_node("gpu", "192.168.0.23", 4, false),
                                          a_node("cp", "192.168.0.20", 0, true)};
  json::Value pod = a_pod({"mpi", "medium", "worker", "medium-worker-0", "Running", "x", 3});
  json::object_at(pod, {"spec"})["nodeName"] = "gpu";
  json::object_at(pod, {"metadata"})["deletionTimestamp"] = "2026-01-01T11:59:59Z";
  json::Value over = a_pod({"mpi", "old", "worker", "old-worker-0", "Succeeded", "x", 1});
  json::object_at(over, {"spec"})["nodeName"] = "gpu";
  const auto reports = report_nodes(nodes, {pod, over}, {});
  ASSERT_TRUE(reports);
  EXPECT_EQ(nodes_text(*reports),
            "NAME  IPADDRESS     ROLE    STATUS  GPU(Total)  GPU(Allocated)\n"
            "cp    192.168.0.20  master  ready   0           0\n"
            "gpu   192.168.0.23  <none>  ready   4           3\n"
            "-----------------------------------------------------------------------------------------\n"
            "Allocated/Total GPUs In Cluster:\n"
            "3/4 (75%)\n");
  EXPECT_FALSE(report_nodes(nodes, {}, {"other"}));
}

TEST(TopNode, DetailsNameThePods) {
  json::Value pod = a_pod({"mpi", "medium", "worker", "medium-worker-0"});
  json::object_at(pod, {"spec"})["nodeName"] = "cn-hangzhou.192.168.0.23";
  const auto reports = report_nodes(
      {a_node("cn-hangzhou.192.168.0.23", "192.168.0.23", 1, false), a_node("cp", "x", 0, true)}, {pod}, {});
  ASSERT_TRUE(reports);
  EXPECT_EQ(nodes_details(*reports),
            R"(
NAME:       cn-hangzhou.192.168.0.23
IPADDRESS:  192.168.0.23
ROLE:       <none>

NAMESPACE  NAME             GPU REQUESTS  GPU LIMITS
default    medium-worker-0  1             1

Total GPUs In Node cn-hangzhou.192.168.0.23:      1
Allocated GPUs In Node cn-hangzhou.192.168.0.23:  1 (100%)
-----------------------------------------------------------------------------------------

Allocated/Total GPUs In Cluster:  1/1 (100%)
)");
}

TEST(Events, OfAJobIncludeThoseOfPodsThatAreGone) {
  const auto event = [](const char* kind, const char* name, const char* reason, const char* time) {
    return json::Value(
        json::Object{{"involvedObject", json::Object{{"kind", kind}, {"name", name}, {"namespace", "default"}}},
                     {"type", "Normal"},
                     {"reason", reason},
                     {"message", "text"},
                     {"lastTimestamp", time}});
  };
  const JobView job = medium()[0];
  const auto events = events_of(job, {event("Pod", "medium-worker-7", "Preempted", "2026-01-01T11:59:51Z"),
                                      event("Pod", "other-worker-0", "Started", "2026-01-01T11:59:51Z"),
                                      event("Pod", "medium-worker-0", "Scheduled", "2026-01-01T11:59:30Z")});
  EXPECT_EQ(events_text(events, kNow),
            "  SOURCE               TYPE    AGE  MESSAGE\n"
            "  ------               ----    ---  -------\n"
            "  pod/medium-worker-0  Normal  30s  [Scheduled] text\n"
            "  pod/medium-worker-7  Normal  9s   [Preempted] text\n");
  EXPECT_EQ(events_text({}, kNow), "  No events for resources\n");
}

TEST(Logs, AreThoseOfTheChiefOrOfWhomIsNamed) {
  const JobView job = medium()[0];
  EXPECT_EQ(log_instance(job, "")->name, "medium-launcher-sz5xj");
  EXPECT_EQ(log_instance(job, "medium-worker-0")->name, "medium-worker-0");
  EXPECT_THAT(log_instance(job, "x").error().message, HasSubstr("instance x of job medium is not there"));
}

TEST(Logs, AttemptsThatAreNotKeptAreNotShown) {
  json::Value pod = a_pod({"mpi", "medium", "worker", "medium-worker-0"});
  LogFlags flags;
  flags.follow = true;
  flags.tail = 5;
  flags.since = "2m";
  EXPECT_EQ(*log_query(flags, pod), "?follow=true&tailLines=5&sinceSeconds=120");
  flags = {};
  flags.attempt = 1;
  EXPECT_EQ(*log_query(flags, pod), "");
  json::object_at(pod, {"status"})["containerStatuses"] = json::Array{json::Object{{"name", "c"}, {"restartCount", 2}}};
  EXPECT_THAT(log_query(flags, pod).error().message,
              HasSubstr("attempt 1 of medium-worker-0 is not kept; there is that of 2 and 3"));
  flags.attempt = 2;
  EXPECT_EQ(*log_query(flags, pod), "?previous=true");
  flags = {};
  flags.since = "yesterday";
  EXPECT_FALSE(log_query(flags, pod));
}

TEST(Logs, OfAnEarlierAttemptAreThoseOfThePodThatWasInThisPlace) {
  const auto scheduled = [](const char* name, const char* uid, const char* node) {
    return json::Value(json::Object{{"reason", "Scheduled"},
                                    {"message", std::string("Successfully assigned default/") + name + " to " + node},
                                    {"involvedObject", json::Object{{"name", name}, {"uid", uid}}}});
  };
  const std::vector<json::Value> events = {
      scheduled("p-worker-0", "u1", "n1"),       scheduled("p-worker-1", "u2", "n1"),
      scheduled("p-launcher-abcde", "u3", "n2"), scheduled("p-worker-0", "u1", "n1"),  // told twice
      scheduled("p-worker-0", "u4", "n3"),       scheduled("p-launcher-fghij", "u5", "n3")};
  Instance worker;
  worker.name = "p-worker-0";
  EXPECT_EQ(earlier_pod(worker, 1, events)->uid, "u1");
  EXPECT_EQ(earlier_pod(worker, 1, events)->node, "n1");
  EXPECT_EQ(earlier_pod(worker, 2, events)->uid, "u4");
  EXPECT_THAT(earlier_pod(worker, 3, events).error().message,
              HasSubstr("--attempt: 3 is not known of p-worker-0; events tell of 2 of its attempts"));
  EXPECT_FALSE(earlier_pod(worker, 0, events));
  Instance launcher;
  launcher.name = "p-launcher-fghij";
  EXPECT_EQ(earlier_pod(launcher, 1, events)->name, "p-launcher-abcde");
}

TEST(Claims, AreListed) {
  const json::Value claim =
      from(R"({"metadata":{"name":"data","namespace":"team","creationTimestamp":"2026-01-01T10:00:00Z",
      "annotations":{"description":"images","owner":"me"}},"spec":{"accessModes":["ReadWriteMany"]}})");
  EXPECT_EQ(claims_text({claim}, true, kNow),
            "NAME  NAMESPACE  ACCESSMODE     DESCRIPTION  OWNER  AGE\n"
            "data  team       ReadWriteMany  images       me     2h\n");
}

}  // namespace
}  // namespace gangway::cli::arena
