// Services, names and the borders between clusters, for real. Skipped where the machine lacks something.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <csignal>

#include "agent/network/host_directory.h"
#include "agent/network/name_server.h"
#include "agent/network/netns.h"
#include "agent/network/pid_file_process.h"
#include "agent/network/test_cluster.h"
#include "sys/files.h"

namespace gangway::agent {
namespace {

using Clock = std::chrono::steady_clock;

class NetworkMachineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (auto missing = TestMachine::missing()) GTEST_SKIP() << *missing;
    cluster_ = start();
  }
  std::unique_ptr<TestCluster> start() {
    auto cluster = std::make_unique<TestCluster>(machine_);
    auto recovered = cluster->recover();
    EXPECT_TRUE(recovered) << recovered.error().message;
    return cluster;
  }

  TestMachine machine_;
  std::unique_ptr<TestCluster> cluster_;
};

TEST_F(NetworkMachineTest, ClusterAddressLeadsToTheBackendThatSeesTheCaller) {
  auto client = cluster_->attach("client");
  auto server = cluster_->attach("server");
  cluster_->add_service("web", "10.96.77.1", 80, server.addresses, 8080);
  cluster_->apply_services();
  Listener listener(server.netns_path, 8080);
  EXPECT_EQ(call(client.netns_path, "10.96.77.1", 80), Call::kConnected);
  EXPECT_EQ(listener.caller(), client.addresses[0]);
  EXPECT_EQ(call(server.netns_path, "10.96.77.1", 80), Call::kConnected) << "a pod that calls itself";
  EXPECT_EQ(listener.caller(), cluster_->layout().gateway_text());
  EXPECT_EQ(call("", "10.96.77.1", 80), Call::kConnected) << "from the machine itself";
  EXPECT_EQ(call(client.netns_path, "10.96.77.1", 81), Call::kRefused) << "a port that the service has not";
}

TEST_F(NetworkMachineTest, NodePortsAnswerAtEveryAddressOfTheMachine) {
  auto client = cluster_->attach("client");
  auto server = cluster_->attach("server");
  cluster_->add_service("web", "10.96.77.1", 80, server.addresses, 8080).ports[0].node_port = 30777;
  cluster_->apply_services();
  Listener listener(server.netns_path, 8080);
  const auto gateway = cluster_->layout().gateway_text();
  EXPECT_EQ(call("", "127.0.0.1", 30777), Call::kConnected);
  EXPECT_EQ(call("", gateway, 30777), Call::kConnected);
  EXPECT_EQ(call(client.netns_path, gateway, 30777), Call::kConnected);
  EXPECT_EQ(call(server.netns_path, gateway, 30777), Call::kConnected);
}

TEST_F(NetworkMachineTest, NobodyBehindIsRefusedAtOnce) {
  auto client = cluster_->attach("client");
  cluster_->add_service("web", "10.96.77.1", 80, {}, 8080).ports[0].node_port = 30777;
  cluster_->apply_services();
  const auto begin = Clock::now();
  EXPECT_EQ(call(client.netns_path, "10.96.77.1", 80), Call::kRefused);
  EXPECT_EQ(call("", "10.96.77.1", 80), Call::kRefused);
  EXPECT_EQ(call(client.netns_path, cluster_->layout().gateway_text(), 30777), Call::kRefused);
  EXPECT_EQ(call("", "127.0.0.1", 30777), Call::kRefused);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1));
}

TEST_F(NetworkMachineTest, BackendsShareAndStickyClientsStay) {
  auto client = cluster_->attach("client");
  auto one = cluster_->attach("one");
  auto two = cluster_->attach("two");
  std::vector<std::string> both{one.addresses[0], two.addresses[0]};
  cluster_->add_service("web", "10.96.77.1", 80, both, 8080);
  cluster_->add_service("sticky", "10.96.77.2", 80, both, 8080).sticky = true;
  cluster_->apply_services();
  Listener on_one(one.netns_path, 8080);
  Listener on_two(two.netns_path, 8080);
  auto count = [](Listener& listener) {
    int calls = 0;
    while (!listener.caller().empty()) ++calls;
    return calls;
  };
  // Both are drawn with a chance of one half: 40 calls miss one of them once in 2^39 runs.
  for (int i = 0; i < 40; ++i) ASSERT_EQ(call(client.netns_path, "10.96.77.1", 80), Call::kConnected);
  auto first = count(on_one);
  auto second = count(on_two);
  EXPECT_EQ(first + second, 40);
  EXPECT_GT(first, 0);
  EXPECT_GT(second, 0);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(call(client.netns_path, "10.96.77.2", 80), Call::kConnected);
    if (i == 10) cluster_->apply_services();  // a new table forgets nobody
  }
  first = count(on_one);
  second = count(on_two);
  EXPECT_EQ(first + second, 20);
  EXPECT_TRUE(first == 0 || second == 0) << first << " and " << second;
}

