// Jobs in bad weather: writes are refused, answers get lost, watches lag and break; pods end, fail and are deleted. At
// no moment are more pods active than allowed or two for one index, and in the end every pod has been counted once.
#include <map>
#include <set>

#include "controllers/job.h"
#include "controllers/test_jobs.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kJobs;
using client::resources::kPods;

class JobWeatherTest : public JobTest, public ::testing::WithParamInterface<int> {
 protected:
  void set_weather() {
    api.set_weather(
        {.refused = 120, .lost = 120, .broken_watches = 40, .seed = static_cast<std::uint64_t>(GetParam())});
    api.set_watch_lag(kPods, 70ms);
    api.set_watch_lag(kJobs, 40ms);
    random_ = static_cast<std::uint64_t>(GetParam()) * 7919;
  }
  std::uint64_t roll(std::uint64_t sides) {
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (random_ >> 33) % sides;
  }
  // What nodes and users do meanwhile. Remembers how each pod that is seen ended.
  void live(unsigned fail_percent, unsigned delete_percent) {
    for (const std::string& name : bench.active_pods()) {
      const api::Version pod = api.get(kPods, {"default", name});
      seen_.insert(pod.header->uid);
      const std::uint64_t dice = roll(100);
      if (dice < 4) {
        const bool fails = roll(100) < fail_percent;
        bench.end_pod(name, fails ? "Failed" : "Succeeded", fails ? 1 : 0);
        (fails ? failed_ : succeeded_).insert(pod.header->uid);
      } else if (dice < 4 + delete_percent) {
        api.remove(kPods, {"default", name});
        failed_.insert(pod.header->uid);
      }
    }
  }
  void expect_order(std::size_t parallelism, bool is_indexed) {
    ASSERT_LE(bench.active_pods().size(), parallelism);
    if (!is_indexed) return;
    std::set<std::string> indexes;
    for (const std::string& name : bench.active_pods()) {
      const json::Value tree = api.tree(kPods, {"default", name});
      const std::string index(json::string_at(tree, {"metadata", "annotations", kIndexKey}));
      ASSERT_TRUE(indexes.insert(index).second) << "index " << index << " runs twice";
    }
  }
  bool is_finished() {
    const json::Value tree = bench.job();
    return api::condition_is_true(tree, "Complete") || api::condition_is_true(tree, "Failed");
  }

  std::set<std::string> seen_;
  std::set<std::string> succeeded_;
  std::set<std::string> failed_;

 private:
  std::uint64_t random_ = 1;
};

TEST_P(JobWeatherTest, CountsEveryPodOnce) {
  set_weather();
  start(R"({"parallelism":5,"completions":25,"backoffLimit":1000})");
  for (int step = 0; step < 20'000 && !is_finished(); ++step) {
    live(10, 1);
    bench.loop.advance(100ms);
    expect_order(5, false);
  }
  api.set_weather({});
  bench.loop.advance(10min);
  EXPECT_EQ(bench.conditions(), "SuccessCriteriaMet Complete:CompletionsReached");
  EXPECT_EQ(bench.uncounted(), "{}");
  EXPECT_EQ(json::integer_at(bench.job(), {"status", "succeeded"}), static_cast<std::int64_t>(succeeded_.size()));
  EXPECT_EQ(json::integer_at(bench.job(), {"status", "failed"}), static_cast<std::int64_t>(failed_.size()));
  EXPECT_EQ(succeeded_.size(), 25u);
  for (const auto& [name, pod] : api.objects(kPods)) EXPECT_TRUE(pod.header->finalizers.empty()) << name.name;
}

TEST_P(JobWeatherTest, RunsEveryIndexUntilItSucceeds) {
  set_weather();
  start(R"({"completionMode":"Indexed","parallelism":4,"completions":15,"backoffLimit":1000})");
  for (int step = 0; step < 20'000 && !is_finished(); ++step) {
    live(10, 1);
    bench.loop.advance(100ms);
    expect_order(4, true);
  }
  api.set_weather({});
  bench.loop.advance(10min);
  EXPECT_EQ(bench.conditions(), "SuccessCriteriaMet Complete:CompletionsReached");
  EXPECT_EQ(bench.text({"status", "completedIndexes"}), "0-14");
  EXPECT_EQ(succeeded_.size(), 15u);
  EXPECT_EQ(json::integer_at(bench.job(), {"status", "failed"}), static_cast<std::int64_t>(failed_.size()));
}

TEST_P(JobWeatherTest, SuspendsAndGoesOn) {
  set_weather();
  start(R"({"parallelism":6,"completions":12,"backoffLimit":1000})");
  for (int step = 0; step < 20'000 && !is_finished(); ++step) {
    live(0, 0);
    // Suspended for two seconds out of six.
    if (step % 60 == 20) api.patch(kJobs, {"default", "j"}, testing::parsed(R"({"spec":{"suspend":true}})"));
    if (step % 60 == 40) api.patch(kJobs, {"default", "j"}, testing::parsed(R"({"spec":{"suspend":false}})"));
    bench.loop.advance(100ms);
    expect_order(6, false);
  }
  api.set_weather({});
  bench.loop.advance(10min);
  EXPECT_TRUE(bench.conditions().ends_with("SuccessCriteriaMet Complete:CompletionsReached")) << bench.conditions();
  EXPECT_EQ(json::integer_at(bench.job(), {"status", "failed"}), 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, JobWeatherTest, ::testing::Range(1, 11));

}  // namespace
}  // namespace gangway::controllers
