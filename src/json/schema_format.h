// The string formats that custom resources may name ("date-time", "ipv4", "uuid", …).
#pragma once

#include <string_view>

namespace gangway::json {

// Whether `text` has the format. Formats that Kubernetes does not check (also unknown ones) accept everything.
bool matches_format(std::string_view format, std::string_view text);

}  // namespace gangway::json