TEST_F(NetworkMachineTest, DatagramsAreTranslatedToo) {
  auto client = cluster_->attach("client");
  auto server = cluster_->attach("server");
  cluster_->add_service("echo", "10.96.77.3", 53, server.addresses, 5353, Protocol::kUdp);
  cluster_->apply_services();
  Listener listener(server.netns_path, 5353, SOCK_DGRAM);
  auto fd = socket_in(client.netns_path, SOCK_DGRAM);
  auto to = socket_address("10.96.77.3", 53);
  // Connected: an answer from any other address would not arrive.
  ASSERT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  ASSERT_EQ(::send(fd.get(), "hello", 5, 0), 5);
  ASSERT_TRUE(listener.echo(2000));
  ASSERT_TRUE(is_ready(fd.get(), POLLIN, 2000));
  char bytes[16];
  EXPECT_EQ(::recv(fd.get(), bytes, sizeof bytes, 0), 5);
}

TEST_F(NetworkMachineTest, ConnectionsOutliveNewRules) {
  auto client = cluster_->attach("client");
  auto server = cluster_->attach("server");
  cluster_->add_service("web", "10.96.77.1", 80, server.addresses, 8080);
  cluster_->apply_services();
  Listener listener(server.netns_path, 8080);
  sys::Descriptor held;
  ASSERT_EQ(call(client.netns_path, "10.96.77.1", 80, 2000, &held), Call::kConnected);
  cluster_->services.clear();
  cluster_->apply_services();
  ASSERT_EQ(::send(held.get(), "x", 1, MSG_NOSIGNAL), 1);
  // The kernel has heard back from the server when nothing of it is under way any more.
  auto acknowledged = [&] {
    int waiting = 1;
    ::ioctl(held.get(), TIOCOUTQ, &waiting);
    return waiting == 0;
  };
  EXPECT_TRUE(machine_.loop().wait_for(acknowledged, std::chrono::seconds(2)));
}

TEST_F(NetworkMachineTest, AThousandServicesAreOneQuickScript) {
  auto pod = cluster_->attach("client");
  for (std::uint32_t i = 0; i < 1000; ++i) {
    auto base = *parse_v4("10.244.8.0") + 3 * i;
    auto& service = cluster_->add_service("s" + std::to_string(i), v4_text(*parse_v4("10.96.100.0") + i), 80,
                                          {v4_text(base), v4_text(base + 1), v4_text(base + 2)}, 8080);
    service.ports[0].node_port = static_cast<std::uint16_t>(30000 + i);
    service.sticky = i % 100 == 0;
  }
  auto begin = Clock::now();
  const auto script = service_rules({cluster_->layout(), cluster_->services, cluster_->slices});
  const auto decided = Clock::now() - begin;
  // In a pod's own namespace: a table of this size need not be in the way of the machine's packets.
  auto command = in_namespace(pod.netns_path, {"nft", "-f", "-"}, script);
  for (const char* what : {"new", "replaced"}) {
    begin = Clock::now();
    auto applied = machine_.run(command.argv, command.input);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
    EXPECT_EQ(applied.code, 0) << applied.err;
    RecordProperty(what, static_cast<int>(took.count()));
    EXPECT_LT(took, std::chrono::seconds(10)) << what;
  }
  RecordProperty("decided", static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(decided).count()));
}

// ── names ──

