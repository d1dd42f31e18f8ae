#include "client/kubeconfig.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

namespace gangway::client {
namespace {

Kubeconfig a_config() {
  Kubeconfig config;
  config.clusters = {{"gangway", "https://127.0.0.1:6443", "CA\nPEM\n", "", false}};
  config.users = {{"admin", "CERT\n", "KEY\n", ""}, {"robot", "", "", "t0ken: \"x\""}};
  config.contexts = {{"gangway", "gangway", "admin", ""}, {"robot", "gangway", "robot", "team"}};
  config.current_context = "gangway";
  return config;
}

TEST(KubeconfigTest, WhatIsWrittenIsReadBack) {
  const auto read = parse_kubeconfig(write_kubeconfig(a_config()));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->current_context, "gangway");
  ASSERT_EQ(read->clusters.size(), 1u);
  EXPECT_EQ(read->clusters[0].server, "https://127.0.0.1:6443");
  EXPECT_EQ(read->clusters[0].ca_data, "CA\nPEM\n");
  ASSERT_EQ(read->users.size(), 2u);
  EXPECT_EQ(read->users[0].key_data, "KEY\n");
  EXPECT_EQ(read->users[1].token, "t0ken: \"x\"");
}

TEST(KubeconfigTest, AContextLeadsToItsClusterAndUser) {
  const auto current = login_for(a_config());
  ASSERT_TRUE(current.has_value());
  EXPECT_EQ(current->user.name, "admin");
  EXPECT_EQ(current->ns, "default");
  const auto robot = login_for(a_config(), "robot");
  ASSERT_TRUE(robot.has_value());
  EXPECT_EQ(robot->user.token, "t0ken: \"x\"");
  EXPECT_EQ(robot->ns, "team");
}

TEST(KubeconfigTest, MistakesAreNamed) {
  struct Case {
    const char* yaml;
    const char* want;
  };
  const Case cases[] = {
      {"- a", "a kubeconfig must be a map with clusters, users and contexts"},
      {"clusters: 3", "clusters: must be a list"},
      {"clusters:\n- cluster: {}", "clusters[0].name: is required"},
      {"users:\n- name: a", "users[0].user: must be a map"},
      {"clusters:\n- name: a\n  cluster: {certificate-authority-data: '%%'}",
       "clusters[0]: certificate-authority-data: must be base64"},
  };
  for (const Case& c : cases) {
    const auto read = parse_kubeconfig(c.yaml);
    ASSERT_FALSE(read.has_value()) << c.yaml;
    EXPECT_EQ(read.error().message, c.want);
  }
  EXPECT_NE(parse_kubeconfig("a: [").error().message.find("line"), std::string::npos);
  EXPECT_EQ(login_for(a_config(), "nobody").error().message,
            "context \"nobody\" does not exist; the contexts are: gangway, robot");
}

TEST(KubeconfigTest, FilesArePrivateAndMayNameOthersBesideThem) {
  std::string directory = (std::filesystem::temp_directory_path() / "kubeconfig-XXXXXX").string();
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/config";
  ASSERT_TRUE(write_kubeconfig_file(path, a_config()).has_value());
  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_TRUE(read_kubeconfig_file(path).has_value());

  const auto beside = parse_kubeconfig("users:\n- name: a\n  user: {client-key: config}", directory);
  ASSERT_TRUE(beside.has_value()) << beside.error().message;
  EXPECT_EQ(beside->users[0].key_data, write_kubeconfig(a_config()));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace gangway::client
