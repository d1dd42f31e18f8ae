#include "agent/network/pod_files.h"

#include <gtest/gtest.h>

namespace gangway::agent {
namespace {

const ResolverConfig kMachine{{"127.0.0.53", "192.0.2.53"}, {"corp.example"}, {{"edns0", ""}}};
const std::string kResolver = "10.244.4.1";

SandboxSpec a_pod() {
  SandboxSpec spec;
  spec.pod = {"uid-1", "team-a", "web-0", "node-1"};
  spec.hostname = "web-0";
  return spec;
}

TEST(ResolvConf, AsksTheClusterFirst) {
  EXPECT_EQ(resolv_conf(a_pod(), kMachine, kResolver),
            "nameserver 10.244.4.1\n"
            "search team-a.svc.cluster.local svc.cluster.local cluster.local corp.example\n"
            "options ndots:5\n");
}

TEST(ResolvConf, AddsWhatThePodAsksFor) {
  auto spec = a_pod();
  spec.dns.nameservers = {"198.51.100.1", "10.244.4.1", "198.51.100.2", "198.51.100.3"};
  spec.dns.searches = {"extra.example", "cluster.local"};
  spec.dns.options = {{"ndots", "2"}, {"use-vc", ""}};
  EXPECT_EQ(resolv_conf(spec, kMachine, kResolver),
            "nameserver 10.244.4.1\nnameserver 198.51.100.1\nnameserver 198.51.100.2\n"
            "search team-a.svc.cluster.local svc.cluster.local cluster.local corp.example extra.example\n"
            "options ndots:2 use-vc\n");
}

TEST(ResolvConf, TakesTheMachinesButNotItsLoopback) {
  auto spec = a_pod();
  spec.dns.cluster = false;
  EXPECT_EQ(resolv_conf(spec, kMachine, kResolver),
            "nameserver 10.244.4.1\nnameserver 192.0.2.53\nsearch corp.example\noptions edns0\n");
  spec.host_network = true;
  EXPECT_EQ(resolv_conf(spec, kMachine, kResolver),
            "nameserver 127.0.0.53\nnameserver 192.0.2.53\nsearch corp.example\noptions edns0\n");
}

TEST(ResolvConf, IsOnlyWhatThePodSays) {
  auto spec = a_pod();
  spec.dns.cluster = false;
  spec.dns.nameservers = {"198.51.100.1"};
  EXPECT_EQ(resolv_conf(spec, kMachine, kResolver),
            "nameserver 10.244.4.1\nnameserver 192.0.2.53\nnameserver 198.51.100.1\nsearch corp.example\n"
            "options edns0\n");
  spec.dns.machine = false;
  spec.dns.searches = {"only.example"};
  EXPECT_EQ(resolv_conf(spec, kMachine, kResolver), "nameserver 198.51.100.1\nsearch only.example\n");
}

TEST(ResolvConf, IsRead) {
  auto config = parse_resolv_conf(
      "# made by hand\ndomain old.example\nsearch a.example b.example\n\nnameserver "
      "192.0.2.1\r\nnameserver\t192.0.2.2\n"
      "options ndots:2 rotate\noptions timeout:1\nsortlist 1.2.3.4\nnameserver");
  EXPECT_EQ(config.nameservers, (std::vector<std::string>{"192.0.2.1", "192.0.2.2"}));
  EXPECT_EQ(config.searches, (std::vector<std::string>{"a.example", "b.example"}));
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(config.options, (Pairs{{"ndots", "2"}, {"rotate", ""}, {"timeout", "1"}}));
}

TEST(HostsFile, NamesThePodAndItsAliases) {
  auto spec = a_pod();
  spec.host_aliases = {{"198.51.100.9", {"db", "db.example"}}};
  auto file = hosts_file(spec, {"10.244.4.7"}, "192.0.2.2 machine\n");
  EXPECT_NE(file.find("127.0.0.1\tlocalhost\n"), std::string::npos);
  EXPECT_NE(file.find("\n10.244.4.7\tweb-0\n"), std::string::npos) << file;
  EXPECT_TRUE(file.ends_with("198.51.100.9\tdb\tdb.example\n")) << file;
  EXPECT_EQ(file.find("machine"), std::string::npos);

  spec.domain = "web.team-a.svc.cluster.local";
  file = hosts_file(spec, {"10.244.4.7"}, "");
  EXPECT_NE(file.find("\n10.244.4.7\tweb-0.web.team-a.svc.cluster.local\tweb-0\n"), std::string::npos) << file;
}

TEST(HostsFile, IsTheMachinesWithItsNetwork) {
  auto spec = a_pod();
  spec.host_network = true;
  spec.host_aliases = {{"198.51.100.9", {"db"}}};
  EXPECT_EQ(hosts_file(spec, {"192.0.2.2"}, "127.0.0.1 localhost"),
            "# Written by Gangway.\n127.0.0.1 localhost\n198.51.100.9\tdb\n");
}

}  // namespace
}  // namespace gangway::agent
