#include "json/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace gangway::json {
namespace {

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_infinity_or_nan(std::string_view text) {
  if (is_one_of(text, {".nan", ".NaN", ".NAN"})) return true;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return is_one_of(text, {".inf", ".Inf", ".INF"});
}

std::optional<Value> parse_integer(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  std::string_view digits = text;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    const char letter = static_cast<char>(digits[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
    digits.remove_prefix(letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1);
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!negative) return number <= kMax ? Value(static_cast<std::int64_t>(number)) : Value(number);
  if (number > kMax + 1) return std::nullopt;
  return number == kMax + 1 ? Value(std::numeric_limits<std::int64_t>::min())
                            : Value(-static_cast<std::int64_t>(number));
}

// Digits, at most one point, an exponent with digits; at least one digit before the exponent.
bool looks_like_float(std::string_view text) {
  std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const auto skip_digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - from;
  };
  std::size_t digits = skip_digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    digits += skip_digits();
  }
  if (digits == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (skip_digits() == 0) return false;
  }
  return at == text.size();
}

}  // namespace

std::optional<Value> resolve_plain_scalar(std::string_view text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return Value(nullptr);
  if (is_one_of(text, {"true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})) return Value(true);
  if (is_one_of(text, {"false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF"}))
    return Value(false);
  if (is_infinity_or_nan(text)) return std::nullopt;
  const char first = text[0];
  if ((first < '0' || first > '9') && first != '-' && first != '+' && first != '.') return Value(text);
  std::string plain(text);
  std::erase(plain, '_');
  if (std::optional<Value> integer = parse_integer(plain)) return integer;
  if (!looks_like_float(plain)) return Value(text);
  const char* begin = plain.data() + (plain[0] == '+' ? 1 : 0);
  double number = 0;
  const auto [end, error] = std::from_chars(begin, plain.data() + plain.size(), number);
  if (error != std::errc() || end != plain.data() + plain.size() || !std::isfinite(number)) return Value(text);
  return Value(number);
}

}  // namespace gangway::json
