// Base64 as values: the standard alphabet with padding (PEM bodies, Secrets), and the URL alphabet without (tokens).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gangway {

std::string base64_encode(std::string_view bytes);
// Strict: padding is required and nothing but the alphabet is taken.
Result<std::string> base64_decode(std::string_view text);

std::string base64url_encode(std::string_view bytes);
Result<std::string> base64url_decode(std::string_view text);

}  // namespace gangway
