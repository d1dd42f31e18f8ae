// Digests and comparisons that do not leak. Pure functions, usable from any thread.
#pragma once

#include <string>
#include <string_view>

namespace gangway::crypto {

// 32 raw bytes.
std::string sha256(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);
// Not for anything that must be safe: ids that other tools make the same way.
std::string md5_hex(std::string_view bytes);
// HMAC-SHA-256, 32 raw bytes.
std::string hmac_sha256(std::string_view key, std::string_view bytes);
std::string to_hex(std::string_view bytes);
// Takes as long for a difference in the first byte as for one in the last. Lengths are not secret.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace gangway::crypto
