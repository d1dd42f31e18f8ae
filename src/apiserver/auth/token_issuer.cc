#include "apiserver/auth/token_issuer.h"

#include <fmt/format.h>

#include "apiserver/auth/user.h"
#include "base/quote.h"

namespace gangway::apiserver {
namespace {

constexpr std::int64_t kLeastSeconds = 600;
constexpr std::int64_t kMostSeconds = std::int64_t{1} << 32;
// Tokens that are mounted into pods ask for this odd time. They live a year, for clients that never read them again,
// and carry the time after which such a client should be warned about.
constexpr std::int64_t kMountedSeconds = 3607;
constexpr std::int64_t kExtendedSeconds = 365LL * 24 * 3600;

Error not_found(std::string_view resource, std::string_view name) {
  return Error{.reason = Reason::kNotFound,
               .message = fmt::format("{} {} not found", resource, quoted(name)),
               .subject = {.group = {}, .kind = std::string(resource), .name = std::string(name), .uid = {}},
               .causes = {}};
}

Error invalid(std::string_view name, std::string field, std::string message) {
  return Error{
      .reason = Reason::kInvalid,
      .message = fmt::format("TokenRequest.authentication.k8s.io {} is invalid: {}: {}", quoted(name), field, message),
      .subject = {.group = "authentication.k8s.io", .kind = "TokenRequest", .name = std::string(name), .uid = {}},
      .causes = {{"FieldValueInvalid", message, field}}};
}

// A request may say which account it is for, if it says it right.
Result<void> check_identity(const json::Value& request, const api::ObjectName& account) {
  auto check = [&](std::string_view key, std::string_view own) -> Result<void> {
    auto said = json::string_at(request, {"metadata", key});
    if (said.empty() || said == own) return {};
    return invalid(account.name, fmt::format("metadata.{}", key),
                   fmt::format("Invalid value: {}: must match the service account {} if specified", quoted(said), key));
  };
  GW_CHECKED(check("name", account.name));
  return check("namespace", account.ns);
}

json::Object reference(const api::Header& header) {
  return {{"name", header.name.name}, {"uid", header.uid}};
}

struct Bound {
  json::Object claims;  // what goes into "kubernetes.io"
  bool to_pod = false;
};

// The object that the token shall die with.
Result<Bound> bind(const json::Value& request, const api::ObjectName& account, const store::Root& state) {
  Bound bound;
  const auto* ref = json::find(request, {"spec", "boundObjectRef"});
  if (ref == nullptr || !ref->is_object()) return bound;
  auto kind = json::string_at(*ref, {"kind"});
  std::string name(json::string_at(*ref, {"name"}));
  std::string uid(json::string_at(*ref, {"uid"}));
  const char* resource = kind == "Pod" ? "pods" : kind == "Secret" ? "secrets" : kind == "Node" ? "nodes" : nullptr;
  if (resource == nullptr || json::string_at(*ref, {"apiVersion"}) != "v1") {
    auto api_version = json::string_at(*ref, {"apiVersion"});
    return bad_request(fmt::format("cannot bind token to object of type {}{}, Kind={}",
                                   api_version.find('/') == std::string_view::npos ? "/" : "", api_version, kind));
  }
  auto object = state.get({resource, {kind == "Node" ? std::string() : account.ns, name}});
  if (!object) return not_found(resource, name);
  if (!uid.empty() && uid != object.header->uid) {
    return Error{.reason = Reason::kConflict,
                 .message = fmt::format("Operation cannot be fulfilled on {} {}: the UID in the bound object reference "
                                        "({}) does not match the UID in record. The object might have been deleted and "
                                        "then recreated",
                                        kind, quoted(name), uid),
                 .subject = {.group = {}, .kind = std::string(kind), .name = name, .uid = {}},
                 .causes = {}};
  }
  if (kind == "Pod") {
    auto pod = json::parse(*object.json);
    if (!pod) return pod.error();
    if (json::string_at(*pod, {"spec", "serviceAccountName"}) != account.name) {
      return bad_request(
          fmt::format("cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                      quoted(account.name)));
    }
    std::string node(json::string_at(*pod, {"spec", "nodeName"}));
    if (auto found = state.get({"nodes", {"", node}})) bound.claims["node"] = reference(*found.header);
    bound.to_pod = true;
  }
  bound.claims[kind == "Pod" ? "pod" : kind == "Secret" ? "secret" : "node"] = reference(*object.header);
  return bound;
}

}  // namespace

json::Value node_token_claims(const std::string& issuer, const std::string& node, WallTime now, Duration life) {
  const auto seconds = [](WallTime time) {
    return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  };
  return json::Object{{"aud", json::Array{json::Value(issuer)}},
                      {"exp", seconds(now + life)},
                      {"iat", seconds(now)},
                      {"iss", issuer},
                      {"nbf", seconds(now)},
                      {"sub", std::string(kNodeUserPrefix) + node},
                      {kNodeTokenClaim, json::Object{{"node", node}}}};
}

Result<json::Value> TokenIssuer::issue(const api::ObjectName& account, json::Value request, const store::Root& state,
                                       WallTime now, const std::string& token_id) const {
  GW_CHECKED(check_identity(request, account));
  auto found = state.get({"serviceaccounts", account});
  if (!found) return not_found("serviceaccounts", account.name);
  auto& spec = json::object_at(request, {"spec"});
  auto& audiences = spec["audiences"];
  bool own_audiences = !audiences.is_array() || audiences.get_array().empty();
  if (own_audiences) audiences = json::Array(options_.audiences.begin(), options_.audiences.end());
  auto& wanted = spec["expirationSeconds"];
  if (!wanted.is_int64()) wanted = kDefaultSeconds;
  const auto seconds = wanted.get_int64();
  if (seconds < kLeastSeconds || seconds > kMostSeconds) {
    auto rule = seconds < kLeastSeconds ? "may not specify a duration less than 10 minutes"
                                        : "may not specify a duration larger than 2^32 seconds";
    return invalid("", "spec.expirationSeconds", fmt::format("Invalid value: {}: {}", seconds, rule));
  }

  GW_TRY(auto bound, bind(request, account, state));
  json::Object kubernetes = std::move(bound.claims);
  kubernetes["namespace"] = account.ns;
  kubernetes["serviceaccount"] = reference(*found.header);
  const auto issued = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  auto lifetime = seconds;
  if (bound.to_pod && own_audiences && seconds == kMountedSeconds) {
    kubernetes["warnafter"] = issued + seconds;
    lifetime = kExtendedSeconds;
  }
  json::Value claims(json::Object{{"aud", request.at("spec").at("audiences")},
                                  {"exp", issued + lifetime},
                                  {"iat", issued},
                                  {"iss", options_.issuer},
                                  {"jti", token_id},
                                  {"kubernetes.io", std::move(kubernetes)},
                                  {"nbf", issued},
                                  {"sub", service_account_user(account.ns, account.name)}});
  GW_TRY(auto token, options_.sign(json::serialize(claims)));
  auto& metadata = json::object_at(request, {"metadata"});
  metadata["name"] = account.name;
  metadata["namespace"] = account.ns;
  metadata["creationTimestamp"] = to_rfc3339(now);
  json::object_at(request, {"status"}) = {{"token", token},
                                          {"expirationTimestamp", to_rfc3339(now + std::chrono::seconds(seconds))}};
  return request;
}

}  // namespace gangway::apiserver
