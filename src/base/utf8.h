// UTF-8 as a value: whether bytes from outside are text. Pure; callable from any thread.
#pragma once

#include <string_view>

namespace gangway {

// Whether `text` is UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool valid_utf8(std::string_view text);

}  // namespace gangway
