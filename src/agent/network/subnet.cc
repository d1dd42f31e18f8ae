#include "agent/network/subnet.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/file.h>

#include <bit>
#include <charconv>
#include <filesystem>

#include "agent/cluster_id.h"
#include "base/hash.h"
#include "json/value.h"
#include "sys/descriptor.h"
#include "sys/files.h"

namespace gangway::agent {
namespace {

namespace fs = std::filesystem;

// 10.244.0.0/16 is where Kubernetes' users expect pods; its neighbours serve when it is taken.
constexpr std::uint32_t kPoolFirst = 10U << 24 | 244U << 16;
constexpr unsigned kPoolPrefix = 14;

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t", at)) != std::string_view::npos;) {
    auto end = std::min(line.find_first_of(" \t", at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end;
  }
  return fields;
}

// The kernel prints addresses there in hex, as they lie in memory.
std::optional<std::uint32_t> kernel_hex(std::string_view digits) {
  std::uint32_t number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return ntohl(number);
}

std::vector<Network> interface_networks(std::string_view own_interface) {
  std::vector<Network> networks;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return networks;
  for (auto* at = list; at; at = at->ifa_next) {
    if (!at->ifa_addr || !at->ifa_netmask || at->ifa_addr->sa_family != AF_INET || at->ifa_name == own_interface)
      continue;
    auto address = ntohl(reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr.s_addr);
    auto mask = ntohl(reinterpret_cast<const sockaddr_in*>(at->ifa_netmask)->sin_addr.s_addr);
    networks.push_back(Network::of(address, static_cast<unsigned>(std::popcount(mask))));
  }
  freeifaddrs(list);
  return networks;
}

std::optional<Network> read_network(const std::string& path) {
  auto text = sys::read_file(path);
  if (!text) return std::nullopt;
  auto value = json::parse(*text);
  return value ? parse_network(json::string_at(*value, {"subnet"})) : std::nullopt;
}

std::string claim_path(const std::string& run_root, const std::string& id) {
  return fmt::format("{}/{}/subnet", run_root, id);
}

std::string memory_path(const std::string& data_dir) {
  return data_dir + "/network.json";
}

// What the machine and its other clusters use.
std::vector<Network> used_networks(const std::string& run_root, const std::string& own_id) {
  auto used = interface_networks(own_id);
  if (auto routes = sys::read_file("/proc/net/route")) {
    for (const auto& network : parse_routes(*routes, own_id)) used.push_back(network);
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run_root, error)) {
    auto id = entry.path().filename().string();
    if (id == own_id) continue;
    if (auto network = read_network(claim_path(run_root, id))) used.push_back(*network);
  }
  return used;
}

// One claim at a time on the machine, so that two clusters that start together do not choose the same.
Result<sys::Descriptor> lock_claims(const std::string& run_root) {
  std::error_code error;
  fs::create_directories(run_root, error);
  if (error) return internal_error(fmt::format("cannot make {}: {}", run_root, error.message()));
  sys::Descriptor lock(::open((run_root + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX) != 0)
    return internal_error(fmt::format("cannot lock {}/lock: {}", run_root, std::strerror(errno)));
  return lock;
}

}  // namespace

std::optional<Network> choose_subnet(const std::vector<Network>& used, std::uint64_t seed) {
  // The first /16 is gone through as a whole before its neighbours are.
  constexpr std::uint32_t kInFirst = 1U << (kSubnetPrefix - 16);
  constexpr std::uint32_t kAll = 1U << (kSubnetPrefix - kPoolPrefix);
  for (std::uint32_t i = 0; i < kAll; ++i) {
    auto index = i < kInFirst ? (i + static_cast<std::uint32_t>(seed % kInFirst)) % kInFirst : i;
    Network candidate{kPoolFirst + (index << (32 - kSubnetPrefix)), kSubnetPrefix};
    auto overlaps = [&](const Network& network) { return candidate.overlaps(network); };
    if (std::none_of(used.begin(), used.end(), overlaps)) return candidate;
  }
  return std::nullopt;
}

std::vector<Network> parse_routes(std::string_view proc_net_route, std::string_view own_interface) {
  std::vector<Network> networks;
  while (!proc_net_route.empty()) {
    auto end = std::min(proc_net_route.find('\n'), proc_net_route.size());
    auto fields = fields_of(proc_net_route.substr(0, end));
    proc_net_route.remove_prefix(std::min(end + 1, proc_net_route.size()));
    // Iface Destination Gateway Flags RefCnt Use Metric Mask …
    if (fields.size() < 8 || fields[0] == own_interface) continue;
    auto destination = kernel_hex(fields[1]);
    auto mask = kernel_hex(fields[7]);
    if (!destination || !mask || *mask == 0) continue;
    networks.push_back(Network::of(*destination, static_cast<unsigned>(std::popcount(*mask))));
  }
  return networks;
}

NetworkLayout layout_names(const SubnetPlace& place) {
  NetworkLayout layout;
  layout.id = cluster_short_id(place.data_dir);
  layout.run_root = place.run_root;
  return layout;
}

std::optional<NetworkLayout> claimed_subnet(const SubnetPlace& place) {
  auto layout = layout_names(place);
  auto network = read_network(claim_path(place.run_root, layout.id));
  if (!network) return std::nullopt;
  layout.subnet = *network;
  return layout;
}

Result<NetworkLayout> claim_subnet(const SubnetPlace& place) {
  GW_TRY(auto lock, lock_claims(place.run_root));
  if (auto claimed = claimed_subnet(place)) return *claimed;
  auto layout = layout_names(place);
  auto used = used_networks(place.run_root, layout.id);
  auto chosen = read_network(memory_path(place.data_dir));
  auto taken = [&](const Network& network) { return chosen->overlaps(network); };
  if (!chosen || chosen->prefix != kSubnetPrefix || std::any_of(used.begin(), used.end(), taken))
    chosen = choose_subnet(used, fnv1a(layout.id));
  if (!chosen) return internal_error("no subnet for pods is free on this machine: 10.244.0.0/14 is in use");
  layout.subnet = *chosen;
  auto text = json::serialize(json::Object{{"subnet", chosen->text()}}) + "\n";
  std::error_code error;
  fs::create_directories(layout.run_dir(), error);
  if (error) return internal_error(fmt::format("cannot make {}: {}", layout.run_dir(), error.message()));
  GW_CHECKED(sys::atomic_write(memory_path(place.data_dir), text));
  GW_CHECKED(sys::atomic_write(claim_path(place.run_root, layout.id), text));
  return layout;
}

}  // namespace gangway::agent
