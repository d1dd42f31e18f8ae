#include "controllers/job_policies.h"

#include <gtest/gtest.h>

#include "controllers/test_jobs.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kPods;
using Action = FailureVerdict::Action;

struct RuleCase {
  const char* name;
  const char* rules;
  Action want;
  const char* message = "";
};

// The pod default/p has ended: "main" with 42, "side" with 0, the init container "first" with 7; DisruptionTarget=True.
const RuleCase kRuleCases[] = {
    {"no_rules", "[]", Action::kNone},
    {"in", R"([{"action":"FailJob","onExitCodes":{"operator":"In","values":[41,42]}}])", Action::kFailJob,
     "Container main for pod default/p failed with exit code 42 matching FailJob rule at index 0"},
    {"in_others", R"([{"action":"FailJob","onExitCodes":{"operator":"In","values":[41]}}])", Action::kNone},
    {"not_in", R"([{"action":"Count","onExitCodes":{"operator":"NotIn","values":[1]}}])", Action::kCount},
    {"a_success_does_not_match", R"([{"action":"Ignore","onExitCodes":{"operator":"NotIn","values":[42,7]}}])",
     Action::kNone},
    {"of_one_container",
     R"([{"action":"FailJob","onExitCodes":{"containerName":"side","operator":"NotIn","values":[1]}},
         {"action":"FailIndex","onExitCodes":{"containerName":"first","operator":"In","values":[7]}}])",
     Action::kFailIndex},
    {"condition", R"([{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget","status":"True"}]}])",
     Action::kIgnore},
    {"condition_of_another_status",
     R"([{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget","status":"False"}]}])", Action::kNone},
    {"condition_fails_the_job",
     R"([{"action":"Count","onExitCodes":{"operator":"In","values":[1]}},
         {"action":"FailJob","onPodConditions":[{"type":"Other","status":"True"},
                                                {"type":"DisruptionTarget","status":"True"}]}])",
     Action::kFailJob, "Pod default/p has condition DisruptionTarget matching FailJob rule at index 1"},
    {"the_first_rule_that_matches",
     R"([{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget","status":"True"}]},
         {"action":"FailJob","onExitCodes":{"operator":"In","values":[42]}}])",
     Action::kIgnore},
};

class FailureRuleTest : public ::testing::TestWithParam<RuleCase> {};

TEST_P(FailureRuleTest, MatchesAsKubernetesDoes) {
  testing::ManualLoop loop;
  testing::FakeApi api(loop);
  const api::Version version = api.create(kPods, testing::a_pod("default", "p").with(R"({"status":{"phase":"Failed",
      "conditions":[{"type":"DisruptionTarget","status":"True"}],
      "initContainerStatuses":[{"name":"first","state":{"terminated":{"exitCode":7}}}],
      "containerStatuses":[{"name":"side","state":{"terminated":{"exitCode":0}}},
                           {"name":"main","state":{"terminated":{"exitCode":42}}}]}})"));
  const JobPod pod{version, std::make_shared<const JobPodFacts>(read_job_pod(version))};
  const json::Value job =
      testing::parsed(R"({"spec":{"podFailurePolicy":{"rules":)" + std::string(GetParam().rules) + "}}}");
  const FailureVerdict verdict = judge_failure(job, pod);
  EXPECT_EQ(verdict.action, GetParam().want);
  EXPECT_EQ(verdict.action == Action::kFailJob ? verdict.message : "", GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Rules, FailureRuleTest, ::testing::ValuesIn(kRuleCases),
                         [](const auto& each) { return each.param.name; });

struct SuccessCase {
  const char* name;
  const char* rules;
  const char* succeeded;
  const char* want;
};

