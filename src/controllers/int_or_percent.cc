#include "controllers/int_or_percent.h"

#include <charconv>

namespace gangway::controllers {

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<std::int64_t> scaled(const json::Value& value, std::int64_t whole, Rounding rounding) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_string()) {
    const std::string_view text = value.get_string();
    const auto percent = text.ends_with('%') ? parse_number(text.substr(0, text.size() - 1)) : std::nullopt;
    if (percent) return (*percent * whole + (rounding == Rounding::kUp ? 99 : 0)) / 100;
  }
  return bad_request("must be an integer or a percentage such as \"30%\" (got " + json::serialize(value) + ")");
}

}  // namespace gangway::controllers
