#include "agent/endpoints/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "json/value.h"

namespace gangway::agent {
namespace {

const client::Resource kTokenReviews{"authentication.k8s.io", "v1", "tokenreviews"};
const client::Resource kAccessReviews{"authorization.k8s.io", "v1", "subjectaccessreviews"};

bool is_below(std::string_view path, std::string_view root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

std::string api_verb(std::string_view method) {
  if (method == "GET" || method == "HEAD") return "get";
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  return "delete";
}

Error unauthorized() {
  return Error{.reason = Reason::kUnauthorized, .message = "Unauthorized", .subject = {}, .causes = {}};
}

std::string_view bearer_token(const sys::HttpRequest& request) {
  const std::string_view value = request.headers.get("Authorization");
  constexpr std::string_view kScheme = "Bearer ";
  return value.starts_with(kScheme) ? value.substr(kScheme.size()) : std::string_view();
}

json::Array strings(const std::vector<std::string>& texts) {
  return json::Array(texts.begin(), texts.end());
}

}  // namespace

NodeAttributes node_attributes(std::string_view method, std::string_view path) {
  NodeAttributes attributes{.verb = api_verb(method), .subresources = {}};
  auto& subresources = attributes.subresources;
  if (is_below(path, "/stats")) {
    subresources = {"stats"};
  } else if (is_below(path, "/metrics")) {
    subresources = {"metrics"};
  } else {
    if (is_below(path, "/pods") || is_below(path, "/runningpods")) subresources = {"pods"};
    if (is_below(path, "/healthz")) subresources = {"healthz"};
    subresources.emplace_back("proxy");
  }
  return attributes;
}

struct DelegatedAccess::Question {
  NodeAttributes attributes;
  std::size_t next = 0;  // of the attributes' subresources
  User user;
  std::function<void(Result<void>)> done;
};

void DelegatedAccess::check(const sys::HttpRequest& request, std::string_view path,
                            std::function<void(Result<void>)> done) {
  const auto question = std::make_shared<Question>();
  question->attributes = node_attributes(request.method, path);
  question->done = std::move(done);
  const auto& peer = request.peer;
  if (!peer.common_name.empty() && peer.certificate_error.empty()) {
    question->user = {peer.common_name, "", peer.organizations};
    const auto& groups = peer.organizations;
    if (peer.common_name == kKubeletClientName ||
        std::find(groups.begin(), groups.end(), "system:masters") != groups.end())
      return question->done({});
    question->user.groups.emplace_back("system:authenticated");
    return authorize(question);
  }
  if (const auto token = bearer_token(request); !token.empty()) return review_token(question, token);
  question->done(unauthorized());
}

void DelegatedAccess::review_token(const Asked& question, std::string_view token) {
  const json::Value review = json::Object{
      {"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenReview"}, {"spec", json::Object{{"token", token}}}};
  client::ApiRequest request;
  request.method = client::Method::kCreate;
  request.resource = kTokenReviews;
  request.body = json::serialize(review);
  api_.call(std::move(request), [this, life = std::weak_ptr(life_), question](Result<api::Version> answer) {
    if (life.expired()) return;
    if (!answer) return question->done(std::move(answer.error()).within("cannot review the token"));
    const auto reviewed = json::parse(*answer->json);
    const auto* authenticated = reviewed ? json::find(*reviewed, {"status", "authenticated"}) : nullptr;
    if (!authenticated || !authenticated->is_bool() || !authenticated->get_bool())
      return question->done(unauthorized());
    question->user.name = json::string_at(*reviewed, {"status", "user", "username"});
    question->user.uid = json::string_at(*reviewed, {"status", "user", "uid"});
    if (const auto* groups = json::find(*reviewed, {"status", "user", "groups"}); groups && groups->is_array())
      for (const auto& group : groups->get_array())
        if (group.is_string()) question->user.groups.emplace_back(group.get_string());
    authorize(question);
  });
}

void DelegatedAccess::authorize(const Asked& question) {
  const auto& attributes = question->attributes;
  if (question->next == attributes.subresources.size()) {
    return question->done(
        Error{.reason = Reason::kForbidden,
              .message = fmt::format("Forbidden (user={}, verb={}, resource=nodes, subresource(s)=[{}])",
                                     question->user.name, attributes.verb, fmt::join(attributes.subresources, " ")),
              .subject = {},
              .causes = {}});
  }
  const json::Value review = json::Object{
      {"apiVersion", "authorization.k8s.io/v1"},
      {"kind", "SubjectAccessReview"},
      {"spec",
       json::Object{{"user", question->user.name},
                    {"uid", question->user.uid},
                    {"groups", strings(question->user.groups)},
                    {"resourceAttributes", json::Object{{"verb", attributes.verb},
                                                        {"version", "v1"},
                                                        {"resource", "nodes"},
                                                        {"subresource", attributes.subresources[question->next]},
                                                        {"name", node_}}}}}};
  client::ApiRequest request;
  request.method = client::Method::kCreate;
  request.resource = kAccessReviews;
  request.body = json::serialize(review);
  api_.call(std::move(request), [this, life = std::weak_ptr(life_), question](Result<api::Version> answer) {
    if (life.expired()) return;
    if (!answer) return question->done(std::move(answer.error()).within("cannot review the access"));
    const auto decision = json::parse(*answer->json);
    const auto* allowed = decision ? json::find(*decision, {"status", "allowed"}) : nullptr;
    if (allowed && allowed->is_bool() && allowed->get_bool()) return question->done({});
    ++question->next;
    authorize(question);
  });
}

}  // namespace gangway::agent
