#include "agent/network/attachment.h"

#include "json/access.h"
#include "json/value.h"

namespace gangway::agent {
namespace {

// Protocols as Kubernetes writes them.
constexpr std::string_view kProtocols[] = {"TCP", "UDP", "SCTP"};

json::Value encode_port(const HostPort& port) {
  return json::Object{{"protocol", kProtocols[static_cast<std::size_t>(port.protocol)]},
                      {"address", port.address},
                      {"port", port.port},
                      {"podAddress", port.pod.address},
                      {"podPort", port.pod.port}};
}

HostPort decode_port(const json::Value& value) {
  HostPort port;
  port.protocol = parse_protocol(json::string_at(value, {"protocol"})).value_or(Protocol::kTcp);
  port.address = static_cast<std::uint32_t>(json::int_at(value, {"address"}));
  port.port = static_cast<std::uint16_t>(json::int_at(value, {"port"}));
  port.pod.address = static_cast<std::uint32_t>(json::int_at(value, {"podAddress"}));
  port.pod.port = static_cast<std::uint16_t>(json::int_at(value, {"podPort"}));
  return port;
}

}  // namespace

std::string encode_attachment(const Attachment& attachment) {
  json::Array addresses;
  for (const auto& address : attachment.given.addresses) addresses.emplace_back(address);
  json::Array ports;
  for (const auto& port : attachment.ports) ports.push_back(encode_port(port));
  return json::serialize(json::Object{{"addresses", std::move(addresses)},
                                      {"netns", attachment.given.netns_path},
                                      {"resolvConf", attachment.given.resolv_conf},
                                      {"hosts", attachment.given.hosts},
                                      {"ports", std::move(ports)}});
}

Result<Attachment> decode_attachment(std::string_view text) {
  GW_TRY(auto value, json::parse(text));
  Attachment attachment;
  attachment.given.addresses = json::strings_at(value, {"addresses"});
  attachment.given.netns_path = json::string_at(value, {"netns"});
  attachment.given.resolv_conf = json::string_at(value, {"resolvConf"});
  attachment.given.hosts = json::string_at(value, {"hosts"});
  for (const auto& port : json::array_at(value, {"ports"})) attachment.ports.push_back(decode_port(port));
  if (!value.is_object() || (attachment.given.addresses.empty() && !attachment.given.netns_path.empty()))
    return bad_request("a pod's record has no addresses");
  return attachment;
}

std::vector<HostPort> host_ports_of(const SandboxSpec& spec, std::uint32_t pod_address) {
  std::vector<HostPort> ports;
  for (const auto& mapping : spec.ports) {
    auto protocol = parse_protocol(mapping.protocol);
    if (!protocol || mapping.host_port == 0) continue;
    ports.push_back({*protocol, parse_v4(mapping.host_address).value_or(0), mapping.host_port,
                     Backend{pod_address, mapping.container_port}});
  }
  return ports;
}

}  // namespace gangway::agent
