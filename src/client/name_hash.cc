#include "client/name_hash.h"

namespace gangway::client {

std::string NameHash::text() const {
  std::string digits;
  std::uint64_t rest = state_;
  for (int i = 0; i < 10; ++i, rest /= kNameAlphabet.size()) digits += kNameAlphabet[rest % kNameAlphabet.size()];
  return digits;
}

std::string NameHash::hex() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += kDigits[(state_ >> shift) & 0xf];
  return digits;
}

}  // namespace gangway::client
