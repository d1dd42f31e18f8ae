#include "jobs/batch_gangs.h"

#include <gtest/gtest.h>

#include "client/resource.h"
#include "testing/builders.h"
#include "testing/controller_bench.h"

namespace gangway::jobs {
namespace {

using client::resources::kJobs;
using client::resources::kPodGroups;

struct BatchGangsTest : ::testing::Test {
  testing::ControllerBench bench;
  BatchGangs reconciler;

  void start(const std::string& rest) {
    bench.api.create(kJobs, testing::an_object("batch/v1", "Job", "default", "j").with(rest));
    bench.start(reconciler);
  }
  std::int64_t minimum() const {
    return json::integer_at(bench.api.tree(kPodGroups, {"default", "j"}), {"spec", "minMember"});
  }
};

TEST_F(BatchGangsTest, MakeAGroupOfIndexesThatRunAtOnce) {
  start(R"({"metadata":{"annotations":{"gangway.dev/on-preempt":"Requeue"}},
            "spec":{"completionMode":"Indexed","parallelism":3,"completions":3}})");
  EXPECT_EQ(minimum(), 3);
  EXPECT_EQ(json::string_at(bench.api.tree(kPodGroups, {"default", "j"}),
                            {"metadata", "annotations", "gangway.dev/on-preempt"}),
            "Requeue");
  bench.api.patch(kJobs, {"default", "j"}, testing::parsed(R"({"status":{"succeeded":2}})"), "status");
  bench.loop.run_until_idle();
  EXPECT_EQ(minimum(), 1);
  bench.api.patch(kJobs, {"default", "j"}, testing::parsed(R"({"spec":{"suspend":true}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(minimum(), 0) << "there is none";
}

TEST_F(BatchGangsTest, LeaveOthersAlone) {
  for (const char* rest : {R"({"spec":{"parallelism":3,"completions":3}})",
                           R"({"spec":{"completionMode":"Indexed","parallelism":2,"completions":3}})",
                           R"({"spec":{"completionMode":"Indexed","parallelism":1,"completions":1}})",
                           R"({"metadata":{"annotations":{"gangway.dev/gang":"false"}},
                               "spec":{"completionMode":"Indexed","parallelism":3,"completions":3}})",
                           R"({"spec":{"completionMode":"Indexed","parallelism":3,"completions":3,
                               "template":{"metadata":{"labels":{"scheduling.x-k8s.io/pod-group":"mine"}}}}})"}) {
    testing::ControllerBench other;
    other.api.create(kJobs, testing::an_object("batch/v1", "Job", "default", "j").with(rest));
    other.start(reconciler);
    EXPECT_TRUE(other.api.objects(kPodGroups).empty()) << rest;
  }
}

TEST_F(BatchGangsTest, MakeOneWhereItIsAskedFor) {
  start(R"({"metadata":{"annotations":{"gangway.dev/gang":"true"}},"spec":{"parallelism":2}})");
  EXPECT_EQ(minimum(), 2);
}

}  // namespace
}  // namespace gangway::jobs
