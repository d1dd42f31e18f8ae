// Signed tokens (JSON Web Tokens) as the API server sees them: claims in, compact token out, and back.
//
// Only the signature is judged here. Expiry, audience and subject are claims, and the caller's to check.
// Implementations are immutable and may be used from any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gangway::sys {

class TokenSigner {
 public:
  virtual ~TokenSigner() = default;
  // `claims` is a JSON object.
  virtual Result<std::string> sign(std::string_view claims) const = 0;
};

class TokenVerifier {
 public:
  virtual ~TokenVerifier() = default;
  // The claims of a token that one of our keys signed; kUnauthorized for everything else.
  virtual Result<std::string> verify(std::string_view token) const = 0;
  // The public keys as a JSON Web Key Set, for /openid/v1/jwks.
  virtual std::string jwks() const = 0;
};

}  // namespace gangway::sys
