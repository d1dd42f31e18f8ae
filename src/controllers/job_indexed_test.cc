#include <algorithm>

#include "controllers/job.h"
#include "controllers/test_jobs.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kPods;

struct IndexedJobTest : JobTest {
  // `spec` is a list of members.
  void start_indexed(int completions, int parallelism, const std::string& spec = "") {
    start(R"({"completionMode":"Indexed","completions":)" + std::to_string(completions) + R"(,"parallelism":)" +
          std::to_string(parallelism) + (spec.empty() ? "" : "," + spec) + "}");
  }
  json::Value pod(int index) { return api.tree(kPods, {"default", bench.pod_of(index)}); }
  std::string completed() { return bench.text({"status", "completedIndexes"}); }
  std::string failed() { return bench.text({"status", "failedIndexes"}); }
};

TEST_F(IndexedJobTest, EveryPodKnowsItsIndex) {
  start_indexed(2, 2, R"("template":{"spec":{"initContainers":[{"name":"first"}],
                      "containers":[{"name":"main"},{"name":"own","env":[{"name":"JOB_COMPLETION_INDEX","value":"x"}]}]}})");
  ASSERT_EQ(bench.pod_names().size(), 2u);
  EXPECT_TRUE(bench.pod_of(0).starts_with("j-0-"));
  EXPECT_TRUE(bench.pod_of(1).starts_with("j-1-"));
  const json::Value tree = pod(1);
  EXPECT_EQ(json::string_at(tree, {"metadata", "labels", kIndexKey}), "1");
  EXPECT_EQ(json::string_at(tree, {"metadata", "annotations", kIndexKey}), "1");
  EXPECT_EQ(json::string_at(tree, {"metadata", "generateName"}), "j-1-");
  EXPECT_EQ(json::string_at(tree, {"spec", "hostname"}), "j-1");
  const auto variable = [&](const char* list, std::size_t container) {
    const json::Array& env = json::array_at(json::array_at(tree, {"spec", list}).at(container), {"env"});
    return env.size() == 1 ? json::serialize(env[0]) : "not one";
  };
  const std::string told =
      R"({"name":"JOB_COMPLETION_INDEX","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['batch.kubernetes.io/job-completion-index']"}}})";
  EXPECT_EQ(variable("initContainers", 0), told);
  EXPECT_EQ(variable("containers", 0), told);
  EXPECT_EQ(variable("containers", 1), R"({"name":"JOB_COMPLETION_INDEX","value":"x"})");
}

TEST_F(IndexedJobTest, RunsTheLowestIndexesFirstAndRemembersWhichAreDone) {
  start_indexed(5, 2);
  bench.succeed(bench.pod_of(1));
  EXPECT_EQ(completed(), "1");
  EXPECT_NE(bench.pod_of(2), "");
  EXPECT_EQ(bench.pod_of(3), "");
  for (const int index : {2, 3, 0}) bench.succeed(bench.pod_of(index));
  EXPECT_EQ(completed(), "0-3");
  EXPECT_EQ(bench.counts(), "1/4/0");
  EXPECT_EQ(bench.uncounted(), "{}");
  bench.succeed(bench.pod_of(4));
  EXPECT_EQ(completed(), "0-4");
  EXPECT_EQ(bench.conditions(), "SuccessCriteriaMet Complete:CompletionsReached");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(IndexedJobTest, TriesAFailedIndexAgainUnderANewName) {
  start_indexed(1, 1);
  const std::string first = bench.pod_of(0);
  bench.fail(first);
  bench.loop.advance(10s);
  EXPECT_NE(bench.pod_of(0), "");
  EXPECT_NE(bench.pod_of(0), first);
  EXPECT_EQ(bench.counts(), "1/0/1");
}

TEST_F(IndexedJobTest, GrowsAndShrinksWithItsCompletions) {
  start_indexed(2, 2);
  bench.succeed(bench.pod_of(0));
  bench.patch_job(R"({"spec":{"completions":4,"parallelism":4}})");
  EXPECT_EQ(bench.counts(), "3/1/0");
  bench.succeed(bench.pod_of(3));
  EXPECT_EQ(completed(), "0,3");
  bench.patch_job(R"({"spec":{"completions":2,"parallelism":2}})");
  EXPECT_EQ(completed(), "0");
  EXPECT_EQ(bench.counts(), "1/1/0");
  EXPECT_NE(bench.pod_of(1), "");
}

TEST_F(IndexedJobTest, OfTwoPodsWithOneIndexOneGoes) {
  start_indexed(1, 1);
  const json::Value twin = [&] {
    json::Value tree = pod(0);
    tree.at("metadata").as_object()["name"] = "j-0-twin";
    return tree;
  }();
  api.create(kPods, twin);
  bench.loop.run_until_idle();
  EXPECT_EQ(bench.active_pods().size(), 1u);
  EXPECT_EQ(bench.counts(), "1/0/0");
}

TEST_F(IndexedJobTest, LongNamesKeepTheirIndexApart) {
  const std::string name(60, 'x');
  api.create(client::resources::kJobs,
             testing::an_object("batch/v1", "Job", "default", name)
                 .with(R"({"spec":{"parallelism":3,"completions":12,"completionMode":"Indexed",
                           "selector":{"matchLabels":{"job":"x"}},
                           "template":{"metadata":{"labels":{"job":"x"}},"spec":{"containers":[{"name":"c"}]}}}})"));
  bench.start(bench.reconciler);
  const auto names = bench.pod_names();
  ASSERT_EQ(names.size(), 3u);
  for (const std::string& each : names) EXPECT_EQ(each.size(), 63u) << each;
  EXPECT_NE(names[1].find("-1-"), std::string::npos) << names[1];
}

