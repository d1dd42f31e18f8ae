#include "agent/network/cni.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/network/test_machine.h"
#include "json/value.h"

namespace gangway::agent {
namespace {

using ::testing::Contains;

TEST(Cni, ConfigurationLeavesTheBridgeToUs) {
  auto config = json::parse(cni_config(a_layout(), 1400));
  ASSERT_TRUE(config);
  auto want = json::parse(R"({
      "cniVersion": "0.4.0", "name": "gw12345678", "type": "bridge", "bridge": "gw12345678", "isGateway": false,
      "ipMasq": false, "hairpinMode": true, "mtu": 1400,
      "ipam": {"type": "host-local", "dataDir": "/run/gangway/gw12345678/ipam",
               "ranges": [[{"subnet": "10.244.4.0/22", "gateway": "10.244.4.1"}]],
               "routes": [{"dst": "0.0.0.0/0"}]}})");
  EXPECT_TRUE(json::equal(*config, *want)) << json::serialize(*config);
  EXPECT_EQ(json::find(*json::parse(cni_config(a_layout(), 0)), {"mtu"}), nullptr);
}

TEST(Cni, CommandNamesPodAndNamespace) {
  auto command = cni_command(a_layout(), 0, "/usr/lib/cni", CniVerb::kAdd, "uid-1", "/run/netns/gw12345678-uid-1");
  EXPECT_EQ(command.argv, std::vector<std::string>{"/usr/lib/cni/bridge"});
  ASSERT_TRUE(command.environment);
  EXPECT_THAT(*command.environment, Contains("CNI_COMMAND=ADD"));
  EXPECT_THAT(*command.environment, Contains("CNI_CONTAINERID=uid-1"));
  EXPECT_THAT(*command.environment, Contains("CNI_NETNS=/run/netns/gw12345678-uid-1"));
  EXPECT_THAT(*command.environment, Contains("CNI_IFNAME=eth0"));
  EXPECT_THAT(*command.environment, Contains("CNI_PATH=/usr/lib/cni"));
}

TEST(Cni, ReadsAddressesAndFailures) {
  auto addresses = cni_addresses(R"({"cniVersion": "0.4.0", "ips": [{"version": "4", "address": "10.244.4.7/22"},
                                                                   {"version": "6", "address": "fd00::7/64"}]})");
  ASSERT_TRUE(addresses);
  EXPECT_EQ(*addresses, std::vector<std::string>{"10.244.4.7"});
  EXPECT_FALSE(cni_addresses(R"({"ips": []})"));
  EXPECT_FALSE(cni_addresses("not JSON"));
  sys::CommandResult failed{.code = 1, .out = R"({"code": 999, "msg": "no IP addresses available"})", .err = ""};
  EXPECT_EQ(cni_failure(failed), "the bridge plugin failed: no IP addresses available");
  failed.out = "";
  failed.err = "panic";
  EXPECT_EQ(cni_failure(failed), "the bridge plugin failed with code 1: panic");
}

TEST(Cni, PodsReachEachOtherThroughTheGateway) {
  EXPECT_EQ(pod_interface_batch(a_layout()),
            "route replace 10.244.4.1/32 dev eth0 scope link\n"
            "route replace 10.244.4.0/22 via 10.244.4.1 dev eth0\n");
}

}  // namespace
}  // namespace gangway::agent
