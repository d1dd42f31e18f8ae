#include "agent/references/tokens.h"

#include "client/backoff.h"
#include "client/resource.h"
#include "json/access.h"

namespace gangway::agent {
namespace {

constexpr Duration kFirstRetry = std::chrono::milliseconds(200);
constexpr Duration kLongestRetry = std::chrono::seconds(10);
constexpr unsigned kFailuresToTell = 4;
// A token that claims to live shorter is asked for again after this all the same.
constexpr Duration kShortestUse = std::chrono::seconds(5);

json::Value token_request(const PodIdentity& pod, const NamedToken& token) {
  json::Object spec{
      {"expirationSeconds", token.seconds},
      {"boundObjectRef", json::Object{{"kind", "Pod"}, {"apiVersion", "v1"}, {"name", pod.name}, {"uid", pod.uid}}}};
  if (!token.audience.empty()) spec["audiences"] = json::Array{json::Value(token.audience)};
  return json::Object{{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", std::move(spec)}};
}

}  // namespace

Duration renew_after(Duration life) {
  return std::max(kShortestUse, life / 5 * 4);
}

Tokens::Tokens(client::ApiClient& client, sys::EventLoop& loop, std::function<void(const std::string&)> on_change)
    : client_(client), loop_(loop), on_change_(std::move(on_change)) {}

Tokens::~Tokens() {
  for (auto& [key, held] : held_) loop_.cancel(held.timer);
}

void Tokens::hold(const PodIdentity& pod, const NamedToken& token) {
  const Key key{pod.uid, token};
  const auto [at, added] = held_.try_emplace(key);
  if (!added) return;
  at->second.pod = pod;
  ask(key);
}

void Tokens::release(const std::string& pod_uid, const NamedToken& token) {
  const auto at = held_.find({pod_uid, token});
  if (at == held_.end()) return;
  loop_.cancel(at->second.timer);
  held_.erase(at);
}

Looked<std::string> Tokens::get(const std::string& pod_uid, const NamedToken& token) const {
  const auto at = held_.find({pod_uid, token});
  if (at == held_.end()) return {};
  const Held& held = at->second;
  if (!held.token.empty()) return {Looked<std::string>::State::kFound, &held.token, {}};
  return {Looked<std::string>::State::kUnknown, nullptr, held.failures >= kFailuresToTell ? held.error : std::string()};
}

void Tokens::ask(const Key& key) {
  Held& held = held_.at(key);
  held.timer = sys::TimerId::kNone;
  client::ApiRequest request;
  request.method = client::Method::kCreate;
  request.resource = client::resources::kServiceAccounts;
  request.object = {held.pod.ns, key.second.account};
  request.subresource = "token";
  request.body = json::serialize(token_request(held.pod, key.second));
  client_.call(std::move(request), [this, key, life = std::weak_ptr(life_)](const Result<api::Version>& answer) {
    if (!life.expired()) answered(key, answer);
  });
}

void Tokens::answered(const Key& key, const Result<api::Version>& answer) {
  const auto at = held_.find(key);
  if (at == held_.end()) return;
  Held& held = at->second;
  const auto tree = answer ? json::parse(*answer->json) : Result<json::Value>(answer.error());
  const std::string token(tree ? json::string_at(*tree, {"status", "token"}) : std::string_view());
  if (token.empty()) {
    held.error = tree ? "the server answered without a token" : tree.error().message;
    ask_after(key, client::doubled(kFirstRetry, kLongestRetry, held.failures++));
    if (held.failures == kFailuresToTell) on_change_(key.first);
    return;
  }
  held.failures = 0;
  held.token = token;
  const auto expires = parse_rfc3339(json::string_at(*tree, {"status", "expirationTimestamp"}));
  const Duration life = expires ? *expires - loop_.clock().wall() : std::chrono::seconds(key.second.seconds);
  ask_after(key, renew_after(life));
  on_change_(key.first);
}

void Tokens::ask_after(const Key& key, Duration delay) {
  held_.at(key).timer = loop_.run_after(delay, [this, key] { ask(key); });
}

}  // namespace gangway::agent
