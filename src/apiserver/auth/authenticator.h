// Authenticator: who sent a request. Client certificates first, then bearer tokens; without either, system:anonymous.
//
// What it needs of the outside (signatures, the objects that tokens are bound to) is given to it. Immutable; usable
// from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/auth/rbac.h"
#include "apiserver/auth/user.h"
#include "base/result.h"
#include "base/time.h"
#include "json/value.h"
#include "store/store.h"
#include "sys/http.h"

namespace gangway::apiserver {

// The claims of a token that one of our keys signed; an error for everything else.
using VerifyToken = std::function<Result<json::Value>(std::string_view token)>;

class Authenticator {
 public:
  struct Options {
    VerifyToken verify;
    std::string issuer;
    std::vector<std::string> audiences;  // those of the API server itself
    std::string admin_token = {};        // empty: there is none
    UserInfo admin = {};
  };
  explicit Authenticator(Options options) : options_(std::move(options)) {}

  // kUnauthorized when credentials were sent and are not good.
  Result<UserInfo> authenticate(const sys::HttpRequest& request, const store::Root& state, WallTime now) const;

  struct TokenIdentity {
    UserInfo user;
    std::vector<std::string> audiences;  // of the token, those that were asked for
  };
  // What a TokenReview asks; without audiences, the API server's own.
  Result<TokenIdentity> review_token(std::string_view token, const std::vector<std::string>& audiences,
                                     const store::Root& state, WallTime now) const;

 private:
  Options options_;
};

// The user that an Impersonate-User header asks for, if `user` may act as them; `user` itself without such a header.
Result<UserInfo> impersonate(const sys::HttpHeaders& headers, const UserInfo& user, const RbacPolicy& policy);

}  // namespace gangway::apiserver
