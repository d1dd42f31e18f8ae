#include "agent/network/service_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/address.h"

namespace gangway::agent {
namespace {

std::string endpoint_name(const Endpoint& endpoint) {
  if (!endpoint.hostname.empty()) return endpoint.hostname;
  auto dashed = v4_text(endpoint.address);
  std::replace(dashed.begin(), dashed.end(), '.', '-');
  return dashed;
}

// The endpoint's own name stands first: it is what a look-up by address gives.
std::string headless_entries(const std::string& domain, const std::vector<const EndpointSlice*>& slices) {
  std::set<std::string> lines;
  for (const auto* slice : slices) {
    for (const auto& endpoint : slice->endpoints) {
      if (!endpoint.ready) continue;
      lines.insert(fmt::format("{} {}.{} {}\n", v4_text(endpoint.address), endpoint_name(endpoint), domain, domain));
    }
  }
  return fmt::format("{}", fmt::join(lines, ""));
}

}  // namespace

HostFiles host_entries(const Services& services, const Slices& slices) {
  HostFiles files;
  auto grouped = by_service(slices);
  for (const auto& [name, service] : services) {
    auto domain = fmt::format("{}.{}.svc.{}", name.name, name.ns, kClusterDomain);
    std::string content;
    if (service.cluster_ip) content = fmt::format("{} {}\n", v4_text(*service.cluster_ip), domain);
    if (service.headless) content = headless_entries(domain, grouped[name]);
    if (!content.empty()) files.emplace(fmt::format("{}.{}", name.ns, name.name), std::move(content));
  }
  return files;
}

}  // namespace gangway::agent
