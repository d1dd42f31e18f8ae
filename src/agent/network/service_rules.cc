#include "agent/network/service_rules.h"

#include <fmt/format.h>

#include <set>

#include "agent/network/nft_text.h"

namespace gangway::agent {
namespace {

constexpr std::size_t kFewBackends = 32;
constexpr std::size_t kSlotsForFew = 128;
constexpr std::size_t kSlotsForMany = 1024;

// splitmix64's last step: every bit of the input moves every bit of the output.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

std::string chain_name(const api::ObjectName& service, const ServicePort& port) {
  return fmt::format("svc_{}_{}_{}_{}", service.ns, service.name, to_string(port.protocol), port.port);
}

// The one rule of a service's port: choose a backend.
std::string dispatch(const Service& service, const ServicePort& port, const std::vector<Backend>& backends) {
  auto protocol = to_string(port.protocol);
  if (backends.size() == 1)
    return fmt::format("meta l4proto {} dnat to {}:{}", protocol, v4_text(backends[0].address), backends[0].port);
  std::vector<std::string> targets;
  auto add = [&](std::size_t key, const Backend& backend) {
    targets.push_back(fmt::format("{} : {} . {}", key, v4_text(backend.address), backend.port));
  };
  if (!service.sticky) {
    for (std::size_t i = 0; i < backends.size(); ++i) add(i, backends[i]);
    return fmt::format("meta l4proto {} dnat ip to numgen random mod {} map {{ {} }}", protocol, backends.size(),
                       fmt::join(targets, ", "));
  }
  auto slots = sticky_slots(backends, backends.size() <= kFewBackends ? kSlotsForFew : kSlotsForMany);
  for (std::size_t i = 0; i < slots.size(); ++i) add(i, backends[slots[i]]);
  // Without a seed of its own every new table would send clients elsewhere.
  return fmt::format("meta l4proto {} dnat ip to jhash ip saddr mod {} seed 0x6777 map {{ {} }}", protocol,
                     slots.size(), fmt::join(targets, ", "));
}

// What the table is made of. Keys are unique: two services that claim the same address and port must not make the
// whole script fail, so the first in the order of names has it.
struct Contents {
  std::vector<std::string> chains;
  std::map<std::string, std::string> service_ips;  // "10.96.0.1 . tcp . 443" to a chain
  std::map<std::string, std::string> node_ports;   // "tcp . 30080"
  std::set<std::string> refused_node_ports;
  std::set<std::uint32_t> cluster_ips;
  std::set<std::uint32_t> targets;

  void add(const Service& service, const ServicePort& port, const std::vector<Backend>& backends) {
    auto protocol = to_string(port.protocol);
    auto node_port = fmt::format("{} . {}", protocol, port.node_port);
    if (backends.empty()) {
      if (port.node_port != 0) refused_node_ports.insert(node_port);
      return;
    }
    auto chain = chain_name(service.name, port);
    chains.push_back(fmt::format("  chain {} {{\n    {}\n  }}\n", chain, dispatch(service, port, backends)));
    auto verdict = "goto " + chain;
    auto add_address = [&](std::uint32_t address) {
      service_ips.try_emplace(fmt::format("{} . {} . {}", v4_text(address), protocol, port.port), verdict);
    };
    if (service.cluster_ip) add_address(*service.cluster_ip);
    for (auto address : service.external_ips) add_address(address);
    if (port.node_port != 0) node_ports.try_emplace(node_port, verdict);
    for (const auto& backend : backends) targets.insert(backend.address);
  }
};

Contents contents_of(const ServiceRulesInput& input) {
  Contents contents;
  auto slices = by_service(input.slices);
  for (const auto& [name, service] : input.services) {
    if (service.cluster_ip) contents.cluster_ips.insert(*service.cluster_ip);
    for (const auto& port : service.ports) {
      auto backends = backends_of(port, slices[name]);
      if (input.api_server && name == api::ObjectName{"default", "kubernetes"}) backends = {*input.api_server};
      contents.add(service, port, backends);
    }
  }
  return contents;
}

std::vector<std::string> texts(const std::set<std::uint32_t>& addresses) {
  std::vector<std::string> out;
  for (auto address : addresses) out.push_back(v4_text(address));
  return out;
}

}  // namespace

std::vector<std::size_t> sticky_slots(const std::vector<Backend>& backends, std::size_t slots) {
  std::vector<std::size_t> chosen(slots);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    std::uint64_t best = 0;
    for (std::size_t i = 0; i < backends.size(); ++i) {
      auto weight = mix(mix(std::uint64_t{backends[i].address} << 16 | backends[i].port) + slot);
      if (i > 0 && weight <= best) continue;
      best = weight;
      chosen[slot] = i;
    }
  }
  return chosen;
}

std::string service_rules(const ServiceRulesInput& input) {
  auto contents = contents_of(input);
  const auto& layout = input.layout;
  auto out = begin_table(layout.service_table());
  append_elements(out, "set cluster_ips", "ipv4_addr", texts(contents.cluster_ips));
  append_hairpins(out, contents.targets);
  append_elements(out, "set refused_node_ports", "inet_proto . inet_service",
                  std::vector<std::string>(contents.refused_node_ports.begin(), contents.refused_node_ports.end()));
  for (const auto& chain : contents.chains) out += chain;
  append_elements(out, "map service_ips", "ipv4_addr . inet_proto . inet_service : verdict", contents.service_ips);
  append_elements(out, "map node_ports", "inet_proto . inet_service : verdict", contents.node_ports);

  // The gateway's node ports go first, so that on this address no other cluster of the machine is asked before us.
  auto own = fmt::format("ip daddr {} meta l4proto . th dport vmap @node_ports", layout.gateway_text());
  append_chain(out, "own_prerouting", "nat hook prerouting priority -101", {not_from_others(layout), own});
  append_chain(out, "own_output", "nat hook output priority -101", {own});
  std::string by_address = "ip daddr . meta l4proto . th dport vmap @service_ips";
  std::string by_port = "fib daddr type local meta l4proto . th dport vmap @node_ports";
  append_chain(out, "prerouting", "nat hook prerouting priority -100", {not_from_others(layout), by_address, by_port});
  append_chain(out, "output", "nat hook output priority -100", {by_address, by_port});
  append_chain(out, "postrouting", "nat hook postrouting priority 100", {std::string(kMasqueradeHairpins)});
  // What still has a service's address was translated by nobody: a port that it has not, or nobody behind it.
  append_chain(out, "forward", "filter hook forward priority 0",
               {fmt::format("iifname \"{}\" ip daddr @cluster_ips reject", layout.bridge())});
  append_chain(out, "refuse_output", "filter hook output priority 0", {"ip daddr @cluster_ips reject"});
  append_chain(out, "input", "filter hook input priority 0",
               {not_from_others(layout), "fib daddr type local meta l4proto . th dport @refused_node_ports reject"});
  return out + "}\n";
}

}  // namespace gangway::agent
