// Decimal: exact decimal numbers of any size, as far as quantities need them. Not a general number type: no division
// and no multiplication but by powers of two.
//
// The value is digits * 10^exponent, without leading or trailing zeros, so equal numbers have equal members. Up to 15
// digits live in the string itself and cost no allocation. A value type.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace gangway {

class Decimal {
 public:
  Decimal() = default;
  // value * 10^exponent
  static Decimal of(std::int64_t value, int exponent = 0);
  // `digits` must be decimal digits; leading and trailing zeros are fine.
  static Decimal of_digits(bool negative, std::string digits, int exponent);

  bool is_zero() const { return digits_.empty(); }
  bool is_negative() const { return negative_; }
  const std::string& digits() const { return digits_; }
  int exponent() const { return exponent_; }

  Decimal negated() const;
  Decimal operator+(const Decimal& other) const;
  Decimal operator-(const Decimal& other) const { return *this + other.negated(); }
  Decimal times_1024() const;
  // Requires an integer. True, and the number is divided, when nothing remains.
  bool divide_by_1024();
  // The nearest multiple of 10^scale that is not nearer to zero.
  Decimal rounded_away(int scale) const;
  // value / 10^scale, rounded away from zero; what does not fit becomes the largest or smallest integer.
  std::int64_t scaled(int scale) const;

  std::strong_ordering operator<=>(const Decimal& other) const;
  bool operator==(const Decimal& other) const = default;

 private:
  // How many digits stand before the decimal point (negative: how many zeros follow it).
  std::int64_t magnitude() const { return static_cast<std::int64_t>(digits_.size()) + exponent_; }
  std::strong_ordering compare_magnitude(const Decimal& other) const;
  void normalize();

  bool negative_ = false;
  std::string digits_;  // most significant first; empty is zero
  int exponent_ = 0;
};

}  // namespace gangway
