#include "scheduler/explain_subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "client/resource.h"
#include "scheduler/allotment.h"
#include "scheduler/plan_preview.h"
#include "scheduler/scheduler.h"
#include "testing/builders.h"
#include "testing/fake_api.h"
#include "testing/manual_loop.h"

namespace gangway::scheduler {
namespace {

using client::resources::kDeployments;
using client::resources::kEvents;
using client::resources::kJobs;
using client::resources::kNodes;
using client::resources::kPods;
using client::resources::kReplicaSets;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The objects of a FakeApi, as if they had been listed.
class Listed final : public client::ObjectSource {
 public:
  explicit Listed(const testing::FakeApi& api) {
    for (const client::WatchRule& rule : Scheduler().watches()) {
      client::ObjectCache& cache = caches_[rule.resource];
      for (const std::string& path : rule.indexed_fields) cache.add_index(path);
      for (const client::KeyIndex& index : rule.indexes) cache.add_index(index);
    }
    for (const client::Resource& resource : subject_resources()) caches_[resource];
    for (auto& [resource, cache] : caches_)
      for (const auto& [name, version] : api.objects(resource)) cache.put(version);
  }
  const client::ObjectCache* objects(const client::Resource& resource) const override {
    const auto at = caches_.find(resource);
    return at == caches_.end() ? nullptr : &at->second;
  }
  void for_each(const Visit& visit) const override {
    for (const auto& [resource, cache] : caches_) visit(resource, cache);
  }
  bool has_reached(api::Revision) const override { return true; }

 private:
  std::map<client::Resource, client::ObjectCache> caches_;
};

struct ExplainSubjectTest : ::testing::Test {
  testing::ManualLoop loop;
  testing::FakeApi api{loop};

  ExplainSubjectTest() {
    api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"});
    api.create(
        kNodes,
        testing::an_object("v1", "Node", "", "n0").with(R"({"status":{"conditions":[{"type":"Ready","status":"True"}],
                                     "allocatable":{"cpu":"4","memory":"8Gi","pods":"10"}}})"));
  }

  api::Version pod(const std::string& name, const std::string& more = "{}", const std::string& cpu = "1") {
    return api.create(kPods, testing::a_pod("default", name)
                                 .with(R"({"spec":{"schedulerName":"default-scheduler","containers":[
                                           {"name":"c","resources":{"requests":{"cpu":")" +
                                       cpu + R"("}}}]}})")
                                 .with(more));
  }

  Result<Explanation> ask(const std::string& word, const std::string& name, const std::string& ns = "default") {
    const Listed listed(api);
    const auto kind = subject_kind(word);
    if (!kind) return kind.error();
    return explain(client::View(listed, loop.clock().wall()), *kind, {ns, name});
  }
  std::vector<std::string> notes(const std::string& word, const std::string& name) {
    auto explanation = ask(word, name);
    return explanation ? explanation->notes : std::vector<std::string>{explanation.error().message};
  }
};

TEST_F(ExplainSubjectTest, WhatDoesNotExistIsAnsweredWithWhatDoes) {
  pod("a");
  pod("b");
  EXPECT_THAT(notes("pod", "c"), ElementsAre("pod default/c does not exist; in namespace default there are: a, b"));
  EXPECT_THAT(notes("job", "c"), ElementsAre("job default/c does not exist; there is no job in namespace default"));
  EXPECT_EQ(ask("po", "a", "other").error().message,
            "pod other/a does not exist; one of that name is in namespace default (-n)");
  EXPECT_EQ(ask("service", "a").error().message,
            "\"service\" cannot be explained; these can: pod, podgroup, job, deployment, replicaset, statefulset");
}

struct NoteCase {
  const char* name;
  const char* pod;
  const char* want;
};

// What is wrong with each pod is not where it is placed.
const NoteCase kNoteCases[] = {
    {"gated", R"({"spec":{"schedulingGates":[{"name":"wait"},{"name":"quota"}]}})",
     "pod p has scheduling gates and is not placed before they are removed: wait, quota"},
    {"image", R"({"spec":{"nodeName":"n0"},"status":{"phase":"Pending","containerStatuses":[{"name":"c","state":
        {"waiting":{"reason":"ImagePullBackOff","message":"no such image"}}}]}})",
     "pod p: container c cannot start: ImagePullBackOff: no such image"},
    {"crashes", R"({"spec":{"nodeName":"n0"},"status":{"phase":"Running","containerStatuses":[{"name":"c",
        "restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 40s"}},
        "lastState":{"terminated":{"exitCode":2}}}]}})",
     "pod p: container c cannot start: CrashLoopBackOff: back-off 40s (last exit code 2, 4 restarts)"},
    {"failed", R"({"spec":{"nodeName":"n0"},"status":{"phase":"Failed","containerStatuses":[{"name":"c","state":
        {"terminated":{"exitCode":3}}}]}})",
     "pod p has failed: container c ended with exit code 3"},
    {"done", R"({"spec":{"nodeName":"n0"},"status":{"phase":"Succeeded"}})", "pod p has ended well"},
    {"lost_node", R"({"spec":{"nodeName":"n9"},"status":{"phase":"Running"}})",
     "pod p is bound to node n9, which does not exist"},
    {"starting", R"({"spec":{"nodeName":"n0"},"status":{"phase":"Pending"}})", "pod p is starting on node n0"},
    {"claim", R"({"spec":{"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"none"}}]}})",
     "pod p cannot be placed: persistentvolumeclaim \"none\" not found"},
    {"group", R"({"metadata":{"labels":{"scheduling.x-k8s.io/pod-group":"g"}}})",
     "pod p cannot be placed: podgroup \"g\" not found"},
};

