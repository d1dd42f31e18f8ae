// Namespaces that outlive processes: made by a thread that ends, held by a mount. And connections made in one.
//
// Blocking; for worker threads. Each call uses a thread of its own where it changes namespaces, so that no other work
// ever runs in the wrong one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sys/file_descriptor.h"

namespace gangway::agent::oci {

struct NamespaceRequest {
  std::string folder;  // namespaces appear here as "ipc" and "uts"
  bool ipc = true;
  bool uts = true;
  std::string hostname;  // of the new uts namespace
  std::string netns;     // whose net.* settings are set; empty: none may be
  std::vector<std::pair<std::string, std::string>> sysctls;
};
// What is held already stays.
Result<void> hold_namespaces(const NamespaceRequest& request);
bool is_held_namespace(const std::string& path);

// A connection to the port on the loopback of a network namespace (empty: the machine's own), IPv4 first.
Result<sys::FileDescriptor> connect_in(const std::string& netns, std::uint16_t port);

}  // namespace gangway::agent::oci
