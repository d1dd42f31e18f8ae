#include "agent/references/claims.h"

#include <fmt/format.h>

#include "base/quote.h"
#include "json/access.h"

namespace gangway::agent {
namespace {

using State = Looked<ClaimedPath>::State;

const client::Resource kClaims{"", "v1", "persistentvolumeclaims"};
const client::Resource kVolumes{"", "v1", "persistentvolumes"};
constexpr Duration kAskAgain = std::chrono::seconds(1);

client::ApiRequest get_request(const client::Resource& resource, const api::ObjectName& object) {
  client::ApiRequest request;
  request.resource = resource;
  request.object = object;
  return request;
}

}  // namespace

ClaimedPath read_volume_path(const json::Value& volume) {
  for (const std::string_view source : {"hostPath", "local"}) {
    if (const auto path = json::string_at(volume, {"spec", source, "path"}); !path.empty())
      return {std::string(path), {}};
  }
  // Its source is the one object among its members that is named after nothing else.
  constexpr std::string_view kOthers[] = {"capacity", "claimRef", "nodeAffinity"};
  for (const auto& member : json::members_at(volume, {"spec"})) {
    if (!member.value().is_object()) continue;
    if (std::find(std::begin(kOthers), std::end(kOthers), std::string_view(member.key())) != std::end(kOthers))
      continue;
    return {{},
            fmt::format("volume {}: source {} is not run here", quoted(json::string_at(volume, {"metadata", "name"})),
                        std::string_view(member.key()))};
  }
  return {{}, fmt::format("volume {} has no source", quoted(json::string_at(volume, {"metadata", "name"})))};
}

Claims::Claims(client::ApiClient& client, sys::EventLoop& loop, std::function<void(const std::string&)> on_change)
    : client_(client), loop_(loop), on_change_(std::move(on_change)) {}

Claims::~Claims() {
  for (auto& [claim, held] : held_) loop_.cancel(held.timer);
}

void Claims::hold(const std::string& pod_uid, const api::ObjectName& claim) {
  const auto [at, added] = held_.try_emplace(claim);
  at->second.users.insert(pod_uid);
  if (added) ask_claim(claim);
}

void Claims::release(const std::string& pod_uid, const api::ObjectName& claim) {
  const auto at = held_.find(claim);
  if (at == held_.end()) return;
  at->second.users.erase(pod_uid);
  if (!at->second.users.empty()) return;
  loop_.cancel(at->second.timer);
  held_.erase(at);
}

Looked<ClaimedPath> Claims::get(const api::ObjectName& claim) const {
  const auto at = held_.find(claim);
  if (at == held_.end()) return {};
  return {at->second.state, at->second.state == State::kFound ? &at->second.path : nullptr, {}};
}

void Claims::ask_claim(const api::ObjectName& claim) {
  held_.at(claim).timer = sys::TimerId::kNone;
  client_.call(get_request(kClaims, claim), [this, claim, life = std::weak_ptr(life_)](Result<api::Version> answer) {
    if (life.expired() || !held_.contains(claim)) return;
    if (!answer) {
      const bool missing = answer.error().reason == Reason::kNotFound;
      return settle(claim, missing ? State::kMissing : State::kUnknown, {});
    }
    const auto tree = json::parse(*answer->json);
    const std::string volume(tree ? json::string_at(*tree, {"spec", "volumeName"}) : std::string_view());
    if (volume.empty() || json::string_at(*tree, {"status", "phase"}) != "Bound") {
      return settle(claim, State::kFound,
                    {{}, fmt::format("persistentvolumeclaim {} is not bound to a volume yet", quoted(claim.name))});
    }
    ask_volume(claim, volume);
  });
}

void Claims::ask_volume(const api::ObjectName& claim, const std::string& volume) {
  client_.call(get_request(kVolumes, {"", volume}),
               [this, claim, life = std::weak_ptr(life_)](Result<api::Version> answer) {
                 if (life.expired() || !held_.contains(claim)) return;
                 const auto tree = answer ? json::parse(*answer->json) : Result<json::Value>(answer.error());
                 if (!tree) return settle(claim, State::kUnknown, {});
                 settle(claim, State::kFound, read_volume_path(*tree));
               });
}

// What has a place keeps it: a bound claim never moves. Everything else is asked again.
void Claims::settle(const api::ObjectName& claim, State state, ClaimedPath path) {
  Held& held = held_.at(claim);
  const bool changed = held.state != state || held.path.path != path.path || held.path.problem != path.problem;
  held.state = state;
  held.path = std::move(path);
  if (held.path.path.empty()) held.timer = loop_.run_after(kAskAgain, [this, claim] { ask_claim(claim); });
  if (!changed) return;
  const std::set<std::string> users = held.users;
  for (const std::string& uid : users) on_change_(uid);
}

}  // namespace gangway::agent
