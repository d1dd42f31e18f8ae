#include "api/kueue.h"

#include <gtest/gtest.h>

#include "api/kueue_workload.h"

namespace gangway::api {
namespace {

json::Value json_of(std::string_view text) {
  return json::parse(text).value();
}

Quantity amount(std::string_view text) {
  return Quantity::parse(text).value();
}

TEST(KueueReading, AClusterQueueWithEverything) {
  const auto queue = read_cluster_queue(json_of(R"({"metadata":{"name":"team"},"spec":{
      "cohortName":"all","queueingStrategy":"StrictFIFO","stopPolicy":"HoldAndDrain",
      "namespaceSelector":{"matchLabels":{"team":"a"}},
      "resourceGroups":[{"coveredResources":["cpu","nvidia.com/gpu"],"flavors":[{"name":"spot","resources":[
          {"name":"cpu","nominalQuota":"500m"},{"name":"nvidia.com/gpu","nominalQuota":8,"borrowingLimit":4,
           "lendingLimit":"2"}]}]}],
      "flavorFungibility":{"whenCanBorrow":"TryNextFlavor","whenCanPreempt":"MayStopSearch",
                           "preference":"PreemptionOverBorrowing"},
      "preemption":{"reclaimWithinCohort":"Any","withinClusterQueue":"LowerOrNewerEqualPriority",
                    "borrowWithinCohort":{"policy":"LowerPriority","maxPriorityThreshold":100}},
      "admissionChecksStrategy":{"admissionChecks":[{"name":"c"},{"name":"d","onFlavors":["spot"]}]},
      "fairSharing":{"weight":"2500m"},"admissionScope":{"admissionMode":"UsageBasedAdmissionFairSharing"}}})"));
  ASSERT_TRUE(queue) << queue.error().message;
  EXPECT_EQ(queue->name, "team");
  EXPECT_EQ(queue->cohort, "all");
  EXPECT_EQ(queue->strategy, QueueingStrategy::kStrictFifo);
  EXPECT_EQ(queue->stop, StopPolicy::kHoldAndDrain);
  EXPECT_TRUE(queue->namespaces.matches(StringPairs{{"team", "a"}}));
  EXPECT_FALSE(queue->namespaces.matches(StringPairs{{"team", "b"}}));
  ASSERT_EQ(queue->groups.size(), 1U);
  EXPECT_EQ(queue->groups[0].covered, (std::vector<std::string>{"cpu", "nvidia.com/gpu"}));
  const auto& quotas = queue->groups[0].flavors.at(0).resources;
  EXPECT_EQ(queue->groups[0].flavors[0].name, "spot");
  EXPECT_EQ(quotas[0].nominal, amount("0.5"));
  EXPECT_EQ(quotas[0].borrowing_limit, std::nullopt);
  EXPECT_EQ(quotas[1].nominal, amount("8"));
  EXPECT_EQ(quotas[1].borrowing_limit, amount("4"));
  EXPECT_EQ(quotas[1].lending_limit, amount("2"));
  EXPECT_EQ(queue->when_can_borrow, FungibilityPolicy::kTryNextFlavor);
  EXPECT_EQ(queue->when_can_preempt, FungibilityPolicy::kMayStopSearch);
  EXPECT_EQ(queue->preference, FlavorPreference::kPreemptionOverBorrowing);
  EXPECT_EQ(queue->reclaim_within_cohort, PreemptionPolicy::kAny);
  EXPECT_EQ(queue->within_cluster_queue, PreemptionPolicy::kLowerOrNewerEqualPriority);
  EXPECT_EQ(queue->borrow_within_cohort, PreemptionPolicy::kLowerPriority);
  EXPECT_EQ(queue->borrow_threshold, 100);
  ASSERT_EQ(queue->checks.size(), 2U);
  EXPECT_EQ(queue->checks[1].on_flavors, std::vector<std::string>{"spot"});
  EXPECT_EQ(queue->weight, amount("2.5"));
  EXPECT_TRUE(queue->orders_by_usage);
}

TEST(KueueReading, AClusterQueueWithNothing) {
  const auto queue = read_cluster_queue(json_of(R"({"metadata":{"name":"team"},"spec":{}})"));
  ASSERT_TRUE(queue) << queue.error().message;
  EXPECT_EQ(queue->strategy, QueueingStrategy::kBestEffortFifo);
  EXPECT_FALSE(queue->namespaces.matches(StringPairs{})) << "without a selector no namespace may come";
  EXPECT_EQ(queue->when_can_borrow, FungibilityPolicy::kMayStopSearch);
  EXPECT_EQ(queue->when_can_preempt, FungibilityPolicy::kTryNextFlavor);
  EXPECT_EQ(queue->reclaim_within_cohort, PreemptionPolicy::kNever);
  EXPECT_EQ(queue->weight, amount("1"));
  const auto open = read_cluster_queue(json_of(R"({"metadata":{"name":"team"},"spec":{"namespaceSelector":{}}})"));
  EXPECT_TRUE(open->namespaces.matches(StringPairs{})) << "an empty one lets all in";
}

TEST(KueueReading, TheOtherKinds) {
  const auto local = read_local_queue(
      json_of(R"({"metadata":{"name":"q","namespace":"team"},"spec":{"clusterQueue":"cq","stopPolicy":"Hold"}})"));
  ASSERT_TRUE(local) << local.error().message;
  EXPECT_EQ(local->cluster_queue, "cq");
  EXPECT_EQ(local->stop, StopPolicy::kHold);
  const auto cohort =
      read_cohort(json_of(R"({"metadata":{"name":"c"},"spec":{"parentName":"root","fairSharing":{"weight":0},
      "resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"f","resources":[
          {"name":"cpu","nominalQuota":3}]}]}]}})"));
  ASSERT_TRUE(cohort) << cohort.error().message;
  EXPECT_EQ(cohort->parent, "root");
  EXPECT_TRUE(cohort->weight.is_zero());
  EXPECT_EQ(cohort->groups.at(0).flavors.at(0).resources.at(0).nominal, amount("3"));
  const auto flavor = read_resource_flavor(json_of(R"({"metadata":{"name":"f"},"spec":{"nodeLabels":{"gpu":"a100"},
      "nodeTaints":[{"key":"spot","effect":"NoSchedule"}],"tolerations":[{"key":"spot","operator":"Exists"}],
      "topologyName":"t"}})"));
  ASSERT_TRUE(flavor) << flavor.error().message;
  EXPECT_EQ(flavor->node_labels, (std::vector<std::pair<std::string, std::string>>{{"gpu", "a100"}}));
  ASSERT_EQ(flavor->taints.size(), 1U);
  EXPECT_NE(find_toleration(flavor->tolerations, flavor->taints[0]), nullptr);
  EXPECT_EQ(flavor->topology, "t");
  EXPECT_EQ(read_workload_priority_class(json_of(R"({"metadata":{"name":"p"},"value":-7})"))->value, -7);
  EXPECT_EQ(read_admission_check(json_of(R"({"metadata":{"name":"p"},"spec":{"controllerName":"me"}})"))->controller,
            "me");
  EXPECT_EQ(read_topology(json_of(R"({"metadata":{"name":"t"},"spec":{"levels":[{"nodeLabel":"rack"},
      {"nodeLabel":"kubernetes.io/hostname"}]}})"))
                ->levels,
            (std::vector<std::string>{"rack", "kubernetes.io/hostname"}));
}

