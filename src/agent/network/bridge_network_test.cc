// The network for real: namespaces, bridge, addresses, rules. Skipped where the machine lacks something.
#include "agent/network/bridge_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "agent/network/netns.h"
#include "agent/network/pid_file_process.h"
#include "agent/network/test_cluster.h"
#include "sys/files.h"

namespace gangway::agent {
namespace {

using ::testing::HasSubstr;

class BridgeNetworkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (auto missing = TestMachine::missing()) GTEST_SKIP() << *missing;
    cluster_ = std::make_unique<TestCluster>(machine_);
    auto recovered = cluster_->recover();
    ASSERT_TRUE(recovered) << recovered.error().message;
    EXPECT_TRUE(recovered->empty());
  }

  TestMachine machine_;
  std::unique_ptr<TestCluster> cluster_;
};

TEST_F(BridgeNetworkTest, PodsHaveAddressesAndReachEachOther) {
  auto a = cluster_->attach("pod-a");
  auto b = cluster_->attach("pod-b");
  ASSERT_EQ(a.addresses.size(), 1U);
  EXPECT_NE(a.addresses, b.addresses);
  EXPECT_TRUE(cluster_->layout().subnet.contains(*parse_v4(a.addresses[0])));
  EXPECT_TRUE(is_namespace(a.netns_path));

  // The same port in both: they do not meet on it.
  Listener on_a(a.netns_path, 23456);
  Listener on_b(b.netns_path, 23456);
  EXPECT_EQ(call(a.netns_path, b.addresses[0], 23456), Call::kConnected);
  EXPECT_EQ(on_b.caller(), a.addresses[0]);
  EXPECT_EQ(on_a.caller(), "");
  EXPECT_EQ(call(b.netns_path, a.addresses[0], 23456), Call::kConnected);
  EXPECT_EQ(call(a.netns_path, "127.0.0.1", 23456), Call::kConnected) << "the loopback is not up";
  EXPECT_EQ(call("", b.addresses[0], 23456), Call::kConnected) << "the machine does not reach the pod";
  EXPECT_EQ(call(a.netns_path, b.addresses[0], 23457), Call::kRefused);
}

TEST_F(BridgeNetworkTest, GivesFilesThatNamePodAndResolver) {
  auto pod = cluster_->attach("pod-a");
  EXPECT_THAT(pod.resolv_conf, HasSubstr("nameserver " + cluster_->layout().gateway_text() + "\n"));
  EXPECT_THAT(pod.resolv_conf, HasSubstr("search team-a.svc.cluster.local svc.cluster.local cluster.local"));
  EXPECT_THAT(pod.hosts, HasSubstr(pod.addresses[0] + "\tpod-a\n"));
}

TEST_F(BridgeNetworkTest, AttachAndDetachAreIdempotent) {
  auto first = cluster_->attach("pod-a");
  auto again = cluster_->attach("pod-a");
  EXPECT_EQ(first.addresses, again.addresses);
  EXPECT_TRUE(cluster_->detach("pod-a"));
  EXPECT_FALSE(std::filesystem::exists(first.netns_path));
  EXPECT_TRUE(cluster_->detach("pod-a"));
  EXPECT_TRUE(cluster_->detach("never-was"));
}

TEST_F(BridgeNetworkTest, AddressesAreGivenBack) {
  // More pods, one after the other, than a leak of one address each would leave room for in host-local's records.
  for (int i = 0; i < 3; ++i) {
    cluster_->attach("pod-a");
    ASSERT_TRUE(cluster_->detach("pod-a"));
  }
  std::vector<std::string> left;
  for (const auto& entry :
       std::filesystem::directory_iterator(cluster_->layout().ipam_dir() + "/" + cluster_->layout().id)) {
    if (parse_v4(entry.path().filename().string())) left.push_back(entry.path().filename());
  }
  EXPECT_TRUE(left.empty()) << left.front();
}

