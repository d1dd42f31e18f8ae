// PyTorchJob and TFJob as a client meets them: what is taken, what is made of it, what is refused and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace gangway::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr auto kPyTorchJobs = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs";
constexpr auto kTfJobs = "/apis/kubeflow.org/v1/namespaces/default/tfjobs";

std::string replica(std::string_view container, std::string_view rest = R"("replicas":1)") {
  return "{" + std::string(rest) + (rest.empty() ? "" : ",") + R"("template":{"spec":{"containers":[{"name":")" +
         std::string(container) + R"(","image":"i"}]}}})";
}

std::string job(std::string_view kind, std::string_view spec, std::string_view annotations = "{}",
                std::string_view name = "j") {
  return R"({"apiVersion":"kubeflow.org/v1","kind":")" + std::string(kind) + R"(","metadata":{"name":")" +
         std::string(name) + R"(","annotations":)" + std::string(annotations) + R"(},"spec":)" + std::string(spec) +
         "}";
}
std::string pytorch(std::string_view replicas, std::string_view rest = "", std::string_view annotations = "{}") {
  return job("PyTorchJob", R"({"pytorchReplicaSpecs":)" + std::string(replicas) + std::string(rest) + "}", annotations);
}
std::string tf(std::string_view replicas, std::string_view rest = "") {
  return job("TFJob", R"({"tfReplicaSpecs":)" + std::string(replicas) + std::string(rest) + "}");
}

std::vector<std::string> causes(const TestResponse& response) {
  std::vector<std::string> found;
  if (response.status != 422) return {"status " + std::to_string(response.status) + ": " + response.text};
  for (const auto& cause : response.body.at("details").at("causes").as_array()) {
    found.push_back(std::string(json::string_at(cause, {"field"})) + ": " +
                    std::string(json::string_at(cause, {"message"})));
  }
  return found;
}

TEST(PyTorchJobs, AreStoredUnderTheNamesOfTheirTypes) {
  TestServer server;
  auto made = server.post(
      kPyTorchJobs, pytorch(R"({"MASTER":)" + replica("pytorch") + R"(,"worker":)" + replica("pytorch", "") + "}"));
  ASSERT_EQ(made.status, 201) << made.text;
  const auto& types = made.body.at("spec").at("pytorchReplicaSpecs").as_object();
  ASSERT_EQ(types.size(), 2u);
  EXPECT_EQ(types.at("Worker").at("replicas"), 1) << "the usual number";
  EXPECT_FALSE(types.at("Worker").at("template").at("spec").as_object().contains("restartPolicy"))
      << "a template stays as it was written";
  EXPECT_EQ(made.body.at("metadata").at("generation"), 1);
  // The same manifest once more: it is the type that it was.
  auto again = server.merge_patch(std::string(kPyTorchJobs) + "/j", R"({"spec":{"pytorchReplicaSpecs":{"worker":)" +
                                                                        replica("pytorch", R"("replicas":4)") + "}}}");
  ASSERT_EQ(again.status, 200) << again.text;
  EXPECT_EQ(again.body.at("spec").at("pytorchReplicaSpecs").at("Worker").at("replicas"), 4);
  EXPECT_EQ(again.body.at("spec").at("pytorchReplicaSpecs").as_object().size(), 2u);
}

TEST(PyTorchJobs, HaveAScaleOfTheirWorkers) {
  TestServer server;
  server.post(kPyTorchJobs, pytorch(R"({"Worker":)" + replica("pytorch", R"("replicas":2)") + "}"));
  auto scale = server.request("GET", std::string(kPyTorchJobs) + "/j/scale", {});
  ASSERT_EQ(scale.status, 200) << scale.text;
  EXPECT_EQ(scale.body.at("spec").at("replicas"), 2);
  auto scaled = server.merge_patch(std::string(kPyTorchJobs) + "/j/scale", R"({"spec":{"replicas":5}})");
  ASSERT_EQ(scaled.status, 200) << scaled.text;
  auto found = server.request("GET", std::string(kPyTorchJobs) + "/j", {});
  EXPECT_EQ(found.body.at("spec").at("pytorchReplicaSpecs").at("Worker").at("replicas"), 5);
}

