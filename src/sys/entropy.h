// Entropy: the seam for randomness (uids, name suffixes, keys). Callable from any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace gangway::sys {

class Entropy {
 public:
  virtual ~Entropy() = default;
  virtual void fill(std::span<std::byte> out) = 0;
};

// The kernel's generator.
Entropy& system_entropy();

// A random (version 4) UUID.
std::string new_uid(Entropy& entropy);
// `length` characters of the alphabet Kubernetes uses for generated names (no vowels, nothing that looks like another).
std::string name_suffix(Entropy& entropy, std::size_t length = 5);

}  // namespace gangway::sys
