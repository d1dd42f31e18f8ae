// Reviews: questions that are answered and forgotten. Who is this token, may this user do that, who am I.
#pragma once

#include "apiserver/auth/authenticator.h"
#include "apiserver/auth/rbac.h"
#include "apiserver/auth/token_issuer.h"
#include "apiserver/derived.h"
#include "apiserver/rest/call.h"
#include "store/store.h"
#include "sys/entropy.h"

namespace gangway::apiserver {

class Reviews {
 public:
  struct Parts {
    store::Store& store;
    const Authenticator& authenticator;
    const TokenIssuer& tokens;
    Derived<RbacPolicy>& policy;
    sys::Entropy& entropy;
  };
  explicit Reviews(Parts parts) : parts_(parts) {}

  // A create of one of the review kinds.
  void review(const CallPtr& call, const Done& done) const;
  // serviceaccounts/NAME/token.
  void create_token(const CallPtr& call, const Done& done) const;

 private:
  Result<json::Value> answer(Call& call, json::Value review) const;
  void review_access(const Call& call, json::Value& review, const UserInfo& user) const;
  void review_rules(const Call& call, json::Value& review) const;
  void review_token(const Call& call, json::Value& review) const;

  Parts parts_;
};

}  // namespace gangway::apiserver