TEST(PyTorchJobs, AreScaledWithinTheirLimits) {
  TestServer server;
  const std::string elastic = R"(,"elasticPolicy":{"minReplicas":2,"maxReplicas":4})";
  const std::string scale = std::string(kPyTorchJobs) + "/j/scale";
  auto made =
      server.post(kPyTorchJobs, pytorch(R"({"Worker":)" + replica("pytorch", R"("replicas":3)") + "}", elastic));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(server.merge_patch(scale, R"({"spec":{"replicas":4}})").status, 200);
  EXPECT_EQ(server.merge_patch(scale, R"({"spec":{"replicas":2}})").status, 200);
  auto more = server.merge_patch(scale, R"({"spec":{"replicas":5}})");
  EXPECT_EQ(more.status, 422);
  EXPECT_THAT(more.text, ::testing::HasSubstr("must not be more than spec.elasticPolicy.maxReplicas (4)"));
  auto fewer = server.merge_patch(scale, R"({"spec":{"replicas":1}})");
  EXPECT_EQ(fewer.status, 422);
  EXPECT_THAT(fewer.text, ::testing::HasSubstr("must not be less than spec.elasticPolicy.minReplicas (2)"));
  auto found = server.request("GET", std::string(kPyTorchJobs) + "/j", {});
  EXPECT_EQ(found.body.at("spec").at("pytorchReplicaSpecs").at("Worker").at("replicas"), 2);
}

