#include "base/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace gangway {
namespace {

constexpr std::string_view kStandard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t kNone = 0xff;

constexpr std::array<std::uint8_t, 256> inverse(std::string_view alphabet) {
  std::array<std::uint8_t, 256> table{};
  table.fill(kNone);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  return table;
}

constexpr auto kFromStandard = inverse(kStandard);
constexpr auto kFromUrl = inverse(kUrl);

std::string encode(std::string_view bytes, std::string_view alphabet, bool padded) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t have = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) group = group << 8 | (j < have ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j) {
      if (j <= have)
        text.push_back(alphabet[group >> (18 - 6 * j) & 63U]);
      else if (padded)
        text.push_back('=');
    }
  }
  return text;
}

// `text` carries no padding any more.
Result<std::string> decode(std::string_view text, const std::array<std::uint8_t, 256>& table) {
  if (text.size() % 4 == 1) return bad_request("base64: the text is cut short");
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t group = 0;
  unsigned bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint8_t value = table[static_cast<unsigned char>(text[i])];
    if (value == kNone) return bad_request("base64: illegal character at offset " + std::to_string(i));
    group = group << 6 | value;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<char>(group >> bits & 0xffU));
    }
  }
  // Two texts must not stand for the same bytes: the bits that encode nothing have to be zero.
  if ((group & ((1U << bits) - 1U)) != 0) return bad_request("base64: the last character has bits that encode nothing");
  return bytes;
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  return encode(bytes, kStandard, true);
}

Result<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return bad_request("base64: the length is not a multiple of four");
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  return decode(text, kFromStandard);
}

std::string base64url_encode(std::string_view bytes) {
  return encode(bytes, kUrl, false);
}

Result<std::string> base64url_decode(std::string_view text) {
  return decode(text, kFromUrl);
}

}  // namespace gangway
