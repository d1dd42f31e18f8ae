// Go's view of a time text: the error that decoding it gives. Only for messages; base/time.h reads times.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gangway::json {

// None when `text` is an RFC 3339 time. `micro` asks for exactly six digits of a second, as MicroTime does.
std::optional<std::string> go_time_error(std::string_view text, bool micro);

}  // namespace gangway::json
