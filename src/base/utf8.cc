#include "base/utf8.h"

namespace gangway {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

}  // namespace

bool valid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = byte_at(text, i);
    if (first < 0x80) {
      ++i;
      continue;
    }
    const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() - i < size) return false;
    for (std::size_t j = 1; j < size; ++j)
      if ((byte_at(text, i + j) & 0xc0U) != 0x80) return false;
    // Overlong forms, surrogates, and what lies beyond Unicode show in the second byte.
    const unsigned second = byte_at(text, i + 1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second > 0x8f))
      return false;
    i += size;
  }
  return true;
}

}  // namespace gangway
