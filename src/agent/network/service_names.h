// The names that Services have, as host files for dnsmasq. Pure.
//
// One file a service, so that a change rewrites little. A service has its cluster address; a headless one has those of
// its ready endpoints, and each endpoint its own name: its host name, or its address with dashes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "agent/network/service_view.h"

namespace gangway::agent {

inline constexpr std::string_view kClusterDomain = "cluster.local";

// By file name, "namespace.service". Services without an address have no file.
using HostFiles = std::map<std::string, std::string>;
HostFiles host_entries(const Services& services, const Slices& slices);

}  // namespace gangway::agent
