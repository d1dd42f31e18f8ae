#include <fmt/format.h>

#include <algorithm>

#include "apiserver/auth/authenticator.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kExtraPrefix = "impersonate-extra-";

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The bytes of a key whose %-escapes are right; the key as it is otherwise.
std::string unescaped_key(const std::string& key) {
  std::string out;
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] != '%') {
      out += key[i];
      continue;
    }
    int high = i + 2 < key.size() ? hex_value(key[i + 1]) : -1;
    int low = i + 2 < key.size() ? hex_value(key[i + 2]) : -1;
    if (high < 0 || low < 0) return key;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

struct ServiceAccountName {
  std::string ns;
  std::string name;
};

std::optional<ServiceAccountName> split_service_account(std::string_view user) {
  if (!user.starts_with(kServiceAccountPrefix)) return std::nullopt;
  user.remove_prefix(kServiceAccountPrefix.size());
  auto colon = user.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == user.size()) return std::nullopt;
  if (user.find(':', colon + 1) != std::string_view::npos) return std::nullopt;
  return ServiceAccountName{std::string(user.substr(0, colon)), std::string(user.substr(colon + 1))};
}

// What the headers ask for: the user, and one question for the policy a name in them.
struct Wish {
  UserInfo user;
  std::vector<Attributes> needs;
  bool has_groups = false;

  void need(std::string_view resource, std::string_view name, std::string_view group = {}, std::string_view ns = {},
            std::string_view subresource = {}) {
    Attributes attributes;
    attributes.verb = "impersonate";
    attributes.is_resource = true;
    attributes.group = group;
    attributes.version = "v1";
    attributes.resource = resource;
    attributes.subresource = subresource;
    attributes.ns = ns;
    attributes.name = name;
    needs.push_back(std::move(attributes));
  }
};

void add_groups(const sys::HttpHeaders& headers, Wish& wish) {
  for (auto group : headers.all("Impersonate-Group")) {
    wish.user.groups.emplace_back(group);
    wish.need("groups", group);
    wish.has_groups = true;
  }
}

void add_extra(const sys::HttpHeaders& headers, Wish& wish) {
  for (const auto& [name, value] : headers.entries()) {
    auto lower = lower_case(name);
    if (!lower.starts_with(kExtraPrefix)) continue;
    auto key = unescaped_key(lower.substr(kExtraPrefix.size()));
    wish.need("userextras", value, "authentication.k8s.io", {}, key);
    wish.user.extra[std::move(key)].push_back(value);
  }
}

void add_implied_groups(Wish& wish) {
  auto& user = wish.user;
  if (user.name == kAnonymousUser) {
    if (!user.in_group(kUnauthenticatedGroup)) user.groups.emplace_back(kUnauthenticatedGroup);
  } else if (!user.in_group(kAuthenticatedGroup) && !user.in_group(kUnauthenticatedGroup)) {
    user.groups.emplace_back(kAuthenticatedGroup);
  }
}

}  // namespace

Result<UserInfo> impersonate(const sys::HttpHeaders& headers, const UserInfo& user, const RbacPolicy& policy) {
  Wish wish;
  wish.user.name = headers.get("Impersonate-User");
  auto account = split_service_account(wish.user.name);
  if (account) {
    wish.need("serviceaccounts", account->name, {}, account->ns);
  } else if (!wish.user.name.empty()) {
    wish.need("users", wish.user.name);
  }
  add_groups(headers, wish);
  add_extra(headers, wish);
  if (auto uid = headers.get("Impersonate-Uid"); !uid.empty()) {
    wish.user.uid = uid;
    wish.need("uids", uid, "authentication.k8s.io");
  }
  if (wish.needs.empty()) return user;
  if (wish.user.name.empty()) {
    return internal_error("requested groups, extra or uid to impersonate without Impersonate-User");
  }
  for (auto& need : wish.needs) {
    need.user = user;
    auto decision = policy.authorize(need);
    if (!decision.allowed) return forbidden(need, decision.reason);
  }
  if (account && !wish.has_groups) {
    wish.user.groups = {std::string(kServiceAccountsGroup), std::string(kServiceAccountsGroup) + ":" + account->ns};
  }
  add_implied_groups(wish);
  return std::move(wish.user);
}

}  // namespace gangway::apiserver
