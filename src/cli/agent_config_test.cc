#include "cli/agent_config.h"

#include <gtest/gtest.h>

namespace gangway::cli {
namespace {

TEST(AgentConfig, IsReadAsItWasWritten) {
  AgentConfig config;
  config.data_dir = "/data";
  config.runtime = "simulated";
  config.beside_server = false;
  config.client_authority_pem = "PEM";
  config.log_level = "debug";
  AgentConfig::Node node;
  node.spec.name = "n0";
  node.spec.address = "192.168.0.1";
  node.spec.roles = {"worker"};
  node.spec.capacity = {{"cpu", *Quantity::parse("1500m")}, {"memory", *Quantity::parse("16Gi")}};
  node.spec.reserved = {{"cpu", *Quantity::parse("100m")}};
  node.spec.labels = {{"zone", "a"}};
  node.spec.taints = {{"k", "v", "NoSchedule"}};
  node.spec.image_policy = "pull";
  node.login = {"https://127.0.0.1:6443", "CA", {"CERT", "KEY"}, "TOKEN"};
  node.listen = "127.0.0.1";
  config.nodes.push_back(node);

  const auto read = read_agent_config(write_agent_config(config));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(write_agent_config(*read), write_agent_config(config));
  ASSERT_EQ(read->nodes.size(), 1U);
  EXPECT_EQ(read->nodes.front().listen, "127.0.0.1");
  EXPECT_EQ(read->data_dir, "/data");
  EXPECT_FALSE(read->beside_server);
  EXPECT_EQ(read->nodes.front().spec.capacity.at("cpu").milli_value(), 1500);
  EXPECT_EQ(read->nodes.front().spec.taints.front().effect, "NoSchedule");
  EXPECT_EQ(read->nodes.front().login.identity.key_pem, "KEY");
}

TEST(AgentConfig, NonsenseIsRefused) {
  EXPECT_FALSE(read_agent_config("").has_value());
  EXPECT_FALSE(read_agent_config("{}").has_value());
  EXPECT_FALSE(read_agent_config(R"({"dataDir": "/d", "nodes": [{}]})").has_value());
}

}  // namespace
}  // namespace gangway::cli
