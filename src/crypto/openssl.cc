#include "crypto/openssl.h"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace gangway::crypto {

Error openssl_error(std::string_view what) {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  char text[256] = "no reason given";
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  return internal_error(std::string(what) + ": " + text);
}

std::string bio_text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

Owned<BIO> bio_of(std::string_view text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<Owned<EVP_PKEY>> read_private_key(std::string_view pem) {
  const auto bio = bio_of(pem);
  Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  if (!key) return openssl_error("cannot read the private key");
  return key;
}

Result<Owned<X509>> read_certificate(std::string_view pem) {
  const auto bio = bio_of(pem);
  Owned<X509> certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (!certificate) return openssl_error("cannot read the certificate");
  return certificate;
}

}  // namespace gangway::crypto
