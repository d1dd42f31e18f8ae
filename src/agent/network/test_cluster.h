// TestCluster: the network of one cluster on the test machine, with pods that have no containers. Whatever the test
// does, nothing of it stays: the destructor takes everything away.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "agent/network/bridge_network.h"
#include "agent/network/bridge_setup.h"
#include "agent/network/service_rules.h"
#include "agent/network/subnet.h"
#include "agent/network/test_machine.h"

namespace gangway::agent {

class TestCluster {
 public:
  explicit TestCluster(TestMachine& machine) : machine_(machine) {
    std::string pattern = std::filesystem::temp_directory_path() / "gangway-net-XXXXXX";
    data_dir_ = ::mkdtemp(pattern.data());
    auto claimed = claim_subnet({.data_dir = data_dir_});
    EXPECT_TRUE(claimed);
    layout_ = *claimed;
    restart();
  }
  ~TestCluster() {
    auto gone = tear_down();
    EXPECT_TRUE(gone) << gone.error().message;
    std::filesystem::remove_all(data_dir_);
  }
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  const NetworkLayout& layout() const { return layout_; }
  const std::string& data_dir() const { return data_dir_; }

  // As if the agent had died; recover() comes next.
  void restart() {
    network_.reset();
    BridgeNetworkOptions options;
    options.layout = layout_;
    options.host_address = "192.0.2.77";
    network_ = std::make_unique<BridgeNetwork>(machine_.loop(), machine_.runner(), options);
  }

  Result<std::map<std::string, PodAddresses>> recover(std::set<std::string> pods = {}) {
    return wait<std::map<std::string, PodAddresses>>([&](auto done) { network_->recover(pods, done); });
  }
  Result<PodAddresses> attach(SandboxSpec spec) {
    return wait<PodAddresses>([&](auto done) { network_->attach(spec, done); });
  }
  PodAddresses attach(const std::string& uid) {
    auto attached = attach(spec_of(uid));
    EXPECT_TRUE(attached) << attached.error().message;
    return attached ? *attached : PodAddresses();
  }
  // All at once; answers with as many addresses as there are pods.
  std::set<std::string> attach_all(const std::vector<std::string>& uids) {
    std::set<std::string> addresses;
    std::size_t answers = 0;
    for (const auto& uid : uids) {
      network_->attach(spec_of(uid), [&](Result<PodAddresses> result) {
        ++answers;
        EXPECT_TRUE(result) << result.error().message;
        if (result) addresses.insert(result->addresses.at(0));
      });
    }
    EXPECT_TRUE(machine_.loop().wait_for([&] { return answers == uids.size(); }, std::chrono::seconds(60)));
    return addresses;
  }
  BridgeNetwork& network() { return *network_; }
  Result<void> detach(const std::string& uid) {
    return wait<void>([&](auto done) { network_->detach(uid, done); });
  }
  Result<void> tear_down() {
    network_.reset();
    auto names = layout_names({.data_dir = data_dir_});
    return wait<void>([&](auto done) { tear_down_network(names, machine_.loop(), machine_.runner(), done); });
  }

  static SandboxSpec spec_of(const std::string& uid) {
    SandboxSpec spec;
    spec.pod = {uid, "team-a", uid, "node-1"};
    spec.hostname = uid;
    return spec;
  }

  // ── services ──
  Services services;
  Slices slices;

  Service& add_service(const std::string& name, const std::string& address, std::uint16_t port,
                       const std::vector<std::string>& backends, std::uint16_t target,
                       Protocol protocol = Protocol::kTcp) {
    auto& service = services[{"team-a", name}];
    service.name = {"team-a", name};
    service.cluster_ip = parse_v4(address);
    service.ports = {{"p", protocol, port, 0}};
    auto& slice = slices[{"team-a", name}];
    slice = {{"team-a", name}, {{"p", protocol, target}}, {}};
    for (const auto& backend : backends) slice.endpoints.push_back({*parse_v4(backend), true, false, ""});
    return service;
  }
  void apply_services() {
    auto applied = machine_.run({"nft", "-f", "-"}, service_rules({layout_, services, slices}));
    ASSERT_EQ(applied.code, 0) << applied.err;
  }

 private:
  template <class T, class Ask>
  Result<T> wait(Ask ask) {
    std::optional<Result<T>> answer;
    ask([&](Result<T> result) { answer = std::move(result); });
    EXPECT_TRUE(machine_.loop().wait_for([&] { return answer.has_value(); }));
    return answer ? std::move(*answer) : Result<T>(internal_error("no answer"));
  }

  TestMachine& machine_;
  std::string data_dir_;
  NetworkLayout layout_;
  std::unique_ptr<BridgeNetwork> network_;
};

}  // namespace gangway::agent
