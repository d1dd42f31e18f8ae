// SplitMix64: one addition and three mixes. For spreading, jitter and simulations; never for secrets.
#pragma once

#include <cstdint>

namespace gangway {

// The next number of the sequence that `state` stands for.
constexpr std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace gangway
