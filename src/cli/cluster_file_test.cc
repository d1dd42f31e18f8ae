#include "cli/cluster_file.h"

#include <gtest/gtest.h>

namespace gangway::cli {
namespace {

std::string file_with(const std::string& node) {
  return "apiVersion: gangway.dev/v1alpha1\nkind: Cluster\nnodes:\n- {" + node +
         "capacity: {cpu: \"4\", memory: 8Gi}}\n";
}

TEST(ClusterFile, ANodeMayHaveAnyAddressThatIsOne) {
  for (const char* address : {"192.168.0.23", "10.0.0.1", "fd00::23"}) {
    const auto cluster = parse_cluster_file(file_with("name: n0, address: \"" + std::string(address) + "\", "));
    ASSERT_TRUE(cluster) << address;
    EXPECT_EQ(cluster->nodes.front().address, address);
  }
  for (const char* address : {"192.168.0", "gpu-1.example", "192.168.0.23:10250"}) {
    const auto cluster = parse_cluster_file(file_with("name: n0, address: \"" + std::string(address) + "\", "));
    ASSERT_FALSE(cluster) << address;
    ASSERT_EQ(cluster.error().causes.size(), 1U);
    EXPECT_EQ(cluster.error().causes.front().message,
              "must be an IP address, as in 192.168.0.23 (got \"" + std::string(address) + "\")");
  }
}

}  // namespace
}  // namespace gangway::cli
