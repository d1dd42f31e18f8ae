#include "apiserver/reviews.h"

#include <fmt/format.h>

#include "apiserver/rest/decode.h"
#include "apiserver/rest/options.h"
#include "apiserver/rest/ownership.h"
#include "apiserver/rest/prepare.h"
#include "apiserver/status.h"
#include "json/schema_decode.h"
#include "json/schema_default.h"
#include "json/structured_merge.h"

namespace gangway::apiserver {
namespace {

json::Array to_array(const std::vector<std::string>& values) {
  json::Array array;
  for (const auto& value : values) array.emplace_back(value);
  return array;
}

std::vector<std::string> to_vector(const json::Value* array) {
  std::vector<std::string> values;
  if (!array || !array->is_array()) return values;
  for (const auto& value : array->get_array()) {
    if (value.is_string()) values.emplace_back(value.get_string());
  }
  return values;
}

json::Object user_json(const UserInfo& user) {
  json::Object out{{"username", user.name}};
  if (!user.uid.empty()) out["uid"] = user.uid;
  if (!user.groups.empty()) out["groups"] = to_array(user.groups);
  json::Object extra;
  for (const auto& [key, values] : user.extra) extra[key] = to_array(values);
  if (!extra.empty()) out["extra"] = std::move(extra);
  return out;
}

UserInfo subject_of(const json::Value& spec) {
  UserInfo user;
  user.name = json::string_at(spec, {"user"});
  user.uid = json::string_at(spec, {"uid"});
  user.groups = to_vector(json::find(spec, {"groups"}));
  return user;
}

// The question in spec.resourceAttributes or spec.nonResourceAttributes.
Result<Attributes> attributes_asked(const Call& call, const json::Value& spec) {
  const auto* resource = json::find(spec, {"resourceAttributes"});
  const auto* path = json::find(spec, {"nonResourceAttributes"});
  if ((resource && resource->is_object()) == (path && path->is_object())) {
    bool both = resource && path;
    std::string why = both ? "cannot be specified in combination with resourceAttributes"
                           : "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    return invalid(call.kind->group, "", "",
                   {Cause{"FieldValueInvalid", fmt::format("Invalid value: \"null\": {}", why),
                          both ? "spec.nonResourceAttributes" : "spec.resourceAttributes"}});
  }
  Attributes attributes;
  attributes.is_resource = resource && resource->is_object();
  const auto& asked = attributes.is_resource ? *resource : *path;
  attributes.verb = json::string_at(asked, {"verb"});
  attributes.path = json::string_at(asked, {"path"});
  attributes.group = json::string_at(asked, {"group"});
  attributes.version = json::string_at(asked, {"version"});
  attributes.resource = json::string_at(asked, {"resource"});
  attributes.subresource = json::string_at(asked, {"subresource"});
  attributes.ns = json::string_at(asked, {"namespace"});
  attributes.name = json::string_at(asked, {"name"});
  return attributes;
}

// The body of a request for a token, as an object of its own kind with managed fields.
Result<json::Value> read_token_request(const Call& call, const WriteOptions& options) {
  constexpr std::string_view kType = "io.k8s.api.authentication.v1.TokenRequest";
  GW_TRY(auto body, read_body(call, kType));
  auto& request = body.value;
  const auto* schema = call.registry->shared_schemas().definition(kType);
  auto problem = request.is_object() ? json::check_types(request, *schema) : "the body must be an object";
  if (problem) {
    return bad_request(fmt::format("TokenRequest in version \"v1\" cannot be handled as a TokenRequest: {}", *problem));
  }
  json::normalize(request, *schema);
  if (auto& seconds = json::object_at(request, {"spec"})["expirationSeconds"]; !seconds.is_int64()) {
    seconds = TokenIssuer::kDefaultSeconds;
  }
  BodyType type{schema, "authentication.k8s.io/v1", json::empty_object(*schema)};
  json::track_update(type.empty, request, field_write_of(call, options, type));
  request.as_object()["apiVersion"] = "authentication.k8s.io/v1";
  request.as_object()["kind"] = "TokenRequest";
  return std::move(request);
}

}  // namespace

void Reviews::review_access(const Call& call, json::Value& review, const UserInfo& user) const {
  auto attributes = attributes_asked(call, review.at("spec"));
  attributes->user = user;
  auto decision = parts_.policy.get(*parts_.store.root())->authorize(*attributes);
  json::Object status{{"allowed", decision.allowed}};
  if (!decision.reason.empty()) status["reason"] = decision.reason;
  review.as_object()["status"] = std::move(status);
}

