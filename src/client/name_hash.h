// NameHash: FNV-1a over typed parts, for the names of objects. A value; pure.
//
// Part of the names of stored objects: what it yields for the same parts must never change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gangway::client {

class NameHash {
 public:
  NameHash& mix(std::string_view text) {
    for (const char c : text) step(static_cast<unsigned char>(c));
    step(0xff);  // not a byte of UTF-8: keeps ("a", "bc") apart from ("ab", "c")
    return *this;
  }
  NameHash& mix(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) step(static_cast<unsigned char>(number >> shift));
    return *this;
  }

  std::uint64_t value() const { return state_; }
  // Ten characters that make no words.
  std::string text() const;
  // Sixteen hexadecimal digits.
  std::string hex() const;

 private:
  void step(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

// The characters of generated names: no vowels, and no digits that look like letters.
inline constexpr std::string_view kNameAlphabet = "bcdfghjklmnpqrstvwxz2456789";

}  // namespace gangway::client
