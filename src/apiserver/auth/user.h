// UserInfo: who a request acts as. A value type.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::apiserver {

inline constexpr std::string_view kMastersGroup = "system:masters";  // may do everything
inline constexpr std::string_view kNodesGroup = "system:nodes";
inline constexpr std::string_view kAuthenticatedGroup = "system:authenticated";
inline constexpr std::string_view kUnauthenticatedGroup = "system:unauthenticated";
inline constexpr std::string_view kAnonymousUser = "system:anonymous";
inline constexpr std::string_view kNodeUserPrefix = "system:node:";
inline constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";
inline constexpr std::string_view kServiceAccountsGroup = "system:serviceaccounts";

struct UserInfo {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;

  bool in_group(std::string_view group) const { return std::find(groups.begin(), groups.end(), group) != groups.end(); }
  bool operator==(const UserInfo&) const = default;
};

// "system:serviceaccount:NS:NAME"
inline std::string service_account_user(std::string_view ns, std::string_view name) {
  return std::string(kServiceAccountPrefix).append(ns).append(":").append(name);
}

}  // namespace gangway::apiserver