void Reviews::review_rules(const Call& call, json::Value& review) const {
  auto policy = parts_.policy.get(*parts_.store.root());
  json::Array resources;
  json::Array paths;
  auto add = [&](const PolicyRule& rule) {
    if (rule.non_resource_urls.empty()) {
      json::Object entry{{"verbs", to_array(rule.verbs)},
                         {"apiGroups", to_array(rule.api_groups)},
                         {"resources", to_array(rule.resources)}};
      if (!rule.resource_names.empty()) entry["resourceNames"] = to_array(rule.resource_names);
      resources.push_back(std::move(entry));
    } else {
      paths.push_back(
          json::Object{{"verbs", to_array(rule.verbs)}, {"nonResourceURLs", to_array(rule.non_resource_urls)}});
    }
  };
  for (const auto* rule : policy->rules_for(call.user, json::string_at(review, {"spec", "namespace"}))) add(*rule);
  review.as_object()["status"] = json::Object{
      {"resourceRules", std::move(resources)}, {"nonResourceRules", std::move(paths)}, {"incomplete", false}};
}

void Reviews::review_token(const Call& call, json::Value& review) const {
  auto audiences = to_vector(json::find(review, {"spec", "audiences"}));
  auto identity = parts_.authenticator.review_token(json::string_at(review, {"spec", "token"}), audiences,
                                                    *parts_.store.root(), call.now);
  json::Object status;
  if (identity) {
    status = {
        {"authenticated", true}, {"user", user_json(identity->user)}, {"audiences", to_array(identity->audiences)}};
  } else {
    bool refused = identity.error().reason == Reason::kUnauthorized;
    status = {{"user", json::Object()}, {"error", refused ? "invalid bearer token" : identity.error().message}};
  }
  review.as_object()["status"] = std::move(status);
}

Result<json::Value> Reviews::answer(Call& call, json::Value review) const {
  const auto& kind = call.kind->kind;
  if (!review.as_object().contains("spec")) review.as_object()["spec"] = json::Object();
  if (!call.kind->namespaced) json::object_at(review, {"metadata"}).erase("namespace");
  if (kind == "SelfSubjectReview") {
    json::object_at(review, {"metadata"})["creationTimestamp"] = to_rfc3339(call.now);
    review.as_object()["status"] = json::Object{{"userInfo", user_json(call.user)}};
    review.as_object().erase("spec");
  } else if (kind == "TokenReview") {
    if (json::string_at(review, {"spec", "token"}).empty())
      return bad_request("token is required for TokenReview in authentication");
    review_token(call, review);
  } else if (kind == "SelfSubjectRulesReview") {
    if (json::string_at(review, {"spec", "namespace"}).empty()) return bad_request("no namespace on request");
    review_rules(call, review);
    review.as_object()["spec"] = json::Object();
  } else {
    GW_TRY(auto asked, attributes_asked(call, review.at("spec")));
    if (kind == "LocalSubjectAccessReview" && asked.ns != call.info.ns) {
      return invalid(
          call.kind->group, "", "",
          {Cause{"FieldValueInvalid", fmt::format("Invalid value: \"{}\": must match metadata.namespace", asked.ns),
                 "spec.resourceAttributes.namespace"}});
    }
    auto user = kind == "SelfSubjectAccessReview" ? call.user : subject_of(review.at("spec"));
    if (kind != "SelfSubjectAccessReview" && user.name.empty() && user.groups.empty()) {
      return invalid(call.kind->group, "", "",
                     {Cause{"FieldValueInvalid", "Invalid value: \"\": at least one of user or group must be specified",
                            "spec.user"}});
    }
    review_access(call, review, user);
  }
  return review;
}

void Reviews::review(const CallPtr& call, const Done& done) const {
  auto options = read_write_options(*call);
  if (!options) return done(options.error());
  auto body = decode_body(*call, *options);
  if (!body) return done(body.error());
  if (call->kind->kind != "SelfSubjectReview" && call->kind->kind != "SelfSubjectRulesReview") {
    own_fields_of_update(*call, *options, nullptr, *body);
  }
  auto answered = answer(*call, std::move(*body));
  if (!answered) return done(answered.error());
  done(json_answer(*answered, 201));
}

void Reviews::create_token(const CallPtr& call, const Done& done) const {
  auto options = read_write_options(*call);
  if (!options) return done(options.error());
  auto request = read_token_request(*call, *options);
  if (!request) return done(request.error());
  auto state = parts_.store.root();
  if (auto allowed = check_node(*call, *state, nullptr, &*request); !allowed) return done(allowed.error());
  auto issued =
      parts_.tokens.issue(call->object_name(), std::move(*request), *state, call->now, sys::new_uid(parts_.entropy));
  if (!issued) return done(issued.error());
  done(json_answer(*issued, 201));
}

}  // namespace gangway::apiserver
