#include "apiserver/auth/authenticator.h"

#include <algorithm>

#include "apiserver/auth/token_issuer.h"

namespace gangway::apiserver {
namespace {

Error unauthorized() {
  return Error{.reason = Reason::kUnauthorized, .message = "Unauthorized", .subject = {}, .causes = {}};
}

// Takes as long for a wrong token as for the right one, so that none can be guessed byte by byte.
bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  }
  return difference == 0;
}

std::string_view bearer_token(const sys::HttpHeaders& headers) {
  auto value = headers.get("Authorization");
  constexpr std::string_view kScheme = "bearer ";
  if (value.size() <= kScheme.size()) return {};
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    char c = value[i] >= 'A' && value[i] <= 'Z' ? static_cast<char>(value[i] + 32) : value[i];
    if (c != kScheme[i]) return {};
  }
  value.remove_prefix(kScheme.size());
  while (value.starts_with(' ')) value.remove_prefix(1);
  return value;
}

std::optional<std::int64_t> number_at(const json::Value& claims, std::string_view key) {
  const auto* value = json::find(claims, {key});
  if (value == nullptr) return std::nullopt;
  if (value->is_int64()) return value->get_int64();
  // Others than us may write times with a fraction; those of 64 bits and more are nobody's times.
  if (value->is_double() && value->get_double() > -1e15 && value->get_double() < 1e15) {
    return static_cast<std::int64_t>(value->get_double());
  }
  return std::nullopt;
}

std::vector<std::string> audiences_of(const json::Value& claims) {
  std::vector<std::string> audiences;
  const auto* value = json::find(claims, {"aud"});
  if (value == nullptr) return audiences;
  if (value->is_string()) audiences.emplace_back(value->get_string());
  if (value->is_array()) {
    for (const auto& item : value->get_array()) {
      if (item.is_string()) audiences.emplace_back(item.get_string());
    }
  }
  return audiences;
}

bool is_in_time(const json::Value& claims, WallTime now) {
  auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  auto expiry = number_at(claims, "exp");
  auto not_before = number_at(claims, "nbf");
  return expiry && seconds < *expiry && (!not_before || seconds >= *not_before);
}

// An object that a token names must still be the very same one.
struct Reference {
  std::string name;
  std::string uid;
};

std::optional<Reference> reference_at(const json::Value& claims, std::string_view kind) {
  const auto* value = json::find(claims, {"kubernetes.io", kind});
  if (value == nullptr || !value->is_object()) return std::nullopt;
  return Reference{std::string(json::string_at(*value, {"name"})), std::string(json::string_at(*value, {"uid"}))};
}

bool exists(const store::Root& state, const char* resource, const std::string& ns, const Reference& reference,
            WallTime now) {
  auto object = state.get({resource, {ns, reference.name}});
  if (!object || object.header->uid != reference.uid) return false;
  // Deletion takes its time; a token outlives the start of it by a minute, so that what is ending can still report.
  return !object.header->deleting_since || now < *object.header->deleting_since + std::chrono::seconds(60);
}

// An agent on another machine has a token that says which node it is (see token_issuer.h).
std::optional<UserInfo> node_user_of(const json::Value& claims) {
  const std::string node(json::string_at(claims, {kNodeTokenClaim, "node"}));
  const std::string name = std::string(kNodeUserPrefix) + node;
  if (node.empty() || json::string_at(claims, {"sub"}) != name) return std::nullopt;
  return UserInfo{
      .name = name, .uid = {}, .groups = {std::string(kNodesGroup), std::string(kAuthenticatedGroup)}, .extra = {}};
}

// The user of a token whose signature, issuer and times are good.
Result<UserInfo> user_of(const json::Value& claims, const store::Root& state, WallTime now) {
  if (auto node = node_user_of(claims)) return std::move(*node);
  std::string ns(json::string_at(claims, {"kubernetes.io", "namespace"}));
  auto account = reference_at(claims, "serviceaccount");
  if (!account || json::string_at(claims, {"sub"}) != service_account_user(ns, account->name)) return unauthorized();
  if (!exists(state, "serviceaccounts", ns, *account, now)) return unauthorized();

  UserInfo user{.name = service_account_user(ns, account->name),
                .uid = account->uid,
                .groups = {std::string(kServiceAccountsGroup), std::string(kServiceAccountsGroup) + ":" + ns,
                           std::string(kAuthenticatedGroup)},
                .extra = {}};
  auto pod = reference_at(claims, "pod");
  auto secret = reference_at(claims, "secret");
  auto node = reference_at(claims, "node");
  if (pod && !exists(state, "pods", ns, *pod, now)) return unauthorized();
  if (secret && !exists(state, "secrets", ns, *secret, now)) return unauthorized();
  if (node && !pod && !exists(state, "nodes", "", *node, now)) return unauthorized();

  const std::string prefix = "authentication.kubernetes.io/";
  auto id = json::string_at(claims, {"jti"});
  if (!id.empty()) user.extra[prefix + "credential-id"] = {"JTI=" + std::string(id)};
  auto note = [&](const std::optional<Reference>& reference, const std::string& kind) {
    if (!reference) return;
    user.extra[prefix + kind + "-name"] = {reference->name};
    user.extra[prefix + kind + "-uid"] = {reference->uid};
  };
  note(pod, "pod");
  note(node, "node");
  return user;
}

}  // namespace

Result<UserInfo> Authenticator::authenticate(const sys::HttpRequest& request, const store::Root& state,
                                             WallTime now) const {
  if (!request.peer.common_name.empty()) {
    UserInfo user{.name = request.peer.common_name, .uid = {}, .groups = request.peer.organizations, .extra = {}};
    if (!user.in_group(kAuthenticatedGroup)) user.groups.emplace_back(kAuthenticatedGroup);
    return user;
  }
  if (auto token = bearer_token(request.headers); !token.empty()) {
    GW_TRY(auto identity, review_token(token, {}, state, now));
    return std::move(identity.user);
  }
  // Who shows a certificate wants to be somebody.
  if (!request.peer.certificate_error.empty()) return unauthorized();
  return UserInfo{
      .name = std::string(kAnonymousUser), .uid = {}, .groups = {std::string(kUnauthenticatedGroup)}, .extra = {}};
}

Result<Authenticator::TokenIdentity> Authenticator::review_token(std::string_view token,
                                                                 const std::vector<std::string>& audiences,
                                                                 const store::Root& state, WallTime now) const {
  const auto& wanted = audiences.empty() ? options_.audiences : audiences;
  if (!options_.admin_token.empty() && equal_in_constant_time(token, options_.admin_token)) {
    auto admin = options_.admin;
    if (!admin.in_group(kAuthenticatedGroup)) admin.groups.emplace_back(kAuthenticatedGroup);
    return TokenIdentity{.user = std::move(admin), .audiences = wanted};
  }
  auto claims = options_.verify(token);
  if (!claims || json::string_at(*claims, {"iss"}) != options_.issuer || !is_in_time(*claims, now)) {
    return unauthorized();
  }
  TokenIdentity identity;
  for (auto& audience : audiences_of(*claims)) {
    if (std::find(wanted.begin(), wanted.end(), audience) != wanted.end()) {
      identity.audiences.push_back(std::move(audience));
    }
  }
  if (identity.audiences.empty()) return unauthorized();
  GW_TRY(identity.user, user_of(*claims, state, now));
  return identity;
}

}  // namespace gangway::apiserver
