// TokenIssuer: the rules of TokenRequest, the tokens that service accounts (and the pods that run as them) log in with.
//
// It makes the claims; signing is given to it. Immutable; usable from any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"
#include "base/result.h"
#include "base/time.h"
#include "json/value.h"
#include "store/store.h"

namespace gangway::apiserver {

// The compact signed form of a JSON object of claims.
using SignToken = std::function<Result<std::string>(std::string_view claims)>;

// Where the claims of a node's token name the node.
inline constexpr std::string_view kNodeTokenClaim = "gangway.dev";
// The claims of a token by which the agent of a node on another machine logs in as system:node:<name>.
json::Value node_token_claims(const std::string& issuer, const std::string& node, WallTime now, Duration life);

class TokenIssuer {
 public:
  static constexpr std::int64_t kDefaultSeconds = 3600;

  struct Options {
    SignToken sign;
    std::string issuer;
    std::vector<std::string> audiences;  // for requests that name none
  };
  explicit TokenIssuer(Options options) : options_(std::move(options)) {}

  // `request` is a TokenRequest for the service account; `token_id` is a fresh uid. Returns the TokenRequest with its
  // defaults and its status set.
  Result<json::Value> issue(const api::ObjectName& account, json::Value request, const store::Root& state, WallTime now,
                            const std::string& token_id) const;

  const std::string& issuer() const { return options_.issuer; }

 private:
  Options options_;
};

}  // namespace gangway::apiserver
