// MPIJobs as a client meets them: three generations under one name, what is made of them, what is refused and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace gangway::apiserver {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string at(std::string_view version) {
  return "/apis/kubeflow.org/" + std::string(version) + "/namespaces/default/mpijobs";
}

constexpr auto kPod =
    R"({"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}})";

std::string role(std::string_view rest) {
  return "{" + std::string(rest) + (rest.empty() ? "" : ",") + R"("template":)" + kPod + "}";
}
std::string roles(std::string_view worker = R"("replicas":2)", std::string_view launcher = "") {
  return R"("mpiReplicaSpecs":{"Launcher":)" + role(launcher) + R"(,"Worker":)" + role(worker) + "}";
}
std::string job(std::string_view version, std::string_view spec, std::string_view annotations = "{}") {
  return R"({"apiVersion":"kubeflow.org/)" + std::string(version) +
         R"(","kind":"MPIJob","metadata":{"name":"j","annotations":)" + std::string(annotations) + R"(},"spec":{)" +
         std::string(spec) + "}}";
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

std::string spec_of(TestServer& server, std::string_view version) {
  return json::serialize(server.get(at(version) + "/j").body.at("spec"));
}

// Puts it in the place of what is there.
TestResponse replace(TestServer& server, std::string_view version, const std::string& body) {
  const auto present = server.get(at(version) + "/j");
  json::Value whole = json::parse(body).value();
  json::object_at(whole, {"metadata"})["resourceVersion"] =
      json::string_at(present.body, {"metadata", "resourceVersion"});
  return server.put(at(version) + "/j", json::serialize(whole));
}

TEST(MpiJobs, AreReadInEveryVersionAsTheyWereWritten) {
  struct Case {
    const char* version;
    std::string spec;
    const char* marked;  // what only its generation has
  };
  const Case cases[] = {
      {"v1alpha1", R"("replicas":2,"template":)" + std::string(kPod), R"("template":)"},
      {"v1", roles() + R"(,"mainContainer":"c")", R"("mainContainer":"c")"},
      {"v2beta1", roles(), R"("mpiImplementation":"OpenMPI")"},
  };
  for (const Case& each : cases) {
    TestServer server;
    const auto made = server.post(at(each.version), job(each.version, each.spec));
    ASSERT_EQ(made.status, 201) << each.version << made.text;
    EXPECT_EQ(json::string_at(made.body, {"apiVersion"}), "kubeflow.org/" + std::string(each.version));
    const std::string written = json::serialize(made.body.at("spec"));
    EXPECT_THAT(written, HasSubstr(each.marked));
    for (const auto* other : {"v1alpha1", "v1", "v2beta1"}) {
      EXPECT_EQ(spec_of(server, other), written) << each.version << " read in " << other;
      // kubectl label writes in the version that the group prefers.
      const auto labelled = server.merge_patch(at(other) + "/j", R"({"metadata":{"labels":{"a":"b"}}})");
      EXPECT_EQ(labelled.status, 200) << labelled.text;
      EXPECT_EQ(spec_of(server, each.version), written) << each.version << " changed in " << other;
      const auto status =
          server.merge_patch(at(other) + "/j/status", R"({"status":{"startTime":"2026-01-02T03:04:05Z"}})");
      EXPECT_EQ(status.status, 200) << status.text;
    }
  }
}

TEST(MpiJobs, AreOfTheGenerationThatTheyLookLike) {
  TestServer server;
  // As `kubectl get -o yaml` shows it in the preferred version.
  const auto again = server.post(at("v1"), job("v1", roles() + R"(,"mpiImplementation":"Intel")"));
  ASSERT_EQ(again.status, 201) << again.text;
  EXPECT_THAT(json::serialize(again.body.at("spec")), HasSubstr(R"("sshAuthMountPath":"/root/.ssh")"));
  // And it stays what it is.
  const auto replaced = replace(server, "v1", job("v1", roles(R"("replicas":3)")));
  ASSERT_EQ(replaced.status, 200) << replaced.text;
  EXPECT_THAT(json::serialize(replaced.body.at("spec")), HasSubstr(R"("mpiImplementation":"OpenMPI")"));
  EXPECT_THAT(causes(replace(server, "v1alpha1", job("v1alpha1", R"("replicas":1,"template":)" + std::string(kPod)))),
              Contains("spec.template: Forbidden: this is an MPIJob of kubeflow.org/v2beta1, which does not have it"));
}

