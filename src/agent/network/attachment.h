// Attachment: what a pod was given by the network, and the record of it that a restarted agent reads. Values only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/network/pod_network.h"
#include "agent/network/pod_rules.h"
#include "base/result.h"

namespace gangway::agent {

struct Attachment {
  PodAddresses given;
  std::vector<HostPort> ports;
};

std::string encode_attachment(const Attachment& attachment);
Result<Attachment> decode_attachment(std::string_view text);

// The ports of the machine that the specification asks for, as they lead to `pod_address`.
std::vector<HostPort> host_ports_of(const SandboxSpec& spec, std::uint32_t pod_address);

}  // namespace gangway::agent
