#include "agent/pod/volumes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/pod/test_machine.h"

namespace gangway::agent {
namespace {

using ::testing::ElementsAre;

struct PodVolumesTest : ::testing::Test {
  NodeFacts node;
  PodRecord record;
  TestReferences references;
  PodSpec pod;

  Resolved<VolumeContent> resolve(std::string_view volume, std::string_view more = "{}") {
    pod = pod_of(fmt::format(R"({{"spec": {{"volumes": [{}], "containers": [{{"name": "c"}}]}}}})", volume));
    if (more != "{}")
      pod = pod_of(fmt::format(R"({{"metadata": {}, "spec": {{"volumes": [{}], "containers": [{{"name": "c"}}]}}}})",
                               more, volume));
    return resolve_volume({pod, record, node, references}, pod.volumes.front());
  }
  FilesVolume files(std::string_view volume, std::string_view more = "{}") {
    return std::get<FilesVolume>(std::get<VolumeContent>(resolve(volume, more)));
  }
  std::string problem(std::string_view volume) { return std::get<Unresolved>(resolve(volume)).message; }
  // "path mode content"
  static std::vector<std::string> texts(const FilesVolume& volume) {
    std::vector<std::string> all;
    for (const VolumeFile& file : volume.files)
      all.push_back(fmt::format("{} {:o} {}", file.path, file.mode, file.content));
    return all;
  }
};

TEST_F(PodVolumesTest, AllKeysOrThoseThatAreNamed) {
  references.config_maps["m"] = {{"a", "1"}, {"b", "2"}};
  EXPECT_THAT(texts(files(R"({"name": "v", "configMap": {"name": "m"}})")), ElementsAre("a 644 1", "b 644 2"));
  // 256 = 0400, 384 = 0600
  EXPECT_THAT(texts(files(R"({"name": "v", "configMap": {"name": "m", "defaultMode": 256,
                              "items": [{"key": "b", "path": "sub/b"}, {"key": "a", "path": "a", "mode": 384}]}})")),
              ElementsAre("sub/b 400 2", "a 600 1"));
}

TEST_F(PodVolumesTest, SecretsStayInMemory) {
  references.secrets["s"] = {{"k", "v"}};
  references.config_maps["m"] = {{"a", "1"}};
  EXPECT_TRUE(files(R"({"name": "v", "secret": {"secretName": "s"}})").in_memory);
  EXPECT_FALSE(files(R"({"name": "v", "configMap": {"name": "m"}})").in_memory);
}

TEST_F(PodVolumesTest, SaysWhatIsMissingUnlessItMayBe) {
  references.config_maps["m"] = {};
  EXPECT_EQ(problem(R"({"name": "v", "secret": {"secretName": "s"}})"), "secret \"s\" not found");
  EXPECT_EQ(problem(R"({"name": "v", "configMap": {"name": "m", "items": [{"key": "k", "path": "k"}]}})"),
            "configmap references non-existent config key: k");
  EXPECT_TRUE(files(R"({"name": "v", "secret": {"secretName": "s", "optional": true}})").files.empty());
  EXPECT_EQ(problem(R"({"name": "v", "persistentVolumeClaim": {"claimName": "c"}})"),
            "persistentvolumeclaim \"c\" not found");
  EXPECT_EQ(problem(R"({"name": "v", "iscsi": {}})"), "volume \"v\": source iscsi is not run here");
}

TEST_F(PodVolumesTest, WhatIsNotKnownYetIsNoProblem) {
  references.known = false;
  EXPECT_TRUE(std::get<Unresolved>(resolve(R"({"name": "v", "configMap": {"name": "m"}})")).waiting);
}

TEST_F(PodVolumesTest, ProjectionsShareADirectory) {
  references.config_maps["kube-root-ca.crt"] = {{"ca.crt", "PEM"}};
  const FilesVolume volume = files(R"({"name": "v", "projected": {"defaultMode": 420, "sources": [
      {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
      {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
      {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}}]}})");
  EXPECT_THAT(texts(volume), ElementsAre("token 644 token-1", "ca.crt 644 PEM", "namespace 644 ns"));
  EXPECT_TRUE(volume.in_memory);
}

TEST_F(PodVolumesTest, LabelsAreLines) {
  EXPECT_THAT(texts(files(R"({"name": "v", "downwardAPI": {"items": [
                  {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}})",
                          R"({"labels": {"b": "2", "a": "1"}})")),
              ElementsAre("labels 644 a=\"1\"\nb=\"2\""));
}

TEST_F(PodVolumesTest, DirectoriesOfThePodAndOfTheMachine) {
  const auto memory = std::get<EmptyVolume>(
      std::get<VolumeContent>(resolve(R"({"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}})")));
  EXPECT_TRUE(memory.in_memory);
  EXPECT_EQ(memory.size_limit_bytes, 1 << 20);
  const auto host = std::get<HostVolume>(
      std::get<VolumeContent>(resolve(R"({"name": "v", "hostPath": {"path": "/data", "type": "DirectoryOrCreate"}})")));
  EXPECT_EQ(host.path, "/data");
  EXPECT_EQ(host.type, HostPathType::kDirectoryOrCreate);
  references.claims["c"] = {"/volumes/1", ""};
  const auto claimed = std::get<HostVolume>(
      std::get<VolumeContent>(resolve(R"({"name": "v", "persistentVolumeClaim": {"claimName": "c"}})")));
  EXPECT_EQ(claimed.path, "/volumes/1");
}

TEST(VolumeHash, DiffersWithTheContentOnly) {
  const VolumeContent a = FilesVolume{{{"a", "1", 0644}}, false, {}};
  const VolumeContent same = FilesVolume{{{"a", "1", 0644}}, false, {}};
  const VolumeContent other = FilesVolume{{{"a1", "", 0644}}, false, {}};
  const VolumeContent mode = FilesVolume{{{"a", "1", 0600}}, false, {}};
  EXPECT_EQ(hash_of(a), hash_of(same));
  EXPECT_NE(hash_of(a), hash_of(other));
  EXPECT_NE(hash_of(a), hash_of(mode));
}

}  // namespace
}  // namespace gangway::agent
