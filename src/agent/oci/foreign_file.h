// Files that a container writes and the agent reads: nothing about them is believed. What is no regular file is not
// waited for, a link is not followed.
#pragma once

#include <cstddef>
#include <string>

namespace gangway::agent::oci {

// The last `bytes` of it; nothing when it cannot be read.
std::string end_of_foreign_file(const std::string& path, std::size_t bytes);

}  // namespace gangway::agent::oci
