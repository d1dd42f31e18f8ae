#include "agent/network/cni.h"

#include <fmt/format.h>

#include <utility>

#include "json/access.h"
#include "json/value.h"

namespace gangway::agent {

std::string cni_config(const NetworkLayout& layout, unsigned mtu) {
  json::Value range = json::Object{{"subnet", layout.subnet.text()}, {"gateway", layout.gateway_text()}};
  // Compilers do not agree on what a list in braces is that holds nothing but a list.
  json::Array ranges;
  ranges.emplace_back(json::Array{range});
  json::Object config{
      {"cniVersion", "0.4.0"},
      {"name", layout.id},
      {"type", "bridge"},
      {"bridge", layout.bridge()},
      {"isGateway", false},
      {"ipMasq", false},
      // A machine that filters bridged packets sends those to a pod itself back through its own port.
      {"hairpinMode", true},
      {"ipam", json::Object{{"type", "host-local"},
                            {"dataDir", layout.ipam_dir()},
                            {"ranges", std::move(ranges)},
                            {"routes", json::Array{json::Object{{"dst", "0.0.0.0/0"}}}}}},
  };
  if (mtu != 0) config["mtu"] = mtu;
  return json::serialize(config);
}

sys::Command cni_command(const NetworkLayout& layout, unsigned mtu, const std::string& plugins, CniVerb verb,
                         const std::string& pod_uid, const std::string& netns_path) {
  sys::Command command;
  command.argv = {plugins + "/bridge"};
  command.environment = std::vector<std::string>{
      fmt::format("CNI_COMMAND={}", verb == CniVerb::kAdd ? "ADD" : "DEL"),
      fmt::format("CNI_CONTAINERID={}", pod_uid),
      fmt::format("CNI_NETNS={}", netns_path),
      fmt::format("CNI_IFNAME={}", kPodInterface),
      fmt::format("CNI_PATH={}", plugins),
      "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
  };
  command.input = cni_config(layout, mtu);
  return command;
}

Result<std::vector<std::string>> cni_addresses(std::string_view output) {
  GW_TRY(auto answer, json::parse(output));
  std::vector<std::string> addresses;
  for (const auto& ip : json::array_at(answer, {"ips"})) {
    auto text = json::string_at(ip, {"address"});
    if (auto address = parse_v4(text.substr(0, text.find('/')))) addresses.push_back(v4_text(*address));
  }
  if (addresses.empty()) return internal_error("the bridge plugin gave the pod no IPv4 address");
  return addresses;
}

std::string cni_failure(const sys::CommandResult& result) {
  if (result.timed_out) return "the bridge plugin took too long";
  if (auto answer = json::parse(result.out)) {
    auto message = json::string_at(*answer, {"msg"});
    if (!message.empty()) return fmt::format("the bridge plugin failed: {}", message);
  }
  return fmt::format("the bridge plugin failed with code {}: {}", result.code, result.err);
}

std::string pod_interface_batch(const NetworkLayout& layout) {
  return fmt::format(
      "route replace {0}/32 dev {2} scope link\n"
      "route replace {1} via {0} dev {2}\n",
      layout.gateway_text(), layout.subnet.text(), kPodInterface);
}

}  // namespace gangway::agent
