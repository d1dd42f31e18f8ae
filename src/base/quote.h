// Quoting of what users sent, for messages: as Go's %q, because Kubernetes' messages are made with it.
#pragma once

#include <string>
#include <string_view>

namespace gangway {

// With quotes around it; control characters and bytes that are not UTF-8 are escaped.
std::string quoted(std::string_view text);

}  // namespace gangway
