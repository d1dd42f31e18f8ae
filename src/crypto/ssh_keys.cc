#include "crypto/ssh_keys.h"

#include <openssl/core_names.h>
#include <openssl/pem.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "crypto/openssl.h"

namespace gangway::crypto {
namespace {

constexpr std::string_view kType = "ecdsa-sha2-nistp521";
constexpr std::string_view kCurve = "nistp521";

// RFC 4251: the length in four bytes, then the bytes.
void put(std::string& blob, std::string_view bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  for (const int shift : {24, 16, 8, 0}) blob.push_back(static_cast<char>((size >> shift) & 0xffU));
  blob.append(bytes);
}

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), as_bytes(bytes), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

Result<std::string> private_pem(EVP_PKEY* key) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey_traditional(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return openssl_error("cannot write the key for ssh");
  return bio_text(bio.get());
}

// The point that is the public key, uncompressed.
Result<std::string> public_point(EVP_PKEY* key) {
  std::size_t size = 0;
  if (EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, nullptr, 0, &size) != 1)
    return openssl_error("cannot read the key for ssh");
  std::string point(size, '\0');
  if (EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, reinterpret_cast<unsigned char*>(point.data()),
                                      point.size(), &size) != 1)
    return openssl_error("cannot read the key for ssh");
  point.resize(size);
  return point;
}

}  // namespace

Result<sys::SshKey> new_ssh_key() {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-521"));
  if (!key) return openssl_error("cannot make a key for ssh");
  GW_TRY(std::string pem, private_pem(key.get()));
  GW_TRY(const std::string point, public_point(key.get()));
  std::string blob;
  put(blob, kType);
  put(blob, kCurve);
  put(blob, point);
  return sys::SshKey{std::move(pem), std::string(kType) + " " + base64(blob) + "\n"};
}

}  // namespace gangway::crypto
