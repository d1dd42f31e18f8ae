// How the CNI bridge plugin is asked to attach a pod: its configuration, its environment, and what it answers. Pure.
//
// The plugin makes the pod's interface, takes an address from host-local and puts the other end into our bridge. The
// bridge itself, its address and all rules are ours.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/network/layout.h"
#include "base/result.h"
#include "sys/command.h"

namespace gangway::agent {

// `mtu` 0: the kernel's default.
std::string cni_config(const NetworkLayout& layout, unsigned mtu);

enum class CniVerb : std::uint8_t { kAdd, kDel };
// `netns_path` may be empty for kDel: the pod's namespace is gone, and only its address is to be given back.
sys::Command cni_command(const NetworkLayout& layout, unsigned mtu, const std::string& plugins, CniVerb verb,
                         const std::string& pod_uid, const std::string& netns_path);

// The pod's IPv4 addresses in what the plugin printed.
Result<std::vector<std::string>> cni_addresses(std::string_view output);
// What the plugin said about its failure.
std::string cni_failure(const sys::CommandResult& result);

// What makes a new namespace a pod's, for `ip -batch -`. Pods reach each other through the gateway and not directly, so
// that the answers to translated connections come by there, too.
std::string pod_interface_batch(const NetworkLayout& layout);

}  // namespace gangway::agent