TEST_F(NetworkMachineTest, NamesFollowChangesWithinASecond) {
  auto pod = cluster_->attach("client");
  const auto server = cluster_->layout().gateway_text();
  HostDirectory names(cluster_->layout());
  auto asked = [&](const std::string& name) { return ask_name(pod.netns_path, server, name); };
  auto becomes = [&](const std::string& name, const DnsAnswer& want) {
    return machine_.loop().wait_for([&] { return asked(name) == want; }, std::chrono::seconds(1));
  };
  ASSERT_TRUE(names.write({{"a.web", "10.96.0.9 web.a.svc.cluster.local\n"}}));
  EXPECT_TRUE(becomes("web.a.svc.cluster.local", {0, {"10.96.0.9"}}));
  ASSERT_TRUE(names.write({{"a.web",
                            "10.244.0.5 x.web.a.svc.cluster.local web.a.svc.cluster.local\n"
                            "10.244.0.6 y.web.a.svc.cluster.local web.a.svc.cluster.local\n"}}));
  EXPECT_TRUE(becomes("web.a.svc.cluster.local", {0, {"10.244.0.5", "10.244.0.6"}}));
  EXPECT_TRUE(becomes("y.web.a.svc.cluster.local", {0, {"10.244.0.6"}}));
  ASSERT_TRUE(names.write({}));
  EXPECT_TRUE(becomes("web.a.svc.cluster.local", {3, {}}));
  const auto begin = Clock::now();
  EXPECT_EQ(asked("nobody.a.svc.cluster.local").code, 3);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1));
}

TEST_F(NetworkMachineTest, EveryFormOfANameResolvesInAPod) {
  auto pod = cluster_->attach("client");  // in namespace team-a
  HostDirectory names(cluster_->layout());
  ASSERT_TRUE(
      names.write({{"team-a.web", "10.96.0.9 web.team-a.svc.cluster.local\n"},
                   {"ml.train", "10.244.0.5 train-0.train.ml.svc.cluster.local train.ml.svc.cluster.local\n"}}));
  const auto file = cluster_->data_dir() + "/resolv.conf";
  ASSERT_TRUE(sys::atomic_write(file, pod.resolv_conf));
  // The C library itself, with the pod's file in place of the machine's.
  auto resolve = [&](const std::string& name) {
    const char* script = "mount --bind \"$1\" /etc/resolv.conf && getent ahostsv4 \"$2\"";
    auto result =
        machine_.run(in_namespace(pod.netns_path, {"unshare", "--mount", "sh", "-c", script, "sh", file, name}).argv);
    return result.out.substr(0, result.out.find(' '));
  };
  for (const char* name : {"web", "web.team-a", "web.team-a.svc", "web.team-a.svc.cluster.local"})
    EXPECT_EQ(resolve(name), "10.96.0.9") << name;
  for (const char* name : {"train.ml", "train.ml.svc", "train-0.train.ml", "train-0.train.ml.svc.cluster.local"})
    EXPECT_EQ(resolve(name), "10.244.0.5") << name;
  EXPECT_EQ(resolve("train"), "") << "another namespace's";
}

TEST_F(NetworkMachineTest, TheNameServerOutlivesTheAgentAndIsReplacedWhenItEnds) {
  auto pod = cluster_->attach("client");
  const auto& layout = cluster_->layout();
  auto pid = [&] {
    auto process = find_process(layout.dns_pid_file(), name_server_mark(layout));
    return process ? process->pid : 0;
  };
  const auto first = pid();
  ASSERT_NE(first, 0);
  cluster_->restart();
  ASSERT_TRUE(cluster_->recover({"client"}));
  EXPECT_EQ(pid(), first) << "a restarted agent keeps it";

  find_process(layout.dns_pid_file(), name_server_mark(layout))->signal(SIGKILL);
  // The pause before a restart is in the loop's own time.
  EXPECT_TRUE(machine_.loop().wait_for([&] {
    machine_.loop().advance(std::chrono::milliseconds(10));
    const auto now = pid();
    return now != 0 && now != first;
  }));
  EXPECT_EQ(ask_name(pod.netns_path, layout.gateway_text(), "nobody.cluster.local").code, 3);
}

// ── borders ──