TEST_F(BridgeNetworkTest, ManyPodsAtOnceGetDifferentAddresses) {
  std::vector<std::string> uids;
  for (int i = 0; i < 20; ++i) uids.push_back("pod-" + std::to_string(i));
  EXPECT_EQ(cluster_->attach_all(uids).size(), 20U);
}

TEST_F(BridgeNetworkTest, WhatIsAskedForOnePodIsDoneInOrder) {
  std::vector<std::string> answers;
  auto note = [&](const std::string& what) {
    return [&answers, what](const auto& result) { answers.push_back(what + (result ? "" : " failed")); };
  };
  auto& network = cluster_->network();
  network.attach(TestCluster::spec_of("pod-a"), note("attach"));
  network.detach("pod-a", note("detach"));
  network.attach(TestCluster::spec_of("pod-a"), note("again"));
  network.attach(TestCluster::spec_of("pod-a"), note("and again"));
  EXPECT_TRUE(answers.empty()) << "answered inside the call";
  ASSERT_TRUE(machine_.loop().wait_for([&] { return answers.size() == 4; }));
  EXPECT_EQ(answers, (std::vector<std::string>{"attach", "detach", "again", "and again"}));
  EXPECT_TRUE(is_namespace(cluster_->layout().netns_path("pod-a")));
}

TEST_F(BridgeNetworkTest, HostNetworkIsTheMachines) {
  auto spec = TestCluster::spec_of("pod-h");
  spec.host_network = true;
  auto pod = cluster_->attach(spec);
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->addresses, std::vector<std::string>{"192.0.2.77"});
  EXPECT_EQ(pod->netns_path, "");
  cluster_->restart();
  auto recovered = cluster_->recover({"pod-h"});
  ASSERT_TRUE(recovered) << recovered.error().message;
  EXPECT_EQ(recovered->count("pod-h"), 1U);
  EXPECT_TRUE(cluster_->detach("pod-h"));
}

TEST_F(BridgeNetworkTest, RefusesWhatIsNoUid) {
  for (const char* bad : {"", "../../etc/passwd", "a/b", "a b"})
    EXPECT_FALSE(cluster_->attach(TestCluster::spec_of(bad))) << bad;
}

TEST_F(BridgeNetworkTest, PortsOfTheMachineLeadToPods) {
  auto spec = TestCluster::spec_of("pod-p");
  spec.ports = {{18080, 8080, "TCP", ""}, {18081, 8081, "TCP", "127.0.0.1"}};
  auto pod = cluster_->attach(spec);
  ASSERT_TRUE(pod) << pod.error().message;
  Listener server(pod->netns_path, 8080);
  Listener local(pod->netns_path, 8081);
  EXPECT_EQ(call("", "127.0.0.1", 18080), Call::kConnected);
  EXPECT_EQ(server.caller(), cluster_->layout().gateway_text());
  EXPECT_EQ(call("", cluster_->layout().gateway_text(), 18080), Call::kConnected);
  EXPECT_EQ(call("", "127.0.0.1", 18081), Call::kConnected);
  EXPECT_EQ(call("", cluster_->layout().gateway_text(), 18081), Call::kRefused) << "asked for at 127.0.0.1 only";
  auto other = cluster_->attach("pod-o");
  EXPECT_EQ(call(other.netns_path, cluster_->layout().gateway_text(), 18080), Call::kConnected);
  EXPECT_EQ(call(pod->netns_path, cluster_->layout().gateway_text(), 18080), Call::kConnected) << "the pod itself";

  cluster_->restart();
  ASSERT_TRUE(cluster_->recover({"pod-p", "pod-o"}));
  EXPECT_EQ(call("", "127.0.0.1", 18080), Call::kConnected) << "forgotten by a restart";
  ASSERT_TRUE(cluster_->detach("pod-p"));
  EXPECT_EQ(call("", "127.0.0.1", 18080), Call::kRefused);
}

