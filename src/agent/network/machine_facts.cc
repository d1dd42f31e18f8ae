#include "agent/network/machine_facts.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <charconv>

#include "sys/files.h"

namespace gangway::agent {
namespace {

constexpr unsigned kUsualMtu = 1500;

std::string number_text(const std::string& path) {
  auto text = sys::read_file(path);
  return text ? *text : std::string();
}

bool is_gangway_bridge(const std::string& name) {
  return number_text(fmt::format("/sys/class/net/{}/netdev_group", name)) == fmt::format("{}\n", kBridgeGroup);
}

std::string default_interface_now() {
  auto routes = sys::read_file("/proc/net/route");
  return routes ? default_interface(*routes) : std::string();
}

}  // namespace

// Not by /sys: that shows the network it was mounted in, which need not be ours.
bool interface_exists(const std::string& name) {
  return ::if_nametoindex(name.c_str()) != 0;
}

std::string default_interface(std::string_view routes) {
  while (!routes.empty()) {
    auto end = std::min(routes.find('\n'), routes.size());
    auto line = routes.substr(0, end);
    routes.remove_prefix(std::min(end + 1, routes.size()));
    auto name = line.substr(0, line.find('\t'));
    if (line.substr(name.size()).starts_with("\t00000000\t")) return std::string(name);
  }
  return {};
}

unsigned uplink_mtu() {
  auto interface = default_interface_now();
  if (interface.empty()) return 0;
  auto text = number_text(fmt::format("/sys/class/net/{}/mtu", interface));
  unsigned mtu = 0;
  std::from_chars(text.data(), text.data() + text.size(), mtu);
  return mtu == kUsualMtu ? 0 : mtu;
}

std::string machine_address() {
  auto preferred = default_interface_now();
  std::string first;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  for (auto* at = list; at; at = at->ifa_next) {
    if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET || (at->ifa_flags & IFF_LOOPBACK) != 0) continue;
    auto address = v4_text(ntohl(reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr.s_addr));
    if (at->ifa_name == preferred) {
      first = address;
      break;
    }
    if (first.empty() && !is_gangway_bridge(at->ifa_name)) first = address;
  }
  freeifaddrs(list);
  return first;
}

}  // namespace gangway::agent
