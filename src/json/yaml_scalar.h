// What a plain YAML scalar means. Shared by the reader and the writer of yaml.h, so that they agree.
#pragma once

#include <optional>
#include <string_view>

#include "json/value.h"

namespace gangway::json {

// Null for a number that JSON cannot hold (.inf, .nan).
std::optional<Value> resolve_plain_scalar(std::string_view text);

}  // namespace gangway::json
