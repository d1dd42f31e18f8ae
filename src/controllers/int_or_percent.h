// Kubernetes' IntOrString where it means a number or a share: maxSurge, maxUnavailable, minAvailable. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace gangway::controllers {

// All of the text as a number; none when it is anything else. For annotations and the ends of names.
std::optional<std::int64_t> parse_number(std::string_view text);

enum class Rounding : std::uint8_t { kUp, kDown };

// An integer, or a percentage ("30%") of `whole`.
Result<std::int64_t> scaled(const json::Value& value, std::int64_t whole, Rounding rounding);

}  // namespace gangway::controllers
