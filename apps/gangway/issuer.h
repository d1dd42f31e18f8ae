// Who signs the cluster's tokens, as they say it.
#pragma once

#include <string_view>

namespace gangway {

inline constexpr std::string_view kTokenIssuer = "https://kubernetes.default.svc.cluster.local";

}  // namespace gangway
