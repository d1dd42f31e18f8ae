#include "apiserver/nodes/node_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

namespace gangway::apiserver {
namespace {

bool is_numeric(const std::string& host) {
  in6_addr binary{};
  return ::inet_pton(AF_INET, host.c_str(), &binary) == 1 || ::inet_pton(AF_INET6, host.c_str(), &binary) == 1;
}

// The first address of the first of these types that there is.
std::string host_of(const json::Value& node) {
  const auto* addresses = json::find(node, {"status", "addresses"});
  if (!addresses || !addresses->is_array()) return {};
  for (const auto type : {"InternalIP", "ExternalIP", "Hostname"}) {
    for (const auto& entry : addresses->get_array()) {
      std::string host(json::string_at(entry, {"address"}));
      if (json::string_at(entry, {"type"}) == type && is_numeric(host)) return host;
    }
  }
  return {};
}

Error unreachable(std::string_view name, std::string_view why) {
  Error error;
  error.reason = Reason::kServiceUnavailable;
  error.message = fmt::format("node \"{}\" {}", name, why);
  return error;
}

}  // namespace

Result<client::NodeAddress> agent_address(const json::Value& node) {
  client::NodeAddress address;
  address.node = json::string_at(node, {"metadata", "name"});
  const auto* port = json::find(node, {"status", "daemonEndpoints", "kubeletEndpoint", "Port"});
  if (!port || !port->is_int64() || port->get_int64() <= 0 || port->get_int64() > 0xffff)
    return unreachable(address.node, "runs no agent");
  address.port = static_cast<std::uint16_t>(port->get_int64());
  address.host = host_of(node);
  if (address.host.empty()) return unreachable(address.node, "has no numeric address of type InternalIP or ExternalIP");
  address.authority_pem = json::string_at(node, {"metadata", "annotations", kAgentAuthorityAnnotation});
  return address;
}

}  // namespace gangway::apiserver
