#include "base/quantity.h"

#include <array>
#include <charconv>
#include <limits>
#include <optional>

namespace gangway {
namespace {

using Format = Quantity::Format;

constexpr std::size_t kMaxTextLength = 512;
constexpr int kMaxExponent = 1000;
constexpr int kNano = -9;
constexpr std::size_t kInt64Digits = 18;  // every number of so many digits fits into 64 bits

struct Suffix {
  std::string_view text;
  int exponent;  // of 10, or of 1024
};
constexpr std::array<Suffix, 10> kDecimalSuffixes = {
    {{"n", -9}, {"u", -6}, {"m", -3}, {"", 0}, {"k", 3}, {"M", 6}, {"G", 9}, {"T", 12}, {"P", 15}, {"E", 18}}};
constexpr std::array<Suffix, 6> kBinarySuffixes = {{{"Ki", 1}, {"Mi", 2}, {"Gi", 3}, {"Ti", 4}, {"Pi", 5}, {"Ei", 6}}};

Error format_error() {
  return bad_request("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}
Error number_error() {
  return bad_request("unable to parse numeric part of quantity");
}
Error suffix_error() {
  return bad_request("unable to parse quantity's suffix");
}

// The text taken apart. Kubernetes takes a missing number for zero, in "Ki" as in "+" and ".".
struct Parts {
  bool negative = false;
  std::string_view whole;     // without leading zeros
  std::string_view fraction;  // as written
  bool has_number = false;    // a digit was seen
  std::string_view suffix;
};

std::string_view take_digits(std::string_view& rest) {
  auto digits = rest.substr(0, rest.find_first_not_of("0123456789"));
  rest.remove_prefix(digits.size());
  return digits;
}

Result<Parts> split(std::string_view text) {
  Parts parts;
  auto rest = text;
  if (rest.starts_with('-') || rest.starts_with('+')) {
    parts.negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  parts.whole = take_digits(rest);
  parts.has_number = !parts.whole.empty();
  parts.whole.remove_prefix(std::min(parts.whole.find_first_not_of('0'), parts.whole.size()));
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    parts.fraction = take_digits(rest);
    parts.has_number = parts.has_number || !parts.fraction.empty();
  }
  parts.suffix = rest;
  rest.remove_prefix(std::min(rest.find_first_not_of("eEinumkKMGTP"), rest.size()));
  if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
  take_digits(rest);
  if (!rest.empty()) return format_error();
  return parts;
}

struct Scale {
  Format format;
  int exponent;
};

Result<Scale> interpret(std::string_view suffix) {
  for (const auto& known : kDecimalSuffixes) {
    if (suffix == known.text) return Scale{Format::kDecimalSi, known.exponent};
  }
  for (const auto& known : kBinarySuffixes) {
    if (suffix == known.text) return Scale{Format::kBinarySi, known.exponent};
  }
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return suffix_error();
  suffix.remove_prefix(suffix[1] == '+' ? 2 : 1);
  int exponent = 0;
  auto [end, error] = std::from_chars(suffix.data(), suffix.data() + suffix.size(), exponent);
  if (error == std::errc::result_out_of_range && suffix[0] == '-')
    exponent = -kMaxExponent;
  else if (error != std::errc() || end != suffix.data() + suffix.size() || exponent > kMaxExponent)
    return suffix_error();
  return Scale{Format::kDecimalExponent, std::max(exponent, -kMaxExponent)};
}

// Kubernetes has a short way for numbers that fit into 64 bits. It shows: only that way keeps the text as it was
// given, and only that way takes a missing number for zero.
bool is_short(const Parts& parts, std::size_t digits, Scale scale) {
  if (scale.format != Format::kBinarySi) {
    return digits <= kInt64Digits && scale.exponent - static_cast<int>(parts.fraction.size()) >= kNano;
  }
  return parts.fraction.empty() && static_cast<int>(digits) + scale.exponent * 3 + 1 <= 15;
}

bool keeps_text(const Parts& parts, Scale scale) {
  if (scale.format == Format::kBinarySi) {
    int last_digits = 0;  // a number's last three digits say whether eight divides it
    for (char c : parts.whole.substr(parts.whole.size() - std::min<std::size_t>(3, parts.whole.size()))) {
      last_digits = last_digits * 10 + (c - '0');
    }
    return last_digits % 8 != 0;
  }
  auto fraction_digits = static_cast<int>(parts.fraction.size());
  if (parts.whole.empty() || (scale.exponent - fraction_digits) % 3 != 0) return false;
  std::string digits(parts.whole);
  digits += parts.fraction;
  return !digits.ends_with("000");
}

Decimal decimal_amount(const Parts& parts, int exponent) {
  std::string digits(parts.whole);
  digits += parts.fraction;
  return Decimal::of_digits(parts.negative, std::move(digits), exponent - static_cast<int>(parts.fraction.size()));
}

// number * 1024^factor. What is short fits into 64 bits, which saves long multiplication.
Decimal binary_amount(const Parts& parts, int factor, bool is_short_form) {
  if (is_short_form) {
    std::int64_t value = 0;
    for (char c : parts.whole) value = value * 10 + (c - '0');
    value *= std::int64_t{1} << (factor * 10);
    return Decimal::of(parts.negative ? -value : value);
  }
  auto amount = decimal_amount(parts, 0);
  for (int i = 0; i < factor; ++i) amount = amount.times_1024();
  return amount;
}

std::string with_exponent_of_three(const Decimal& amount, int largest_exponent, int& exponent) {
  exponent = amount.exponent();
  std::string digits = amount.digits();
  while (exponent % 3 != 0 || exponent > largest_exponent) {
    digits += '0';
    --exponent;
  }
  return digits;
}

std::string decimal_si_text(const Decimal& amount) {
  int exponent = 0;
  auto text = with_exponent_of_three(amount, kDecimalSuffixes.back().exponent, exponent);
  for (const auto& suffix : kDecimalSuffixes) {
    if (suffix.exponent == exponent) text += suffix.text;
  }
  return text;
}

std::string decimal_exponent_text(const Decimal& amount) {
  int exponent = 0;
  auto text = with_exponent_of_three(amount, std::numeric_limits<int>::max(), exponent);
  return exponent == 0 ? text : text + "e" + std::to_string(exponent);
}

std::string binary_si_text(Decimal amount) {
  std::size_t factor = 0;
  while (factor < kBinarySuffixes.size() && amount.divide_by_1024()) ++factor;
  std::string text = amount.digits();
  text.append(static_cast<std::size_t>(amount.exponent()), '0');
  if (factor > 0) text += kBinarySuffixes[factor - 1].text;
  return text;
}

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  if (text.empty() || text.size() > kMaxTextLength) return format_error();
  GW_TRY(Parts parts, split(text));
  GW_TRY(Scale scale, interpret(parts.suffix));

  auto digits = std::max<std::size_t>(1, parts.whole.size()) + parts.fraction.size();
  bool is_short_form = is_short(parts, digits, scale);
  if (!is_short_form && !parts.has_number) return number_error();

  Quantity quantity;
  quantity.format_ = scale.format;
  auto amount = scale.format == Format::kBinarySi ? binary_amount(parts, scale.exponent, is_short_form)
                                                  : decimal_amount(parts, scale.exponent);
  // Who asks for something gets something: less than the smallest unit is rounded up to it.
  quantity.amount_ = amount.rounded_away(kNano);
  if (is_short_form) {
    if (keeps_text(parts, scale)) quantity.text_ = text;
    return quantity;
  }
  if (scale.format == Format::kBinarySi && !quantity.is_zero()) {
    const auto largest = Decimal::of(std::numeric_limits<std::int64_t>::max());
    auto size = quantity.is_negative() ? quantity.amount_.negated() : quantity.amount_;
    if (size > largest) quantity.amount_ = quantity.is_negative() ? largest.negated() : largest;
    if (size < Decimal::of(1)) quantity.format_ = Format::kDecimalSi;
  }
  return quantity;
}

Quantity Quantity::of(std::int64_t value, Format format) {
  Quantity quantity;
  quantity.amount_ = Decimal::of(value);
  quantity.format_ = format;
  return quantity;
}

Quantity Quantity::of_milli(std::int64_t value, Format format) {
  Quantity quantity;
  quantity.amount_ = Decimal::of(value, -3);
  quantity.format_ = format;
  return quantity;
}

std::string Quantity::to_string() const {
  return text_.empty() ? canonical() : text_;
}

std::string Quantity::canonical() const {
  if (is_zero()) return "0";
  auto size = is_negative() ? amount_.negated() : amount_;
  std::string text;
  if (format_ == Format::kDecimalExponent) {
    text = decimal_exponent_text(size);
  } else if (format_ == Format::kBinarySi && size.exponent() >= 0 && size >= Decimal::of(1024)) {
    text = binary_si_text(size);
  } else {
    text = decimal_si_text(size);
  }
  return is_negative() ? "-" + text : text;
}

Quantity& Quantity::operator+=(const Quantity& other) {
  if (is_zero()) format_ = other.format_;
  amount_ = amount_ + other.amount_;
  text_.clear();
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  return *this += -other;
}

Quantity Quantity::operator+(const Quantity& other) const {
  auto sum = *this;
  sum += other;
  return sum;
}

Quantity Quantity::operator-(const Quantity& other) const {
  auto difference = *this;
  difference -= other;
  return difference;
}

Quantity Quantity::operator-() const {
  auto result = *this;
  result.amount_ = amount_.negated();
  result.text_.clear();
  return result;
}

}  // namespace gangway
