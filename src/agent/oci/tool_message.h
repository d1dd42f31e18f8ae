// What runc, skopeo and umoci mean by what they print. Pure.
#pragma once

#include <string>
#include <string_view>

namespace gangway::agent::oci {

// The message of the last line: the text of msg="…" where the line is a log line (time="…" level=error msg="…"), the
// line itself otherwise.
std::string tool_message(std::string_view printed);

}  // namespace gangway::agent::oci