TEST(PyTorchJobs, NameTheFieldOfEachMistake) {
  struct Case {
    const char* name;
    std::string body;
    std::vector<std::string> want;
  };
  const std::string worker = R"({"Worker":)" + replica("pytorch") + "}";
  const Case cases[] = {
      {"no types", pytorch("{}"), {"spec.pytorchReplicaSpecs: Required value: at least one of Master, Worker"}},
      {"unknown type",
       pytorch(R"({"PS":)" + replica("pytorch") + "}"),
       {"spec.pytorchReplicaSpecs[PS]: Unsupported value: \"PS\": supported values: \"Master\", \"Worker\""}},
      {"twice",
       pytorch(R"({"Worker":)" + replica("pytorch") + R"(,"worker":)" + replica("pytorch") + "}"),
       {"spec.pytorchReplicaSpecs[worker]: Duplicate value: \"Worker\""}},
      {"no replicas of the master",
       pytorch(R"({"Master":)" + replica("pytorch", "") + "}"),
       {"spec.pytorchReplicaSpecs.Master.replicas: Required value: must be given as 1"}},
      {"two masters",
       pytorch(R"({"Master":)" + replica("pytorch", R"("replicas":2)") + "}"),
       {"spec.pytorchReplicaSpecs.Master.replicas: Invalid value: 2: there is one Master at most: must be 1"}},
      {"container",
       pytorch(R"({"Worker":)" + replica("main") + "}"),
       {"spec.pytorchReplicaSpecs.Worker.template.spec.containers: Invalid value: there is no container called "
        "pytorch: it "
        "is the one that trains"}},
      {"image",
       pytorch(R"({"Worker":{"replicas":1,"template":{"spec":{"containers":[{"name":"pytorch"}]}}}})"),
       {"spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].image: Required value"}},
      {"ports",
       pytorch(R"({"Worker":{"replicas":1,"template":{"spec":{"containers":[{"name":"pytorch","image":"i","ports":[
         {"name":"a","containerPort":1},{"name":"a","containerPort":2}]}]}}}})"),
       {"spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].ports[1].name: Duplicate value: \"a\""}},
      {"amounts",
       pytorch(R"({"Worker":{"replicas":1,"template":{"spec":{"containers":[{"name":"pytorch","image":"i","resources":{
         "limits":{"memory":"lots"}}}]}}}})"),
       {"spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].resources.limits[memory]: Invalid value: "
        "\"lots\": must be a quantity, such as 2, 500m or 4Gi"}},
      {"mounts",
       pytorch(R"({"Worker":{"replicas":1,"template":{"spec":{"volumes":[{"name":"scratch"}],"containers":[{
         "name":"pytorch","image":"i","volumeMounts":[{"name":"scratch","mountPath":"/s"},
         {"name":"data","mountPath":"/d"}]}]}}}})"),
       {"spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].volumeMounts[1].name: Not found: \"data\""}},
      {"processes",
       pytorch(worker, R"(,"nprocPerNode":"2","elasticPolicy":{"nProcPerNode":2})"),
       {"spec.elasticPolicy.nProcPerNode: Forbidden: spec.nprocPerNode says it already"}},
      {"range",
       pytorch(worker, R"(,"elasticPolicy":{"minReplicas":3,"maxReplicas":2})"),
       {"spec.elasticPolicy.minReplicas: Invalid value: 3: must not be more than spec.elasticPolicy.maxReplicas (2)"}},
      {"more than the most",
       pytorch(R"({"Worker":)" + replica("pytorch", R"("replicas":4)") + "}",
               R"(,"elasticPolicy":{"minReplicas":1,"maxReplicas":3})"),
       {"spec.pytorchReplicaSpecs.Worker.replicas: Invalid value: 4: must not be more than "
        "spec.elasticPolicy.maxReplicas (3)"}},
      {"fewer than the fewest",
       pytorch(worker, R"(,"elasticPolicy":{"minReplicas":2,"maxReplicas":3})"),
       {"spec.pytorchReplicaSpecs.Worker.replicas: Invalid value: 1: must not be less than "
        "spec.elasticPolicy.minReplicas (2)"}},
      {"minimum",
       pytorch(worker, R"(,"runPolicy":{"schedulingPolicy":{"minAvailable":2}})"),
       {"spec.runPolicy.schedulingPolicy.minAvailable: Invalid value: 2: must not be more than all replicas (1)"}},
      {"managed by",
       pytorch(worker, R"(,"runPolicy":{"managedBy":"me"})"),
       {"spec.runPolicy.managedBy: Unsupported value: \"me\": supported values: \"kubeflow.org/training-operator\", "
        "\"kueue.x-k8s.io/multikueue\""}},
      {"only elastic jobs shrink",
       pytorch(worker, "", R"({"gangway.dev/on-preempt":"Shrink"})"),
       {"metadata.annotations[gangway.dev/on-preempt]: Invalid value: \"Shrink\": Shrink needs an elastic job, one "
        "that "
        "goes on with fewer pods than it would like"}},
      {"where checkpoints are",
       pytorch(worker, "", R"({"gangway.dev/checkpoint-dir":"here"})"),
       {"metadata.annotations[gangway.dev/checkpoint-dir]: Invalid value: \"here\": must be an absolute path"}},
  };
  for (const Case& each : cases) {
    TestServer server;
    EXPECT_EQ(causes(server.post(kPyTorchJobs, each.body)), each.want) << each.name;
  }
}

TEST(PyTorchJobs, HaveNamesThatTheirPodsCanBear) {
  TestServer server;
  const auto body = [](const std::string& name) {
    return job("PyTorchJob", R"({"pytorchReplicaSpecs":{"Worker":)" + replica("pytorch", R"("replicas":101)") + "}}",
               "{}", name);
  };
  EXPECT_THAT(causes(server.post(kPyTorchJobs, body("9j"))),
              ElementsAre(HasSubstr("metadata.name: Invalid value: \"9j\"")));
  EXPECT_THAT(causes(server.post(kPyTorchJobs, body(std::string(53, 'a')))),
              ElementsAre(HasSubstr("would have more than 63 characters in its name")));
  EXPECT_EQ(server.post(kPyTorchJobs, body(std::string(52, 'a'))).status, 201);
}

