// Ownership of OpenSSL's objects and its error text, for the .cc files of this folder only.
#pragma once

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gangway::crypto {

struct OpenSslDelete {
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(BIGNUM* p) const { BN_free(p); }
  void operator()(ECDSA_SIG* p) const { ECDSA_SIG_free(p); }
  void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(GENERAL_NAME* p) const { GENERAL_NAME_free(p); }
  void operator()(GENERAL_NAMES* p) const { GENERAL_NAMES_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(X509_EXTENSION* p) const { X509_EXTENSION_free(p); }
  void operator()(X509_STORE* p) const { X509_STORE_free(p); }
  void operator()(X509_STORE_CTX* p) const { X509_STORE_CTX_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, OpenSslDelete>;

inline const unsigned char* as_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// The last OpenSSL error behind "what: ", and the queue emptied.
Error openssl_error(std::string_view what);
// What was written to a memory BIO.
std::string bio_text(BIO* bio);
Owned<BIO> bio_of(std::string_view text);

Result<Owned<EVP_PKEY>> read_private_key(std::string_view pem);
Result<Owned<X509>> read_certificate(std::string_view pem);

}  // namespace gangway::crypto
