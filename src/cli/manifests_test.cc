#include "cli/manifests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::cli {
namespace {

using ::testing::ElementsAre;

PodsToBe made_by(const std::string& text) {
  const auto manifests = read_manifests(text, "ml");
  if (!manifests || manifests->size() != 1) {
    ADD_FAILURE() << "one manifest was meant";
    return {};
  }
  return pods_made_by(manifests->front().object);
}

std::vector<std::string> names(const std::vector<json::Value>& objects) {
  std::vector<std::string> all;
  for (const json::Value& object : objects) all.emplace_back(json::string_at(object, {"metadata", "name"}));
  return all;
}

TEST(Manifests, TakesListsApartAndKnowsWhatIsPlaced) {
  const auto manifests = read_manifests(R"(
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: other}}
- {apiVersion: v1, kind: Service, metadata: {name: s}}
---
# nothing
---
{"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"}}
)",
                                        "ml");
  ASSERT_TRUE(manifests) << manifests.error().message;
  std::vector<std::string> told;
  for (const Manifest& one : *manifests)
    told.push_back(one.kind + " " + one.ns + "/" + one.name + (one.resource ? " " + one.resource->plural : ""));
  EXPECT_THAT(told, ElementsAre("Pod other/a pods", "Service ml/s", "PodGroup ml/g podgroups"));
}

TEST(Manifests, WhatIsNoManifestIsRefusedWithItsPlace) {
  const auto manifests = read_manifests("apiVersion: v1\nkind: Pod\n---\nname: x\n", "ml");
  ASSERT_FALSE(manifests);
  EXPECT_EQ(manifests.error().message, "document 2: a manifest must have an apiVersion and a kind");
}

TEST(Manifests, AnIndexedJobMakesAsManyPodsAsRunAtOnce) {
  const PodsToBe made = made_by(R"({apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: ml},
    spec: {parallelism: 4, completions: 2, completionMode: Indexed,
           template: {metadata: {labels: {app: x}}, spec: {priorityClassName: high}}}})");
  EXPECT_THAT(names(made.pods), ElementsAre("j-0", "j-1"));
  const json::Value& second = made.pods[1];
  EXPECT_EQ(json::string_at(second, {"metadata", "namespace"}), "ml");
  EXPECT_EQ(json::string_at(second, {"metadata", "labels", "app"}), "x");
  EXPECT_EQ(json::string_at(second, {"metadata", "labels", "batch.kubernetes.io/job-completion-index"}), "1");
  EXPECT_EQ(json::string_at(second, {"spec", "priorityClassName"}), "high");
}

TEST(Manifests, ASuspendedJobMakesNone) {
  const PodsToBe made = made_by("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {suspend: true}}");
  EXPECT_TRUE(made.pods.empty());
  EXPECT_EQ(made.note, "it is suspended and makes no pods until it is resumed");
}

TEST(Manifests, ADeploymentMakesItsReplicas) {
  EXPECT_THAT(names(made_by("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 2}}").pods),
              ElementsAre("d-0", "d-1"));
  EXPECT_EQ(made_by("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 0}}").note,
            "it asks for no pods");
}

TEST(Manifests, AStatefulSetMakesClaimsThatItsPodsUse) {
  const PodsToBe made = made_by(R"({apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, namespace: ml},
    spec: {replicas: 2, volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: local}}],
           template: {spec: {volumes: [{name: tmp, emptyDir: {}}]}}}})");
  EXPECT_THAT(names(made.pods), ElementsAre("s-0", "s-1"));
  EXPECT_THAT(names(made.claims), ElementsAre("data-s-0", "data-s-1"));
  const json::Array& volumes = json::array_at(made.pods[1], {"spec", "volumes"});
  ASSERT_EQ(volumes.size(), 2u);
  EXPECT_EQ(json::string_at(volumes[1], {"persistentVolumeClaim", "claimName"}), "data-s-1");
}

TEST(Manifests, ATrainingJobIsOneGang) {
  const PodsToBe torch = made_by(R"({apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: t, namespace: ml},
    spec: {elasticPolicy: {minReplicas: 2}, pytorchReplicaSpecs: {Worker: {replicas: 3, template: {spec: {}}}}}})");
  EXPECT_THAT(names(torch.pods), ElementsAre("t-worker-0", "t-worker-1", "t-worker-2"));
  EXPECT_THAT(names(torch.groups), ElementsAre("t"));
  EXPECT_EQ(json::integer_at(torch.groups[0], {"spec", "minMember"}), 2);
  EXPECT_EQ(json::string_at(torch.pods[0], {"metadata", "labels", "scheduling.x-k8s.io/pod-group"}), "t");
  const PodsToBe mpi = made_by(R"({apiVersion: kubeflow.org/v1alpha1, kind: MPIJob, metadata: {name: m},
    spec: {replicas: 1, template: {spec: {containers: [{name: mpi, resources: {limits: {nvidia.com/gpu: 1}}}]}}}})");
  EXPECT_THAT(names(mpi.pods), ElementsAre("m-launcher-0", "m-worker-0"));
  const json::Array& launcher = json::array_at(mpi.pods[0], {"spec", "containers"});
  EXPECT_EQ(json::find(launcher[0], {"resources"}), nullptr) << "the launcher takes no devices";
}

}  // namespace
}  // namespace gangway::cli
