// What a pod's /etc/resolv.conf and /etc/hosts hold. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/runtime_types.h"

namespace gangway::agent {

// A resolv.conf, as far as pods are concerned.
struct ResolverConfig {
  std::vector<std::string> nameservers;
  std::vector<std::string> searches;
  std::vector<std::pair<std::string, std::string>> options;
};
ResolverConfig parse_resolv_conf(std::string_view text);

// `host` is the machine's own configuration. Resolvers at its loopback cannot be reached from a pod: the cluster's,
// which asks them, stands in for them (unless the pod has the machine's network).
std::string resolv_conf(const SandboxSpec& spec, const ResolverConfig& host, const std::string& cluster_resolver);

// A pod with the machine's network sees the machine's file, with the aliases that were asked for.
std::string hosts_file(const SandboxSpec& spec, const std::vector<std::string>& addresses,
                       std::string_view machine_hosts);

}  // namespace gangway::agent