TEST(PyTorchJobs, WarnOfWhatIsOutOfDate) {
  TestServer server;
  auto made = server.post(kPyTorchJobs, pytorch(R"({"Worker":)" + replica("pytorch") + "}",
                                                R"(,"backoffLimit":1,"cleanPodPolicy":"All","elasticPolicy":
                                                {"nProcPerNode":2,"metrics":[{"type":"Resource"}]})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_THAT(
      made.warnings,
      UnorderedElementsAre(HasSubstr("spec.cleanPodPolicy: deprecated"), HasSubstr("spec.backoffLimit: deprecated"),
                           HasSubstr("spec.elasticPolicy.nProcPerNode: deprecated"),
                           HasSubstr("spec.elasticPolicy.metrics: there is no autoscaler here")));
}

TEST(PyTorchJobs, KeepWhatCannotChange) {
  TestServer server;
  server.post(
      kPyTorchJobs,
      pytorch(R"({"Worker":)" + replica("pytorch") + "}",
              R"(,"runPolicy":{"managedBy":"kubeflow.org/training-operator","schedulingPolicy":{"queue":"a"}})"));
  auto refused = server.merge_patch(std::string(kPyTorchJobs) + "/j", R"({"spec":{"runPolicy":{
      "managedBy":"kueue.x-k8s.io/multikueue","schedulingPolicy":{"queue":"b"}}}})");
  EXPECT_THAT(causes(refused),
              ElementsAre(HasSubstr("spec.runPolicy.managedBy"), HasSubstr("spec.runPolicy.schedulingPolicy.queue")));
}

TEST(PyTorchJobs, SayWhoMadeWhatAsksForGpus) {
  TestServer server;
  auto made = server.post(kPyTorchJobs, pytorch(R"({"Worker":{"template":{"spec":{"containers":[{"name":"pytorch",
      "image":"i","resources":{"limits":{"nvidia.com/gpu":1}}}]}}}})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_NE(made.at({"metadata", "annotations", "gangway.dev/created-by"}), "");
}

TEST(TfJobs, NameTheFieldOfEachMistake) {
  TestServer server;
  EXPECT_THAT(causes(server.post(kTfJobs, tf(R"({"Chief":)" + replica("tensorflow", R"("replicas":2)") +
                                             R"(,"Master":)" + replica("pytorch") + "}"))),
              UnorderedElementsAre(
                  "spec.tfReplicaSpecs.Chief.replicas: Invalid value: 2: there is one Chief at most",
                  "spec.tfReplicaSpecs.Master: Forbidden: there is a Chief already",
                  HasSubstr("spec.tfReplicaSpecs.Master.template.spec.containers: Invalid value: there is no container "
                            "called tensorflow")));
  auto made =
      server.post(kTfJobs, tf(R"({"ps":)" + replica("tensorflow") + R"(,"Worker":)" + replica("tensorflow", "") + "}"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_TRUE(made.body.at("spec").at("tfReplicaSpecs").as_object().contains("PS"));
  EXPECT_THAT(made.warnings, IsEmpty());
}

TEST(KubeflowJobs, ShowTheLastConditionAsTheirState) {
  TestServer server;
  server.post(kTfJobs, tf(R"({"Worker":)" + replica("tensorflow") + "}"));
  server.merge_patch(
      std::string(kTfJobs) + "/j/status",
      R"({"status":{"conditions":[{"type":"Created","status":"True"},{"type":"Suspended","status":"False"}]}})");
  auto table =
      server.request("GET", kTfJobs, {.accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"});
  EXPECT_EQ(table.body.at("rows").as_array().at(0).at("cells"), (json::Array{"j", "Suspended", "0s"}));
}

}  // namespace
}  // namespace gangway::apiserver