TEST_F(NetworkMachineTest, TwoClustersDoNotMeet) {
  auto other_cluster = start();
  auto& other = *other_cluster;
  EXPECT_FALSE(cluster_->layout().subnet.overlaps(other.layout().subnet));
  auto here = cluster_->attach("pod");
  auto there = other.attach("pod");
  Listener on_here(here.netns_path, 8080);
  Listener on_there(there.netns_path, 8080);
  EXPECT_EQ(call(here.netns_path, there.addresses[0], 8080, 300), Call::kNoAnswer);
  EXPECT_EQ(call(there.netns_path, here.addresses[0], 8080, 300), Call::kNoAnswer);
  EXPECT_EQ(ask_name(here.netns_path, cluster_->layout().gateway_text(), "x.cluster.local").code, 3);

  // The same address and node port in both: everybody reaches his own.
  cluster_->add_service("web", "10.96.77.1", 80, here.addresses, 8080).ports[0].node_port = 30777;
  other.add_service("web", "10.96.77.1", 80, there.addresses, 8080).ports[0].node_port = 30777;
  cluster_->apply_services();
  other.apply_services();
  struct Case {
    TestCluster& cluster;
    const PodAddresses& from;
    Listener& mine;
    Listener& not_mine;
  };
  for (const auto& [cluster, from, mine, not_mine] :
       {Case{*cluster_, here, on_here, on_there}, Case{other, there, on_there, on_here}}) {
    EXPECT_EQ(call(from.netns_path, "10.96.77.1", 80), Call::kConnected);
    EXPECT_NE(mine.caller(), "");
    EXPECT_EQ(call(from.netns_path, cluster.layout().gateway_text(), 30777), Call::kConnected);
    EXPECT_NE(mine.caller(), "");
    EXPECT_EQ(call("", cluster.layout().gateway_text(), 30777), Call::kConnected);
    EXPECT_NE(mine.caller(), "");
    EXPECT_EQ(not_mine.caller(), "");
  }
  // Nor does one reach the other's gateway, where its API and its names are.
  Listener api("", 0);
  EXPECT_EQ(call(here.netns_path, cluster_->layout().gateway_text(), api.port()), Call::kConnected);
  EXPECT_EQ(call(here.netns_path, other.layout().gateway_text(), api.port(), 300), Call::kNoAnswer);
}

TEST_F(NetworkMachineTest, APodSpeaksOnlyWithItsOwnAddress) {
  auto pod = cluster_->attach("pod");
  auto victim = cluster_->attach("victim");
  Listener listener(victim.netns_path, 5353, SOCK_DGRAM);
  const auto to = socket_address(victim.addresses[0], 5353);
  auto send_from = [&](const std::string& address) {
    auto fd = socket_in(pod.netns_path, SOCK_DGRAM);
    const auto from = socket_address(address, 0);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from), 0) << std::strerror(errno);
    EXPECT_EQ(::sendto(fd.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to), 1);
  };
  send_from(pod.addresses[0]);
  EXPECT_TRUE(listener.echo(2000));
  machine_.run(in_namespace(pod.netns_path, {"ip", "addr", "add", "198.18.78.9/32", "dev", "lo"}).argv);
  send_from("198.18.78.9");
  EXPECT_FALSE(listener.echo(300));
}

TEST_F(NetworkMachineTest, TearDownLeavesNothing) {
  // What else the machine has may come and go meanwhile (other tests): only what is named with our id counts.
  const auto id = cluster_->layout().id;
  auto seen = [&] {
    std::string all;
    for (std::vector<std::string> argv : {std::vector<std::string>{"ip", "-o", "link"},
                                          {"ip", "-o", "addr"},
                                          {"ip", "route", "show", "table", "all"},
                                          {"nft", "list", "ruleset"},
                                          {"cat", "/proc/self/mountinfo"},
                                          {"ls", "/run/netns", "/run/gangway"},
                                          {"sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"}})
      all += machine_.run(argv).out;
    return all.find(id) != std::string::npos;
  };
  auto cables = [&] { return machine_.run({"ip", "-o", "link", "show", "type", "veth"}).out; };
  auto pod = cluster_->attach("pod");
  cluster_->add_service("web", "10.96.77.1", 80, pod.addresses, 8080);
  cluster_->apply_services();
  EXPECT_TRUE(seen());
  std::vector<std::string> ours;
  for (const auto& port : std::filesystem::directory_iterator("/sys/class/net/" + id + "/brif"))
    ours.push_back(port.path().filename());
  ASSERT_EQ(ours.size(), 1U);
  {
    // Even while somebody is still inside of the namespace.
    auto inside = socket_in(pod.netns_path, SOCK_STREAM);
    auto gone = cluster_->tear_down();
    EXPECT_TRUE(gone) << gone.error().message;
  }
  EXPECT_FALSE(seen());
  EXPECT_EQ(cables().find(ours[0]), std::string::npos);
  auto again = cluster_->tear_down();
  EXPECT_TRUE(again) << again.error().message;
}

}  // namespace
}  // namespace gangway::agent
