#include "crypto/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "base/check.h"
#include "crypto/openssl.h"

namespace gangway::crypto {

std::string sha256(std::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(as_bytes(bytes), bytes.size(), digest);
  return {reinterpret_cast<const char*>(digest), sizeof digest};
}

std::string sha256_hex(std::string_view bytes) {
  return to_hex(sha256(bytes));
}

std::string md5_hex(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  GW_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_md5(), nullptr) == 1);
  return to_hex({reinterpret_cast<const char*>(digest), size});
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  unsigned int size = 0;
  GW_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), as_bytes(bytes), bytes.size(), digest, &size) !=
           nullptr);
  return {reinterpret_cast<const char*>(digest), size};
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto value = static_cast<unsigned char>(c);
    text.push_back(kHex[value >> 4]);
    text.push_back(kHex[value & 0x0fU]);
  }
  return text;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace gangway::crypto