TEST_F(ExplainSubjectTest, WhatIsNotAboutPlacementIsSaidAsItsStatusSaysIt) {
  for (const NoteCase& one : kNoteCases) {
    pod("p", one.pod);
    EXPECT_THAT(notes("pod", "p"), ElementsAre(one.want)) << one.name;
    api.remove(kPods, {"default", "p"});
  }
}

TEST_F(ExplainSubjectTest, ASuspendedJobIsNotSaidToWaitForRoom) {
  api.create(kJobs, testing::an_object("batch/v1", "Job", "default", "j")
                        .with(R"({"spec":{"suspend":true},"status":{"conditions":[{"type":"Suspended","status":"True",
                                  "reason":"JobSuspended","message":"Job suspended"}]}})"));
  EXPECT_THAT(notes("job", "j"), ElementsAre("it is suspended (spec.suspend: true) and makes no pods until it is "
                                             "resumed: JobSuspended: Job suspended"));
}

TEST_F(ExplainSubjectTest, WhyAWorkloadHasNoPodsIsInItsLastWarning) {
  const auto set = api.create(kReplicaSets, testing::an_object("apps/v1", "ReplicaSet", "default", "r"));
  api.create(kEvents, testing::an_object("v1", "Event", "default", "e")
                          .with(R"({"type":"Warning","reason":"FailedCreate","message":"exceeded quota",
                                    "lastTimestamp":"2026-01-01T00:00:00Z","involvedObject":{"uid":")" +
                                set.header->uid + R"("}})"));
  EXPECT_THAT(notes("rs", "r"), ElementsAre("it has no pods; the last event: FailedCreate: exceeded quota"));
}

TEST_F(ExplainSubjectTest, PodsOfADeploymentThatAreAlikeAreExplainedOnce) {
  const auto deployment = api.create(kDeployments, testing::an_object("apps/v1", "Deployment", "default", "d"));
  const auto set = api.create(
      kReplicaSets,
      testing::an_object("apps/v1", "ReplicaSet", "default", "d-1").owner("apps/v1", "Deployment", deployment, true));
  for (const char* name : {"d-1-a", "d-1-b", "d-1-c"})
    api.create(kPods, testing::a_pod("default", name)
                          .owner("apps/v1", "ReplicaSet", set, true)
                          .with(R"({"spec":{"schedulerName":"default-scheduler","containers":[
                                    {"name":"c","resources":{"requests":{"cpu":"8"}}}]}})"));
  const auto explanation = ask("deployment", "d");
  ASSERT_TRUE(explanation);
  EXPECT_THAT(explanation->notes, ElementsAre());
  ASSERT_EQ(explanation->waits.size(), 1u);
  EXPECT_THAT(explanation->waits[0].pods, ElementsAre("d-1-a", "d-1-b", "d-1-c"));
  ASSERT_FALSE(explanation->waits[0].changes.empty());
  EXPECT_EQ(explanation->waits[0].changes[0].text, "lower requests cpu from 8 to 4");
}

TEST_F(ExplainSubjectTest, NodeAffinityIsNotTakenForTheNodeSelector) {
  pod("a", R"({"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]}]}}}}})");
  pod("s", R"({"spec":{"nodeSelector":{"zone":"b"}}})");
  EXPECT_EQ(ask("pod", "a")->waits.at(0).changes.at(0).text, "remove the required node affinity");
  EXPECT_EQ(ask("pod", "s")->waits.at(0).changes.at(0).text, "remove nodeSelector zone=b");
}

TEST_F(ExplainSubjectTest, APreviewSaysWhereAndAtWhoseCost) {
  pod("low", R"({"spec":{"nodeName":"n0"},"status":{"startTime":"2025-12-31T23:50:00Z"}})", "4");
  pod("urgent", R"({"spec":{"priority":10}})", "2");
  pod("large", "{}", "5");
  const Listed listed(api);
  const PlanPreview plan =
      preview(client::View(listed, loop.clock().wall()), {{"default", "urgent"}, {"default", "large"}});
  ASSERT_EQ(plan.placed.size(), 1u);
  ASSERT_EQ(plan.waits.size(), 1u);
  EXPECT_EQ(plan.waits[0].gang.name, "large");
  EXPECT_THAT(to_text(plan), HasSubstr("Pod default/urgent would go to:\n"
                                       "  n0  urgent\n"
                                       "  after these are preempted:\n"
                                       "    default/low (Fail): low\n"));
}

}  // namespace
}  // namespace gangway::scheduler
