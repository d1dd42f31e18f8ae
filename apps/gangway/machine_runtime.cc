#include "machine_runtime.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <future>

#include "agent/network/bridge_network.h"
#include "agent/network/bridge_setup.h"
#include "agent/network/network_sync.h"
#include "agent/network/subnet.h"
#include "agent/oci/oci_runtime.h"
#include "agent/oci/recovery.h"
#include "agent/oci/support.h"
#include "agent/simulated/adoption.h"
#include "base/address.h"
#include "cli/data_dir.h"
#include "client/mirror.h"
#include "net/asio_loop.h"
#include "net/http_transport.h"
#include "sys/command.h"
#include "sys/log.h"

namespace gangway {
namespace {

namespace oci = agent::oci;

constexpr const char* kLoopback = "127.0.0.1";

class SimulatedMachine final : public MachineRuntime {
 public:
  SimulatedMachine(sys::EventLoop& loop, const cli::AgentConfig& config) : runtime_(loop, addresses_of(config)) {}

  agent::Runtime& runtime() override { return runtime_; }
  agent::Records& records() override { return records_; }
  void adopt(const agent::PodSpec& spec, const agent::PodRecord& record) override {
    agent::adopt_from_record(runtime_, spec, record);
  }

 private:
  static std::map<std::string, std::string> addresses_of(const cli::AgentConfig& config) {
    std::map<std::string, std::string> addresses;
    for (const auto& node : config.nodes) addresses[node.spec.name] = node.spec.address;
    return addresses;
  }

  agent::SimulatedRuntime runtime_;
  agent::NoRecords records_;
};

oci::ImagePolicy policy_of(const std::string& text) {
  return text == "pull" ? oci::ImagePolicy::kPull : oci::ImagePolicy::kHost;
}

oci::OciOptions oci_options(const cli::AgentConfig& config) {
  oci::OciOptions options;
  options.data_dir = config.data_dir;
  // Several nodes on one machine share its devices in name only: each counts those that it was told to have.
  options.real_gpus = config.nodes.size() == 1;
  for (const auto& node : config.nodes) options.node_policies[node.spec.name] = policy_of(node.spec.image_policy);
  return options;
}

// Where pods reach an API server that is not on this machine.
std::optional<agent::Backend> remote_server(const cli::AgentConfig& config) {
  if (config.beside_server) return std::nullopt;
  const auto endpoint = net::parse_endpoint(config.nodes.front().login.server);
  if (!endpoint) return std::nullopt;
  const auto address = parse_v4(endpoint->host);
  if (!address) return std::nullopt;
  return agent::Backend{*address, endpoint->port};
}

class OciMachine final : public MachineRuntime {
 public:
  OciMachine(sys::EventLoop& loop, const cli::AgentConfig& config, client::ApiClient& api, agent::NetworkLayout layout,
             oci::Support support)
      : runner_(loop),
        network_(loop, runner_, {.layout = layout, .host_address = config.nodes.front().listen}),
        mirror_(api, loop),
        sync_(loop, runner_, mirror_, {.layout = std::move(layout), .api_server = remote_server(config)}),
        runtime_(loop, network_, oci_options(config), std::move(support)),
        records_(cli::DataDir(config.data_dir).agent_records()) {}

  agent::Runtime& runtime() override { return runtime_; }
  agent::Records& records() override { return records_; }
  void start() override { sync_.start(); }

 private:
  sys::SpawningCommandRunner runner_;
  agent::BridgeNetwork network_;
  client::Mirror mirror_;
  agent::NetworkSync sync_;
  oci::OciRuntime runtime_;
  agent::FileRecords records_;
};

// What the pods' network needs and this machine lacks.
std::vector<std::string> missing_for_network() {
  std::vector<std::string> missing;
  for (const char* plugin : {"bridge", "host-local"}) {
    const std::string path = fmt::format("/usr/lib/cni/{}", plugin);
    if (access(path.c_str(), X_OK) != 0) missing.push_back(fmt::format("the CNI plugin {} is not there", path));
  }
  for (const char* program : {"/usr/sbin/nft", "/usr/sbin/dnsmasq", "/usr/sbin/ip"}) {
    const std::string elsewhere = std::string("/usr/bin/") + (std::strrchr(program, '/') + 1);
    if (access(program, X_OK) != 0 && access(elsewhere.c_str(), X_OK) != 0)
      missing.push_back(fmt::format("{} is not there", program));
  }
  return missing;
}

// Empty when containers can run here.
std::string why_not_oci(const std::string& data_dir) {
  std::vector<std::string> missing;
  if (geteuid() != 0) missing.emplace_back("only root can make containers");
  if (missing.empty()) {
    if (auto support = oci::probe(data_dir); !support) missing = support.error();
    auto more = missing_for_network();
    missing.insert(missing.end(), more.begin(), more.end());
  }
  return fmt::format("{}", fmt::join(missing, "; "));
}

}  // namespace

Result<std::unique_ptr<MachineRuntime>> make_machine_runtime(sys::EventLoop& loop, const cli::AgentConfig& config,
                                                             client::ApiClient& api) {
  if (config.runtime == "simulated") return std::unique_ptr<MachineRuntime>(new SimulatedMachine(loop, config));
  auto support = oci::probe(config.data_dir);
  if (!support) return internal_error(fmt::format("containers cannot run here: {}", fmt::join(support.error(), "; ")));
  sys::log_info("containers run", {{"with", support->reason}});
  GW_TRY(auto layout, agent::claim_subnet({.data_dir = config.data_dir}));
  return std::unique_ptr<MachineRuntime>(new OciMachine(loop, config, api, std::move(layout), std::move(*support)));
}

Result<void> choose_runtimes(cli::UpOptions& options) {
  const auto is_open = [](const agent::NodeSpec& node) { return node.runtime != "simulated"; };
  if (std::none_of(options.nodes.begin(), options.nodes.end(), is_open)) return {};
  GW_CHECKED(cli::DataDir(options.data_dir).create());
  const std::string why_not = why_not_oci(options.data_dir);
  for (agent::NodeSpec& node : options.nodes) {
    if (node.runtime == "oci" && !why_not.empty())
      return bad_request(fmt::format("node {}: runtime oci is not possible on this machine: {}", node.name, why_not));
    if (node.runtime.empty()) node.runtime = why_not.empty() ? "oci" : "simulated";
    if (node.runtime == "oci" && node.address.empty()) node.address = kLoopback;
  }
  if (!why_not.empty()) {
    options.warnings.push_back(fmt::format("pods are simulated: no containers can run on this machine ({})", why_not));
    return {};
  }
  GW_TRY(const auto layout, agent::claim_subnet({.data_dir = options.data_dir}));
  options.pod_gateway = layout.gateway_text();
  return {};
}

Result<void> clean_machine(const std::string& data_dir) {
  if (geteuid() != 0) return {};
  GW_CHECKED(oci::teardown(data_dir));
  const agent::SubnetPlace place{.data_dir = data_dir};
  if (!agent::claimed_subnet(place)) return {};
  net::LoopThread thread("gw-clean");
  sys::SpawningCommandRunner runner(thread.loop());
  std::promise<Result<void>> promise;
  auto done = promise.get_future();
  thread.loop().post([&] {
    agent::tear_down_network(agent::layout_names(place), thread.loop(), runner,
                             [&](Result<void> result) { promise.set_value(std::move(result)); });
  });
  auto result = done.get();
  thread.stop();
  return result;
}

}  // namespace gangway