TEST_F(BridgeNetworkTest, ARestartedAgentFindsItsPodsAndTakesAwayOthers) {
  auto kept = cluster_->attach("kept");
  auto gone = cluster_->attach("gone");
  // Died half-way through: a namespace and an address without a record.
  auto half = cluster_->attach("half");
  ASSERT_EQ(::unlink(cluster_->layout().pod_record("half").c_str()), 0);
  Listener server(kept.netns_path, 80);

  cluster_->restart();
  auto found = cluster_->recover({"kept", "never-was", "half"});
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->at("kept").addresses, kept.addresses);
  EXPECT_EQ(found->at("kept").resolv_conf, kept.resolv_conf);
  EXPECT_EQ(found->at("kept").hosts, kept.hosts);
  EXPECT_EQ(call("", kept.addresses[0], 80), Call::kConnected);
  EXPECT_FALSE(std::filesystem::exists(gone.netns_path));
  EXPECT_FALSE(std::filesystem::exists(half.netns_path));
  for (const auto& address : {gone.addresses[0], half.addresses[0]})
    EXPECT_FALSE(std::filesystem::exists(cluster_->layout().ipam_dir() + "/" + cluster_->layout().id + "/" + address));
}

TEST_F(BridgeNetworkTest, ALostBridgeIsMadeAgain) {
  cluster_->attach("pod-a");
  ASSERT_EQ(machine_.run({"ip", "link", "del", cluster_->layout().bridge()}).code, 0);
  cluster_->restart();
  auto found = cluster_->recover({"pod-a"});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->empty()) << "a pod without a cable";
  auto pod = cluster_->attach("pod-a");
  Listener server(pod.netns_path, 80);
  EXPECT_EQ(call("", pod.addresses[0], 80), Call::kConnected);
}

TEST_F(BridgeNetworkTest, WhatLeavesTheMachineHasItsAddress) {
  auto pod = cluster_->attach("pod-a");
  // A host outside: a namespace at the other end of a cable of the machine's own.
  const std::string outside = cluster_->layout().netns_path("outside");
  ASSERT_TRUE(make_namespace_file(outside));
  ASSERT_EQ(machine_.run(make_namespace_command(outside).argv).code, 0);
  const auto cable = "t" + cluster_->layout().id;
  ASSERT_EQ(machine_.run({"ip", "link", "add", cable, "type", "veth", "peer", "name", "up0", "netns", outside}).code,
            0);
  ASSERT_EQ(machine_.run({"ip", "addr", "add", "198.18.77.1/30", "dev", cable}).code, 0);
  ASSERT_EQ(machine_.run({"ip", "link", "set", cable, "up"}).code, 0);
  auto inside = [&](std::vector<std::string> argv) {
    return machine_.run(in_namespace(outside, std::move(argv)).argv).code;
  };
  ASSERT_EQ(inside({"ip", "addr", "add", "198.18.77.2/30", "dev", "up0"}), 0);
  ASSERT_EQ(inside({"ip", "link", "set", "up0", "up"}), 0);
  ASSERT_EQ(inside({"ip", "route", "add", "default", "via", "198.18.77.1"}), 0);

  Listener server(outside, 80);
  EXPECT_EQ(call(pod.netns_path, "198.18.77.2", 80), Call::kConnected);
  EXPECT_EQ(server.caller(), "198.18.77.1");

  // And from there to a node port: the caller is seen as he is.
  auto& service = cluster_->add_service("web", "10.96.77.1", 80, pod.addresses, 8080);
  service.ports[0].node_port = 30777;
  cluster_->apply_services();
  Listener in_pod(pod.netns_path, 8080);
  EXPECT_EQ(call(outside, "198.18.77.1", 30777), Call::kConnected);
  EXPECT_EQ(in_pod.caller(), "198.18.77.2");
  // The gateway, where the API and the names are, is not for the outside.
  Listener api("", 0);
  EXPECT_EQ(call(pod.netns_path, cluster_->layout().gateway_text(), api.port()), Call::kConnected);
  EXPECT_EQ(call(outside, cluster_->layout().gateway_text(), api.port(), 300), Call::kNoAnswer);
}

}  // namespace
}  // namespace gangway::agent
