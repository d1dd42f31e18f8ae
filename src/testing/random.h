// Random: the dice of a simulation. A value: the same seed gives the same throws, on every machine.
//
// The standard library's distributions are not used, because each implementation has its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/split_mix.h"
#include "base/time.h"
#include "sys/entropy.h"

namespace gangway::testing {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return split_mix(state_); }
  // 0 … bound-1. Requires: bound > 0.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  // first … last.
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(last - first) + 1));
  }
  bool chance(unsigned per_mille) { return below(1000) < per_mille; }
  Duration up_to(Duration longest) { return Duration(between(0, longest.count())); }
  Duration between(Duration shortest, Duration longest) { return Duration(between(shortest.count(), longest.count())); }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  // Dice of their own for `what`, so that what one part of a simulation throws does not change another's luck. Throws
  // nothing itself: the same for the same `what`, whoever asks first.
  Random fork(std::string_view what) const {
    std::uint64_t mixed = state_;
    for (const char c : what) mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return Random(split_mix(mixed));
  }

 private:
  std::uint64_t state_;
};

// uids and name suffixes of a simulation.
class SeededEntropy final : public sys::Entropy {
 public:
  explicit SeededEntropy(Random random) : random_(random) {}
  void fill(std::span<std::byte> out) override {
    for (auto& byte : out) byte = static_cast<std::byte>(random_.next());
  }

 private:
  Random random_;
};

}  // namespace gangway::testing
