#include "api/pod_requests.h"

#include <gtest/gtest.h>

#include <string>

namespace gangway::api {
namespace {

struct Case {
  const char* name;
  const char* spec;
  const char* want;
};

std::string text(const Amounts& amounts) {
  std::string all;
  for (const auto& [resource, amount] : amounts)
    all += (all.empty() ? "" : " ") + resource + "=" + std::to_string(amount);
  return all;
}

// Worked out by hand. Ki = 1024; cpu in thousandths.
const Case kCases[] = {
    {"nothing", R"({"containers":[{"name":"a"}]})", ""},
    {"sum_of_containers",
     R"({"containers":[{"resources":{"requests":{"cpu":"100m","memory":"1Ki"}}},
                       {"resources":{"requests":{"cpu":"1.5","nvidia.com/gpu":"2"}}}]})",
     "cpu=1600 memory=1024 nvidia.com/gpu=2"},
    {"fractions_round_up", R"({"containers":[{"resources":{"requests":{"cpu":"0.1m","memory":"1m"}}}]})",
     "cpu=1 memory=1"},
    {"limits_do_not_count", R"({"containers":[{"resources":{"limits":{"cpu":"1"}}}]})", ""},
    {"a_large_init_container_counts_alone",
     R"({"initContainers":[{"resources":{"requests":{"cpu":"2","memory":"10"}}}],
         "containers":[{"resources":{"requests":{"cpu":"500m","memory":"30"}}}]})",
     "cpu=2000 memory=30"},
    {"init_containers_run_one_by_one",
     R"({"initContainers":[{"resources":{"requests":{"cpu":"2"}}},{"resources":{"requests":{"cpu":"3"}}}],
         "containers":[{"resources":{"requests":{"cpu":"1"}}}]})",
     "cpu=3000"},
    {"a_sidecar_runs_beside_the_containers",
     R"({"initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}],
         "containers":[{"resources":{"requests":{"cpu":"2"}}}]})",
     "cpu=3000"},
    // 4 runs beside the sidecar that came before it: 4 + 1. The one that comes later does not count for it.
    {"a_sidecar_runs_beside_later_init_containers",
     R"({"initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
                           {"resources":{"requests":{"cpu":"4"}}},
                           {"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}],
         "containers":[{"resources":{"requests":{"cpu":"2"}}}]})",
     "cpu=5000"},
    {"overhead_comes_on_top",
     R"({"overhead":{"cpu":"250m","memory":"5"},"initContainers":[{"resources":{"requests":{"cpu":"2"}}}],
         "containers":[{"resources":{"requests":{"cpu":"1"}}}]})",
     "cpu=2250 memory=5"},
    {"sums_do_not_wrap",
     R"({"containers":[{"resources":{"requests":{"memory":"8E"}}},{"resources":{"requests":{"memory":"8E"}}}]})",
     "memory=9223372036854775807"},
};

class PodRequestsTest : public ::testing::TestWithParam<Case> {};

TEST_P(PodRequestsTest, CountsAsKubernetesDoes) {
  const auto pod = json::parse(R"({"spec":)" + std::string(GetParam().spec) + "}");
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(text(pod_requests(*pod)), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Pods, PodRequestsTest, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace gangway::api