TEST(MpiJobs, GetWhatTheirGenerationHasWhereItIsNotSaid) {
  TestServer server;
  const auto later = server.post(
      at("v1"), job("v1", R"("mpiReplicaSpecs":{"launcher":)" + role("") + R"(,"worker":)" + role("") + "}"));
  ASSERT_EQ(later.status, 201) << later.text;
  EXPECT_EQ(later.body.at("spec").at("mpiReplicaSpecs").at("Launcher").at("replicas"), 1);
  EXPECT_EQ(later.body.at("spec").at("mpiReplicaSpecs").at("Worker").at("replicas"), 0);
  EXPECT_FALSE(later.body.at("spec").as_object().contains("slotsPerWorker"));
  TestServer other;
  const auto last = other.post(at("v2beta1"), job("v2beta1", roles()));
  ASSERT_EQ(last.status, 201) << last.text;
  EXPECT_EQ(last.body.at("spec").at("slotsPerWorker"), 1);
  EXPECT_EQ(last.body.at("spec").at("launcherCreationPolicy"), "AtStartup");
  EXPECT_EQ(json::string_at(last.body, {"metadata", "annotations", "gangway.dev/created-by"}).empty(), false)
      << "it asks for GPUs";
}

TEST(MpiJobs, NameTheFieldOfEachMistake) {
  struct Case {
    const char* name;
    const char* version;
    std::string body;
    const char* cause;
  };
  const std::string alone = R"("mpiReplicaSpecs":{"Worker":)" + role(R"("replicas":1)") + "}";
  const Case cases[] = {
      {"no launcher", "v1", alone, "spec.mpiReplicaSpecs.Launcher: Required value: it runs mpirun"},
      {"two launchers", "v1", roles(R"("replicas":1)", R"("replicas":2)"),
       "spec.mpiReplicaSpecs.Launcher.replicas: Invalid value: 2: there is one Launcher: must be 1"},
      {"no workers", "v2beta1", roles(R"("replicas":0)"),
       "spec.mpiReplicaSpecs.Worker.replicas: Invalid value: 0: must be at least 1 (got 0)"},
      {"a policy", "v2beta1", roles(R"("replicas":1,"restartPolicy":"ExitCode")"),
       R"(spec.mpiReplicaSpecs.Worker.restartPolicy: Unsupported value: "ExitCode": supported values: "Never", "OnFailure")"},
      {"a type", "v1", R"("mpiReplicaSpecs":{"Launcher":)" + role("") + R"(,"Master":)" + role("") + "}",
       R"(spec.mpiReplicaSpecs[Master]: Unsupported value: "Master": supported values: "Launcher", "Worker")"},
      {"a mixture", "v1", roles() + R"(,"replicas":2)",
       "spec.replicas: Forbidden: this is an MPIJob of kubeflow.org/v1, which does not have it"},
      {"another", "v2beta1", roles() + R"(,"mainContainer":"c")",
       "spec.mainContainer: Forbidden: this is an MPIJob of kubeflow.org/v2beta1, which does not have it"},
      {"nothing", "v1", R"("slotsPerWorker":1)",
       "spec.template: Required value: or spec.mpiReplicaSpecs, in v1 and v2beta1"},
      {"a path", "v2beta1", roles() + R"(,"sshAuthMountPath":".ssh")",
       R"(spec.sshAuthMountPath: Invalid value: ".ssh": must be an absolute path)"},
      {"a manager", "v2beta1", roles() + R"(,"runPolicy":{"managedBy":"kubeflow.org/training-operator"})",
       R"(spec.runPolicy.managedBy: Unsupported value: "kubeflow.org/training-operator": supported values: )"
       R"("kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue")"},
  };
  for (const Case& each : cases) {
    TestServer server;
    EXPECT_THAT(causes(server.post(at(each.version), job(each.version, each.body))), Contains(each.cause)) << each.name;
  }
}

TEST(MpiJobs, ShrinkOnlyWhereTheyAreElastic) {
  TestServer server;
  EXPECT_THAT(causes(server.post(at("v1"), job("v1", roles(), R"({"gangway.dev/on-preempt":"Shrink"})"))),
              ElementsAre(HasSubstr("metadata.annotations[gangway.dev/on-preempt]: Invalid value")));
  EXPECT_THAT(causes(server.post(
                  at("v1"), job("v1", roles(), R"({"gangway.dev/min-workers":"3","gangway.dev/max-workers":"2"})"))),
              Contains(HasSubstr("metadata.annotations[gangway.dev/min-workers]: Invalid value")));
  EXPECT_THAT(causes(server.post(at("v1"), job("v1", roles(), R"({"gangway.dev/min-workers":"few"})"))),
              Contains(HasSubstr("metadata.annotations[gangway.dev/min-workers]: Invalid value")));
  const auto made =
      server.post(at("v1"), job("v1", roles(), R"({"gangway.dev/on-preempt":"Shrink","gangway.dev/min-workers":"1"})"));
  EXPECT_EQ(made.status, 201) << made.text;
}

}  // namespace
}  // namespace gangway::apiserver
