// JSON Web Tokens signed with ES256, for service accounts. EcTokenSigner signs with one key; EcTokenVerifier takes
// tokens of several, so that keys can be replaced while old tokens live. Immutable, usable from any thread.
//
// Signing costs about 30 µs, verifying about 80 µs: callers that see the same token often may want to remember it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sys/signing.h"

namespace gangway::crypto {

class EcTokenSigner final : public sys::TokenSigner {
 public:
  // A P-256 key, as new_private_key_pem() makes it.
  static Result<std::unique_ptr<EcTokenSigner>> create(std::string_view private_key_pem);
  ~EcTokenSigner() override;
  Result<std::string> sign(std::string_view claims) const override;

 private:
  struct Key;
  explicit EcTokenSigner(std::unique_ptr<Key> key);
  std::unique_ptr<Key> key_;
};

class EcTokenVerifier final : public sys::TokenVerifier {
 public:
  // Private keys, of which only the public half is kept.
  static Result<std::unique_ptr<EcTokenVerifier>> create(const std::vector<std::string>& private_key_pems);
  ~EcTokenVerifier() override;
  Result<std::string> verify(std::string_view token) const override;
  std::string jwks() const override;

 private:
  struct Key;
  explicit EcTokenVerifier(std::vector<std::unique_ptr<Key>> keys);
  std::vector<std::unique_ptr<Key>> keys_;
};

}  // namespace gangway::crypto