TEST(KueueReading, AWorkloadWithEverything) {
  const auto read = read_workload(json_of(R"({"metadata":{"name":"w","namespace":"team","uid":"u",
      "creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"queueName":"q","priority":50,"active":false,
      "priorityClassRef":{"group":"kueue.x-k8s.io","kind":"WorkloadPriorityClass","name":"high"},
      "maximumExecutionTimeSeconds":60,"preemptionGates":[{"name":"g"},{"name":"h"}],"podSets":[
      {"template":{"spec":{"containers":[]}}},
      {"name":"worker","count":8,"minCount":4,"template":{},"topologyRequest":{"required":"block",
       "podsetSliceRequiredTopologyConstraints":[{"topology":"rack","size":4},{"topology":"host","size":2}]}}]},
      "status":{"admission":{"clusterQueue":"cq","podSetAssignments":[
        {"name":"main","flavors":{"cpu":"spot"},"resourceUsage":{"cpu":"1500m"},"delayedTopologyRequest":"Pending"},
        {"name":"worker","count":6,"topologyAssignment":{"levels":["host"],"slices":[{"domainCount":2,
         "valuesPerLevel":[{"individual":{"prefix":"n","roots":["1","2"]}}],"podCounts":{"universal":3}}]}}]},
       "reclaimablePods":[{"name":"worker","count":2}],"requeueState":{"count":3,"requeueAt":"2026-01-02T03:05:05Z"},
       "admissionChecks":[{"name":"c","state":"Retry","message":"later","requeueAfterSeconds":9,"retryCount":2,
                           "lastTransitionTime":"2026-01-02T03:04:06Z"}],
       "accumulatedPastExecutionTimeSeconds":11,"unhealthyNodes":[{"name":"n1"}],
       "preemptionGates":[{"name":"h","position":"Open"},{"name":"g","position":"Closed"}]}})"));
  ASSERT_TRUE(read) << read.error().message;
  const auto& workload = *read;
  EXPECT_EQ(workload.uid, "u");
  EXPECT_EQ(workload.queue, "q");
  EXPECT_EQ(workload.priority, 50);
  EXPECT_FALSE(workload.active);
  EXPECT_EQ(workload.priority_class->kind, "WorkloadPriorityClass");
  EXPECT_EQ(workload.maximum_seconds, 60);
  EXPECT_EQ(workload.preemption_gates, (std::vector<std::string>{"g", "h"}));
  EXPECT_EQ(workload.open_gates, std::vector<std::string>{"h"});
  ASSERT_EQ(workload.pod_sets.size(), 2U);
  EXPECT_EQ(workload.pod_sets[0].name, "main");
  EXPECT_EQ(workload.pod_sets[0].count, 1);
  EXPECT_EQ(workload.pod_sets[1].min_count, 4);
  ASSERT_EQ(workload.pod_sets[1].topology->slices.size(), 2U);
  EXPECT_EQ(workload.pod_sets[1].topology->slices[1].level, "host");
  ASSERT_TRUE(workload.admission);
  EXPECT_EQ(workload.admission->cluster_queue, "cq");
  const auto& assignments = workload.admission->assignments;
  EXPECT_EQ(assignments[0].count, 1) << "as the spec has it";
  EXPECT_EQ(assignments[0].usage.at(0).second, amount("1.5"));
  EXPECT_TRUE(assignments[0].awaits_topology);
  EXPECT_EQ(assignments[1].topology->domains, (std::vector<TopologyDomain>{{{"n1"}, 3}, {{"n2"}, 3}}));
  EXPECT_EQ(workload.reclaimable, (std::vector<std::pair<std::string, std::int64_t>>{{"worker", 2}}));
  EXPECT_EQ(workload.checks.at(0).state, CheckState::kRetry);
  EXPECT_EQ(workload.checks.at(0).requeue_after_seconds, 9);
  EXPECT_EQ(workload.requeues, 3);
  EXPECT_EQ(workload.requeue_at, parse_rfc3339("2026-01-02T03:05:05Z").value());
  EXPECT_EQ(workload.past_seconds, 11);
  EXPECT_EQ(workload.unhealthy_nodes, std::vector<std::string>{"n1"});
}