const SuccessCase kSuccessCases[] = {
    {"none", "[]", "0-9", ""},
    {"count", R"([{"succeededCount":3}])", "1,4,9", "Matched rules at index 0"},
    {"count_not_yet", R"([{"succeededCount":3}])", "1,4", ""},
    {"indexes", R"([{"succeededIndexes":"0,3-4"}])", "0,2-4", "Matched rules at index 0"},
    {"indexes_not_all", R"([{"succeededIndexes":"0,3-4"}])", "0-3", ""},
    {"some_of_the_indexes", R"([{"succeededIndexes":"0,3-4","succeededCount":2}])", "1-3,4",
     "Matched rules at index 0"},
    {"another_rule", R"([{"succeededIndexes":"0"},{"succeededCount":1}])", "5", "Matched rules at index 1"},
};

class SuccessRuleTest : public ::testing::TestWithParam<SuccessCase> {};

TEST_P(SuccessRuleTest, MatchesAsKubernetesDoes) {
  const json::Value job =
      testing::parsed(R"({"spec":{"successPolicy":{"rules":)" + std::string(GetParam().rules) + "}}}");
  EXPECT_EQ(fulfilled_success_rule(job, 10, IndexSet::parse(GetParam().succeeded, 10)).value_or(""), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Rules, SuccessRuleTest, ::testing::ValuesIn(kSuccessCases),
                         [](const auto& each) { return each.param.name; });

struct FailurePolicyTest : JobTest {
  static std::string policy(const std::string& rules) {
    return R"("podReplacementPolicy":"Failed","podFailurePolicy":{"rules":)" + rules + "}";
  }
};

TEST_F(FailurePolicyTest, FailsTheJobAtOnce) {
  start(R"({"parallelism":2,"completions":2,)" +
        policy(R"([{"action":"FailJob","onExitCodes":{"operator":"In","values":[42]}}])") + "}");
  const std::string name = bench.active_pods().at(0);
  bench.fail(name, 42);
  EXPECT_EQ(bench.conditions(), "FailureTarget Failed:PodFailurePolicy");
  EXPECT_EQ(bench.message(),
            "Container main for pod default/" + name + " failed with exit code 42 matching FailJob rule at index 0");
  EXPECT_TRUE(bench.active_pods().empty());
  EXPECT_TRUE(bench.has_event("PodFailurePolicy"));
}

TEST_F(FailurePolicyTest, WhatIsIgnoredDoesNotCount) {
  start(R"({"backoffLimit":0,)" + policy(R"([{"action":"Ignore","onExitCodes":{"operator":"In","values":[42]}}])") +
        "}");
  bench.fail(bench.active_pods().at(0), 42);
  EXPECT_EQ(bench.counts(), "0/0/0");
  EXPECT_EQ(bench.conditions(), "");
  bench.loop.advance(10s);
  EXPECT_EQ(bench.counts(), "1/0/0");
  bench.fail(bench.active_pods().at(0), 1);
  EXPECT_EQ(bench.conditions(), "FailureTarget Failed:BackoffLimitExceeded");
  EXPECT_EQ(bench.counts(), "0/0/1");
}

TEST_F(FailurePolicyTest, FailsAnIndexAtOnce) {
  start(R"({"completionMode":"Indexed","parallelism":2,"completions":2,"backoffLimitPerIndex":5,)" +
        policy(R"([{"action":"FailIndex","onExitCodes":{"operator":"In","values":[42]}}])") + "}");
  bench.fail(bench.pod_of(0), 42);
  EXPECT_EQ(bench.text({"status", "failedIndexes"}), "0");
  EXPECT_EQ(bench.conditions(), "");
  bench.succeed(bench.pod_of(1));
  EXPECT_EQ(bench.conditions(), "FailureTarget Failed:FailedIndexes");
}

TEST(BackoffTest, DoublesFromTenSecondsToSixMinutes) {
  EXPECT_EQ(backoff_after(0), 0s);
  EXPECT_EQ(backoff_after(1), 10s);
  EXPECT_EQ(backoff_after(2), 20s);
  EXPECT_EQ(backoff_after(6), 320s);
  EXPECT_EQ(backoff_after(7), 360s);
  EXPECT_EQ(backoff_after(1'000'000), 360s);
}

}  // namespace
}  // namespace gangway::controllers
