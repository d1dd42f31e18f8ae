// Sums and products of amounts that stop at the ends of their type instead of wrapping: users may write any number.
#pragma once

#include <cstdint>
#include <limits>

namespace gangway::planning::queueing {

// In the place of a limit that is not set: more than anybody has.
inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

constexpr std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : kUnlimited;
}

constexpr std::int64_t minus(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : kUnlimited;
}

// Of numbers that are not negative.
constexpr std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kUnlimited : product;
}

}  // namespace gangway::planning::queueing