TEST(KueueReading, OneSliceIsSaidInOtherFields) {
  const auto workload =
      read_workload(json_of(R"({"metadata":{"name":"w","namespace":"n"},"spec":{"podSets":[{"template":{},
      "topologyRequest":{"preferred":"block","podSetSliceRequiredTopology":"rack","podSetSliceSize":4}}]}})"));
  ASSERT_TRUE(workload) << workload.error().message;
  ASSERT_EQ(workload->pod_sets[0].topology->slices.size(), 1U);
  EXPECT_EQ(workload->pod_sets[0].topology->slices[0].level, "rack");
  EXPECT_EQ(workload->pod_sets[0].topology->slices[0].size, 4);
}

TEST(KueueReading, ProblemsNameTheirFields) {
  const auto queue = read_cluster_queue(json_of(R"({"metadata":{"name":"team"},"spec":{"stopPolicy":"Later",
      "resourceGroups":[{"coveredResources":"cpu","flavors":[{"resources":[{"name":"cpu","nominalQuota":"much"},
                        {"name":"memory"}]}]}],
      "preemption":{"borrowWithinCohort":{"maxPriorityThreshold":"1"}}}})"));
  ASSERT_FALSE(queue);
  EXPECT_EQ(queue.error().message,
            "ClusterQueue team: spec.resourceGroups[0].coveredResources: must be a list (got \"cpu\"); "
            "spec.resourceGroups[0].flavors[0].name: is missing; "
            "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: must be an amount (got \"much\"); "
            "spec.resourceGroups[0].flavors[0].resources[1].nominalQuota: is missing; "
            "spec.preemption.borrowWithinCohort.maxPriorityThreshold: must be an integer (got \"1\"); "
            "spec.stopPolicy: \"Later\" is not known here");
  EXPECT_EQ(queue.error().reason, Reason::kInvalid);
  EXPECT_EQ(queue.error().causes.size(), 6U);
  const auto workload =
      read_workload(json_of(R"({"metadata":{"name":"w","namespace":"n"},"spec":{"active":"no","podSets":[7]},
      "status":{"requeueState":{"requeueAt":"soon"}}})"));
  ASSERT_FALSE(workload);
  EXPECT_EQ(workload.error().causes.front().field, "spec.podSets[0]");
  EXPECT_EQ(workload.error().causes.back().field, "status.requeueState.requeueAt");
}

}  // namespace
}  // namespace gangway::api
