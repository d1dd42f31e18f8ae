// UTF-8 as a value: whether bytes from outside are text. Pure; callable from any thread.
#pragma once

#include <string>
#include <string_view>

namespace gangway {

// Whether `text` is UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool valid_utf8(std::string_view text);

// `text` with U+FFFD for every byte that is not part of a character: what may be shown of bytes that claimed to be
// text.
std::string repaired_utf8(std::string_view text);

}  // namespace gangway
