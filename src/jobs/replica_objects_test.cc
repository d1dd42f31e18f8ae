// What belongs to a job and is not its pods'.
#include "jobs/replica_objects.h"

#include <gmock/gmock.h>

#include "jobs/pytorch_job.h"
#include "jobs/test_jobs.h"

namespace gangway::jobs {
namespace {

using client::resources::kServices;
using ::testing::ElementsAre;

TEST(ReplicaObjects, AServiceThatSomebodyMadeForTheJobIsLeftAlone) {
  JobsBench bench(pytorch_rules());
  bench.start(a_job(pytorch_rules(), {{"Master", 1}}));
  const json::Value job = bench.job();
  const json::Object owner{{"apiVersion", "kubeflow.org/v1"},
                           {"kind", "PyTorchJob"},
                           {"name", "j"},
                           {"uid", json::string_at(job, {"metadata", "uid"})},
                           {"controller", true}};
  json::Value board = testing::an_object("v1", "Service", "default", "j-tensorboard").json();
  json::object_at(board, {"metadata"})["ownerReferences"] = json::Array{owner};
  bench.api.create(kServices, board);
  bench.run_all();
  EXPECT_THAT(bench.services(), ElementsAre("j-master-0", "j-tensorboard"));
  bench.end_pod("j-master-0", 0);
  bench.patch_job(R"({"spec":{"runPolicy":{"cleanPodPolicy":"All"}}})");
  EXPECT_THAT(bench.services(), ElementsAre("j-tensorboard")) << "it goes with the job, not with its pods";
}

}  // namespace
}  // namespace gangway::jobs
