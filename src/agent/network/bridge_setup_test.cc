#include "agent/network/bridge_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/network/machine_facts.h"
#include "agent/network/name_server.h"
#include "agent/network/test_machine.h"

namespace gangway::agent {
namespace {

using ::testing::Contains;
using ::testing::Pair;

TEST(BridgeSetup, GivesTheBridgeAnAddressThatStays) {
  // 0x6777 is 26487; the hardware address ends in the digits of the id.
  EXPECT_EQ(bridge_batch(a_layout(), false),
            "link add name gw12345678 address 02:67:12:34:56:78 type bridge\n"
            "addr replace 10.244.4.1/22 dev gw12345678\n"
            "link set dev gw12345678 group 26487 up\n");
  EXPECT_EQ(bridge_batch(a_layout(), true),
            "addr replace 10.244.4.1/22 dev gw12345678\nlink set dev gw12345678 group 26487 up\n");
  EXPECT_THAT(bridge_settings(a_layout()), Contains(Pair("/proc/sys/net/ipv4/ip_forward", "1")));
}

TEST(BridgeSetup, TheNameServerServesTheGatewayOnly) {
  auto arguments = name_server_arguments(a_layout(), "/etc/resolv.conf");
  EXPECT_EQ(arguments.front(), "dnsmasq");
  EXPECT_THAT(arguments, Contains("--listen-address=10.244.4.1"));
  EXPECT_THAT(arguments, Contains("--bind-interfaces"));
  EXPECT_THAT(arguments, Contains("--local=/cluster.local/"));
  EXPECT_THAT(arguments, Contains("--hostsdir=/run/gangway/gw12345678/hosts"));
  EXPECT_THAT(arguments, Contains(name_server_mark(a_layout())));
}

TEST(MachineFacts, TheDefaultRouteNamesItsInterface) {
  EXPECT_EQ(default_interface("Iface\tDestination\tGateway\n"
                              "eth1\t000200C0\t00000000\t0001\n"
                              "eth0\t00000000\t010200C0\t0003\n"),
            "eth0");
  EXPECT_EQ(default_interface("Iface\tDestination\tGateway\neth1\t000200C0\t00000000\t0001\n"), "");
  EXPECT_EQ(default_interface(""), "");
}

}  // namespace
}  // namespace gangway::agent
