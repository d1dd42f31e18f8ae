// A quick hash whose values may be stored and compared between processes: FNV-1a, 64 bits. Not for secrets, and not
// against somebody who looks for collisions.
#pragma once

#include <cstdint>
#include <string_view>

namespace gangway {

constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t seed = 0) {
  std::uint64_t hash = 14695981039346656037ULL ^ seed;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return hash;
}

}  // namespace gangway
