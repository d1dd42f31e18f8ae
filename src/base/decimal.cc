#include "base/decimal.h"

#include <algorithm>
#include <limits>

namespace gangway {
namespace {

int digit_at(const std::string& digits, std::int64_t from_the_right) {
  auto size = static_cast<std::int64_t>(digits.size());
  if (from_the_right < 0 || from_the_right >= size) return 0;
  return digits[static_cast<std::size_t>(size - 1 - from_the_right)] - '0';
}

}  // namespace

Decimal Decimal::of(std::int64_t value, int exponent) {
  auto digits = std::to_string(value);
  bool negative = value < 0;
  if (negative) digits.erase(0, 1);
  return of_digits(negative, std::move(digits), exponent);
}

Decimal Decimal::of_digits(bool negative, std::string digits, int exponent) {
  Decimal number;
  number.negative_ = negative;
  number.digits_ = std::move(digits);
  number.exponent_ = exponent;
  number.normalize();
  return number;
}

void Decimal::normalize() {
  digits_.erase(0, std::min(digits_.find_first_not_of('0'), digits_.size()));
  while (!digits_.empty() && digits_.back() == '0') {
    digits_.pop_back();
    ++exponent_;
  }
  if (digits_.empty()) {
    exponent_ = 0;
    negative_ = false;
  }
}

Decimal Decimal::negated() const {
  auto result = *this;
  if (!result.is_zero()) result.negative_ = !result.negative_;
  return result;
}

std::strong_ordering Decimal::compare_magnitude(const Decimal& other) const {
  if (is_zero() || other.is_zero()) return !is_zero() <=> !other.is_zero();
  if (auto order = magnitude() <=> other.magnitude(); order != 0) return order;
  // Both have their first digit at the same place, and no trailing zeros: the texts order as the numbers do.
  return digits_.compare(other.digits_) <=> 0;
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  if (negative_ != other.negative_) return negative_ ? std::strong_ordering::less : std::strong_ordering::greater;
  return negative_ ? other.compare_magnitude(*this) : compare_magnitude(other);
}

Decimal Decimal::operator+(const Decimal& other) const {
  if (is_zero()) return other;
  if (other.is_zero()) return *this;
  if (compare_magnitude(other) < 0) return other + *this;
  int exponent = std::min(exponent_, other.exponent_);
  auto places = magnitude() - exponent;
  std::string sum(static_cast<std::size_t>(places + 1), '0');
  int sign = negative_ == other.negative_ ? 1 : -1;
  int carry = 0;
  for (std::int64_t place = 0; place <= places; ++place) {
    int digit = digit_at(digits_, place - (exponent_ - exponent)) +
                sign * digit_at(other.digits_, place - (other.exponent_ - exponent)) + carry;
    carry = digit < 0 ? -1 : digit / 10;
    sum[static_cast<std::size_t>(places - place)] = static_cast<char>('0' + (digit - carry * 10));
  }
  return of_digits(negative_, std::move(sum), exponent);
}

Decimal Decimal::times_1024() const {
  std::string product(digits_.size() + 4, '0');
  int carry = 0;
  for (std::size_t i = 0; i < product.size(); ++i) {
    int value = digit_at(digits_, static_cast<std::int64_t>(i)) * 1024 + carry;
    product[product.size() - 1 - i] = static_cast<char>('0' + value % 10);
    carry = value / 10;
  }
  return of_digits(negative_, std::move(product), exponent_);
}

bool Decimal::divide_by_1024() {
  if (is_zero()) return false;
  std::string dividend = digits_;
  dividend.append(static_cast<std::size_t>(exponent_), '0');
  int remainder = 0;
  for (char& c : dividend) {
    remainder = remainder * 10 + (c - '0');
    c = static_cast<char>('0' + remainder / 1024);
    remainder %= 1024;
  }
  if (remainder != 0) return false;
  *this = of_digits(negative_, std::move(dividend), 0);
  return true;
}

Decimal Decimal::rounded_away(int scale) const {
  if (is_zero() || exponent_ >= scale) return *this;
  auto kept = magnitude() - scale;
  auto unit = of_digits(negative_, "1", scale);
  if (kept <= 0) return unit;
  return of_digits(negative_, digits_.substr(0, static_cast<std::size_t>(kept)), scale) + unit;
}

std::int64_t Decimal::scaled(int scale) const {
  using Limits = std::numeric_limits<std::int64_t>;
  auto rounded = rounded_away(scale);
  if (rounded.magnitude() - scale > 19) return negative_ ? Limits::min() : Limits::max();
  std::uint64_t value = 0;
  for (char c : rounded.digits_) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  for (int i = scale; i < rounded.exponent_; ++i) value *= 10;
  constexpr auto kMax = static_cast<std::uint64_t>(Limits::max());
  if (value > kMax) return negative_ ? Limits::min() : Limits::max();
  return negative_ ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

}  // namespace gangway
