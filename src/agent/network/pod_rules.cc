#include "agent/network/pod_rules.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "agent/network/nft_text.h"

namespace gangway::agent {
namespace {

// One map a protocol: nft wants to know the protocol of a port before it is translated.
struct PortMaps {
  std::map<std::string, std::string> anywhere;    // "8080" to "10.244.0.5 . 80"
  std::map<std::string, std::string> at_address;  // "192.0.2.2 . 8080"
};

// Declares the maps; the rules that ask them, most special first.
std::vector<std::string> append_port_maps(std::string& out, const std::vector<HostPort>& host_ports) {
  std::map<Protocol, PortMaps> maps;
  for (const auto& port : host_ports) {
    auto pod = fmt::format("{} . {}", v4_text(port.pod.address), port.pod.port);
    auto& of_protocol = maps[port.protocol];
    if (port.address == 0)
      of_protocol.anywhere.try_emplace(std::to_string(port.port), pod);
    else
      of_protocol.at_address.try_emplace(fmt::format("{} . {}", v4_text(port.address), port.port), pod);
  }
  std::vector<std::string> rules;
  for (const auto& [protocol, ports] : maps) {
    auto name = to_string(protocol);
    append_elements(out, fmt::format("map {}_ports", name), "inet_service : ipv4_addr . inet_service", ports.anywhere);
    append_elements(out, fmt::format("map {}_ports_at", name), "ipv4_addr . inet_service : ipv4_addr . inet_service",
                    ports.at_address);
    rules.push_back(fmt::format("dnat ip to ip daddr . {0} dport map @{0}_ports_at", name));
    rules.push_back(fmt::format("fib daddr type local dnat ip to {0} dport map @{0}_ports", name));
  }
  return rules;
}

}  // namespace

std::string pod_rules(const NetworkLayout& layout, const std::vector<HostPort>& host_ports) {
  auto out = begin_table(layout.pod_table());
  std::set<std::uint32_t> targets;
  for (const auto& port : host_ports) targets.insert(port.pod.address);
  append_hairpins(out, targets);
  auto port_rules = append_port_maps(out, host_ports);

  const auto& bridge = layout.bridge();
  // Pods speak with their own addresses only; 127.0.0.1 of the machine is reached by the machine alone, although its
  // own connections to ports of pods may come from there.
  append_chain(out, "guard", "filter hook prerouting priority -300",
               {fmt::format("iifname \"{}\" ip saddr != {} drop", bridge, layout.subnet.text()),
                fmt::format("iifname \"{}\" ip daddr 127.0.0.0/8 drop", bridge)});
  append_chain(out, "output", "nat hook output priority -100", port_rules);
  port_rules.insert(port_rules.begin(), not_from_others(layout));
  append_chain(out, "prerouting", "nat hook prerouting priority -100", port_rules);
  append_chain(out, "forward", "filter hook forward priority 0",
               {fmt::format("iifname \"{0}\" oifname \"{0}\" accept", bridge),
                fmt::format("iifname \"{}\" meta oifgroup {} drop", bridge, kBridgeGroup),
                fmt::format("oifname \"{}\" meta iifgroup {} drop", bridge, kBridgeGroup)});
  // The API server and the name server at the gateway are for this cluster's pods, and for the machine itself.
  append_chain(out, "input", "filter hook input priority 0",
               {fmt::format("ip daddr {} iifname != {{ \"{}\", \"lo\" }} drop", layout.gateway_text(), bridge)});
  // Pods send to each other through the gateway, which would tell them of the shorter way: past the translation of
  // service addresses.
  append_chain(out, "no_redirects", "filter hook output priority 0",
               {fmt::format("oifname \"{}\" icmp type redirect drop", bridge)});
  append_chain(out, "postrouting", "nat hook postrouting priority 100",
               {std::string(kMasqueradeHairpins), fmt::format("oifname \"{}\" ip saddr 127.0.0.0/8 masquerade", bridge),
                fmt::format("ip saddr {} oifname != {{ \"{}\", \"lo\" }} masquerade", layout.subnet.text(), bridge)});
  return out + "}\n";
}

}  // namespace gangway::agent
