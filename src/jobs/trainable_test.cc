#include "jobs/trainable.h"

#include <gtest/gtest.h>

#include "jobs/job_kinds.h"
#include "jobs/pytorch_job.h"
#include "jobs/test_jobs.h"

namespace gangway::jobs {
namespace {

api::Version a_pod_of(const std::string& role, int index, bool bound, const std::string& phase = "Running") {
  auto header = std::make_shared<api::Header>();
  header->name = {"default", "j-" + role + "-" + std::to_string(index)};
  header->labels = {{"training.kubeflow.org/replica-index", std::to_string(index)},
                    {"training.kubeflow.org/replica-type", role}};
  header->fields = {{"spec.nodeName", bound ? "n" : ""}, {"status.phase", phase}};
  return {std::move(header), std::make_shared<const std::string>("{}")};
}

Trainable seen(const std::string& group, const std::string& kind, const json::Value& tree,
               const std::vector<api::Version>& pods = {}) {
  return find_job_kind(group, kind)->read(version_of(tree), tree, pods);
}

constexpr const char* kElastic = R"({"spec":{"elasticPolicy":{"minReplicas":1,"maxReplicas":4},
    "pytorchReplicaSpecs":{"Worker":{"template":{"spec":{"priorityClassName":"medium"}}}}},
    "metadata":{"annotations":{"gangway.dev/on-preempt":"Shrink"}}})";

TEST(Trainable, ShowsAnElasticJob) {
  const json::Value tree = a_job(pytorch_rules(), {{"Worker", 3}}, kElastic);
  const Trainable job = seen("kubeflow.org", "PyTorchJob", tree,
                             {a_pod_of("worker", 0, true), a_pod_of("worker", 1, true), a_pod_of("worker", 2, false)});
  EXPECT_EQ(job.name.name, "j");
  EXPECT_EQ(job.wish(), 3);
  EXPECT_EQ(job.granted(), 2);
  EXPECT_EQ(job.minimum, 1);
  EXPECT_EQ(job.chief, "j-worker-0");
  EXPECT_EQ(job.priority_class, "medium");
  EXPECT_EQ(job.gang, "j");
  EXPECT_EQ(to_text(job.phase), "Starting");
  EXPECT_EQ(job.offer().shrink_by, 1);
  EXPECT_TRUE(job.offer().suspend);
  EXPECT_EQ(job.offer().when_preempted, OnPreempt::kShrink);
  EXPECT_EQ(json::serialize(job.suspend(true).value()), R"({"spec":{"runPolicy":{"suspend":true}}})");
  EXPECT_EQ(json::serialize(job.resize("worker", 2).value()),
            R"({"spec":{"pytorchReplicaSpecs":{"Worker":{"replicas":2}}}})");
  EXPECT_EQ(job.resize("ps", 1).error().message, "PyTorchJob default/j has no ps pods");
}

TEST(Trainable, KnowsWhatMayNotChange) {
  const json::Value tree = a_job(pytorch_rules(), {{"Master", 1}, {"Worker", 2}});
  const Trainable job = seen("kubeflow.org", "PyTorchJob", tree);
  EXPECT_EQ(job.chief, "j-master-0");
  EXPECT_EQ(job.minimum, 3);
  EXPECT_EQ(job.offer().shrink_by, 0);
  EXPECT_FALSE(job.resize("master", 2).has_value());
}

TEST(Trainable, HasAPhase) {
  struct Case {
    const char* name;
    const char* rest;
    bool bound;
    const char* want;
  };
  const auto conditions = [](const char* type) {
    return R"({"status":{"conditions":[{"type":")" + std::string(type) + R"(","status":"True","message":"m"}]}})";
  };
  const std::string running = conditions("Running");
  const std::string restarting = conditions("Restarting");
  const std::string failed = conditions("Failed");
  const std::string succeeded = conditions("Succeeded");
  for (const Case& each :
       {Case{"waits", "{}", false, "Queued"},
        Case{"suspended", R"({"spec":{"runPolicy":{"suspend":true}}})", false, "Suspended"},
        Case{"runs", running.c_str(), true, "Running"}, Case{"was preempted", restarting.c_str(), false, "Queued"},
        Case{"restarts", restarting.c_str(), true, "Restarting"}, Case{"failed", failed.c_str(), true, "Failed"},
        Case{"succeeded", succeeded.c_str(), false, "Succeeded"}}) {
    const json::Value tree = a_job(pytorch_rules(), {{"Worker", 1}}, each.rest);
    EXPECT_EQ(to_text(seen("kubeflow.org", "PyTorchJob", tree, {a_pod_of("worker", 0, each.bound)}).phase), each.want)
        << each.name;
  }
}

TEST(Trainable, IsABatchJobToo) {
  const json::Value tree = testing::parsed(R"({"metadata":{"name":"j"},"spec":{"completionMode":"Indexed",
      "parallelism":3,"completions":3,"template":{"spec":{"priorityClassName":"low"}}},"status":{"ready":1}})");
  const Trainable job = seen("batch", "Job", tree, {a_pod_of("x", 0, true)});
  EXPECT_EQ(job.gang, "j");
  EXPECT_EQ(job.minimum, 3);
  EXPECT_EQ(job.granted(), 1);
  EXPECT_EQ(to_text(job.phase), "Running");
  EXPECT_EQ(json::serialize(job.suspend(true).value()), R"({"spec":{"suspend":true}})");
  EXPECT_EQ(find_job_kind("apps", "Deployment"), nullptr);
}

}  // namespace
}  // namespace gangway::jobs