// Each index may fail twice; the third time it has failed for good.
TEST_F(IndexedJobTest, AnIndexFailsByItself) {
  start_indexed(2, 2, R"("backoffLimitPerIndex":2,"backoffLimit":2147483647)");
  EXPECT_EQ(json::string_at(pod(0), {"metadata", "annotations", kIndexFailures}), "0");
  bench.fail(bench.pod_of(0));
  bench.loop.advance(10s);
  EXPECT_EQ(json::string_at(pod(0), {"metadata", "annotations", kIndexFailures}), "1");
  bench.fail(bench.pod_of(0));
  bench.loop.advance(19s);
  EXPECT_EQ(bench.pod_of(0), "");
  bench.loop.advance(1s);
  EXPECT_EQ(json::string_at(pod(0), {"metadata", "annotations", kIndexFailures}), "2");
  bench.fail(bench.pod_of(0));
  EXPECT_EQ(failed(), "0");
  EXPECT_EQ(bench.counts(), "1/0/3");
  bench.loop.advance(1h);
  EXPECT_EQ(bench.pod_of(0), "");
  bench.succeed(bench.pod_of(1));
  EXPECT_EQ(completed(), "1");
  EXPECT_EQ(bench.conditions(), "FailureTarget Failed:FailedIndexes");
  EXPECT_EQ(bench.message(), "Job has failed indexes");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

// One index that waits for its back-off does not keep others waiting.
TEST_F(IndexedJobTest, TheBackOffOfOneIndexIsItsOwn) {
  start_indexed(3, 1, R"("backoffLimitPerIndex":5)");
  bench.fail(bench.pod_of(0));
  EXPECT_NE(bench.pod_of(1), "");
  bench.succeed(bench.pod_of(1));
  EXPECT_NE(bench.pod_of(2), "");
  bench.succeed(bench.pod_of(2));
  EXPECT_EQ(bench.pod_of(0), "");
  bench.loop.advance(10s);
  EXPECT_NE(bench.pod_of(0), "");
}

TEST_F(IndexedJobTest, FailsWhenTooManyIndexesHaveFailed) {
  start_indexed(4, 4, R"("backoffLimitPerIndex":0,"maxFailedIndexes":1)");
  bench.fail(bench.pod_of(2));
  EXPECT_EQ(failed(), "2");
  EXPECT_EQ(bench.conditions(), "");
  bench.fail(bench.pod_of(0));
  EXPECT_EQ(failed(), "0,2");
  EXPECT_EQ(bench.conditions(), "FailureTarget Failed:MaxFailedIndexesExceeded");
  EXPECT_TRUE(bench.active_pods().empty());
}

TEST_F(IndexedJobTest, SucceedsEarlyByItsSuccessPolicy) {
  start_indexed(4, 4, R"("successPolicy":{"rules":[{"succeededIndexes":"0,2-3","succeededCount":2}]})");
  bench.succeed(bench.pod_of(1));
  bench.succeed(bench.pod_of(2));
  EXPECT_EQ(bench.conditions(), "");
  bench.succeed(bench.pod_of(0));
  EXPECT_EQ(bench.conditions(), "SuccessCriteriaMet Complete:SuccessPolicy");
  EXPECT_EQ(bench.message(), "Matched rules at index 0");
  EXPECT_EQ(completed(), "0-2");
  // The rest was not needed: it has not failed.
  EXPECT_EQ(bench.counts(), "0/3/0");
  EXPECT_TRUE(bench.active_pods().empty());
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

}  // namespace
}  // namespace gangway::controllers
