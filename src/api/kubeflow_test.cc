#include "api/kubeflow.h"

#include <gtest/gtest.h>

namespace gangway::api {
namespace {

TEST(KubeflowKinds, MeanATypeWhateverItsCase) {
  struct Case {
    const KubeflowKind& kind;
    std::string_view key;
    std::string_view want;
  };
  for (const Case& each : {Case{pytorch_job_kind(), "Master", "Master"},
                           {pytorch_job_kind(), "WORKER", "Worker"},
                           {pytorch_job_kind(), "Chief", ""},
                           {tf_job_kind(), "ps", "PS"},
                           {tf_job_kind(), "evaluator", "Evaluator"},
                           {tf_job_kind(), "", ""}}) {
    EXPECT_EQ(canonical_type(each.kind, each.key), each.want) << each.key;
  }
}

TEST(KubeflowKinds, FindARunPolicyInBothPlaces) {
  const json::Value job = json::parse(R"({"spec":{"runPolicy":{"backoffLimit":1,"suspend":null},"backoffLimit":2,
                                          "cleanPodPolicy":"All","suspend":true}})")
                              .value();
  EXPECT_EQ(*run_policy_field(job, "backoffLimit"), 1);
  EXPECT_EQ(*run_policy_field(job, "cleanPodPolicy"), "All");
  EXPECT_EQ(*run_policy_field(job, "suspend"), true);
  EXPECT_EQ(run_policy_field(job, "ttlSecondsAfterFinished"), nullptr);
}

}  // namespace
}  // namespace gangway::api
