#include "sys/entropy.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "base/check.h"

namespace gangway::sys {
namespace {

class KernelEntropy final : public Entropy {
 public:
  void fill(std::span<std::byte> out) override {
    while (!out.empty()) {
      const ssize_t got = ::getrandom(out.data(), out.size(), 0);
      if (got < 0) {
        GW_CHECK(errno == EINTR);
        continue;
      }
      out = out.subspan(static_cast<std::size_t>(got));
    }
  }
};

}  // namespace

Entropy& system_entropy() {
  static KernelEntropy entropy;
  return entropy;
}

std::string new_uid(Entropy& entropy) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::array<std::byte, 16> bytes{};
  entropy.fill(bytes);
  bytes[6] = (bytes[6] & std::byte{0x0f}) | std::byte{0x40};  // version 4
  bytes[8] = (bytes[8] & std::byte{0x3f}) | std::byte{0x80};  // the RFC's variant
  std::string text;
  text.reserve(36);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text.push_back('-');
    const auto value = std::to_integer<unsigned>(bytes[i]);
    text.push_back(kHex[value >> 4]);
    text.push_back(kHex[value & 0x0fU]);
  }
  return text;
}

std::string name_suffix(Entropy& entropy, std::size_t length) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  // Bytes at or above the largest multiple of the alphabet's size would favour its first letters.
  constexpr unsigned kFair = 256 / kAlphabet.size() * kAlphabet.size();
  std::string text;
  text.reserve(length);
  std::array<std::byte, 16> bytes{};
  while (text.size() < length) {
    entropy.fill(bytes);
    for (std::size_t i = 0; i < bytes.size() && text.size() < length; ++i) {
      const auto value = std::to_integer<unsigned>(bytes[i]);
      if (value < kFair) text.push_back(kAlphabet[value % kAlphabet.size()]);
    }
  }
  return text;
}

}  // namespace gangway::sys
