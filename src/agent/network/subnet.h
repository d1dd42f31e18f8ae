// Which subnet a cluster's pods have on this machine.
//
// It is chosen once, claimed for as long as the machine runs (so that server and agent, whichever asks first, know the
// same one and no second cluster takes it), and remembered in the data directory. The claim is given back by teardown;
// the memory stays, and is followed as long as nobody else uses the subnet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/network/layout.h"
#include "base/address.h"
#include "base/result.h"

namespace gangway::agent {

// A bridge has room for 1,023 ports, so more addresses than these would be of no use.
inline constexpr unsigned kSubnetPrefix = 22;

// The first that overlaps nothing in `used`, from a place that `seed` gives on.
std::optional<Network> choose_subnet(const std::vector<Network>& used, std::uint64_t seed);

// The destinations in /proc/net/route but for the default and for those of `own_interface`.
std::vector<Network> parse_routes(std::string_view proc_net_route, std::string_view own_interface);

struct SubnetPlace {
  std::string data_dir;  // its real path
  std::string run_root = "/run/gangway";
};
// Blocking, a few small files; any thread. The layout's run directory exists afterwards.
Result<NetworkLayout> claim_subnet(const SubnetPlace& place);
// What is claimed, if anything is. Claims nothing.
std::optional<NetworkLayout> claimed_subnet(const SubnetPlace& place);
// How everything is called, without a subnet: enough to take it away.
NetworkLayout layout_names(const SubnetPlace& place);

}  // namespace gangway::agent
