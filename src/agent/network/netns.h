// Network namespaces as files: made by a command, removed by us. They live until their file is gone and nobody is in.
#pragma once

#include <string>
#include <vector>

#include "agent/network/layout.h"
#include "base/result.h"
#include "sys/command.h"

namespace gangway::agent {

// Makes the file that the namespace will be bound to.
Result<void> make_namespace_file(const std::string& path);
// Binds a new namespace to the file, with its loopback up.
sys::Command make_namespace_command(const std::string& path);
// Runs `argv` in the namespace.
sys::Command in_namespace(const std::string& path, std::vector<std::string> argv, std::string input = {});

// A namespace is bound there, and not just a file left.
bool is_namespace(const std::string& path);
// A success when there is none.
Result<void> remove_namespace(const std::string& path);
// The uids of the pods that have a file, whole or not.
std::vector<std::string> pod_namespaces(const NetworkLayout& layout);

}  // namespace gangway::agent
