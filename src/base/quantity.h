// Quantity: amounts of resources as users write them ("500m", "4Gi", "1e3"), exact, with Kubernetes' canonical form.
//
// Three things differ from Kubernetes on purpose: what is too large for value() and milli_value() gives the largest
// integer instead of zero or a wrapped one; amounts beyond the last suffix keep their zeros ("1000E", not "1"); and
// texts of more than 512 characters or exponents above 1000 are refused. A value type, usable from any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/decimal.h"
#include "base/result.h"

namespace gangway {

class Quantity {
 public:
  enum class Format : std::uint8_t { kDecimalSi, kBinarySi, kDecimalExponent };

  Quantity() = default;  // 0
  static Result<Quantity> parse(std::string_view text);
  static Quantity of(std::int64_t value, Format format = Format::kDecimalSi);
  static Quantity of_milli(std::int64_t value, Format format = Format::kDecimalSi);

  // What the API server answers for a quantity it read: the text as given where that is accepted as canonical, which
  // includes forms such as "+1" and "1.500", and the canonical form otherwise.
  std::string to_string() const;
  // The canonical form whatever the text was.
  std::string canonical() const;

  bool is_zero() const { return amount_.is_zero(); }
  bool is_negative() const { return amount_.is_negative(); }
  // Rounded away from zero.
  std::int64_t value() const { return amount_.scaled(0); }
  std::int64_t milli_value() const { return amount_.scaled(-3); }
  Format format() const { return format_; }

  // Zero takes the format of what is added to it or subtracted from it.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  Quantity operator+(const Quantity& other) const;
  Quantity operator-(const Quantity& other) const;
  Quantity operator-() const;

  // Amounts compare; the format does not count: 1Ki == 1024.
  std::strong_ordering operator<=>(const Quantity& other) const { return amount_ <=> other.amount_; }
  bool operator==(const Quantity& other) const { return amount_ == other.amount_; }

 private:
  Decimal amount_;
  Format format_ = Format::kDecimalSi;
  std::string text_;  // the text as given, when to_string() keeps it
};

}  // namespace gangway
