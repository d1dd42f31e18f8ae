#include "agent/references/key_watches.h"

#include "base/base64.h"
#include "client/resource.h"
#include "json/access.h"

namespace gangway::agent {
namespace {

// A pod that has just been bound may not count as the node's own yet; an error that stays is worth telling.
constexpr std::uint64_t kErrorsToTell = 4;

const client::Resource kSecrets{"", "v1", "secrets"};

client::InformerOptions options_for(const NamedKeys& keys) {
  client::InformerOptions options;
  options.what.resource = keys.in == KeyHolder::kSecret ? kSecrets : client::resources::kConfigMaps;
  options.what.ns = keys.ns;
  options.what.field_selector = "metadata.name=" + keys.name;
  options.backoff.longest = std::chrono::seconds(5);
  return options;
}

void add_decoded(const json::Object& members, KeyValues& out) {
  for (const auto& member : members) {
    if (!member.value().is_string()) continue;
    if (auto bytes = base64_decode(member.value().get_string())) out[std::string(member.key())] = std::move(*bytes);
  }
}

}  // namespace

KeyValues read_key_values(const json::Value& object, KeyHolder in) {
  KeyValues values;
  if (in == KeyHolder::kSecret) {
    add_decoded(json::members_at(object, {"data"}), values);
    return values;
  }
  for (const auto& member : json::members_at(object, {"data"})) {
    if (member.value().is_string()) values[std::string(member.key())] = std::string(member.value().get_string());
  }
  add_decoded(json::members_at(object, {"binaryData"}), values);
  return values;
}

KeyWatches::KeyWatches(client::ApiClient& client, sys::EventLoop& loop,
                       std::function<void(const std::string&)> on_change)
    : client_(client), loop_(loop), on_change_(std::move(on_change)) {}

void KeyWatches::hold(const std::string& pod_uid, const NamedKeys& keys) {
  auto [at, added] = watches_.try_emplace(keys);
  at->second.users.insert(pod_uid);
  if (!added) return;
  Watch& watch = at->second;
  watch.informer = std::make_unique<client::Informer>(client_, loop_, options_for(keys));
  watch.subscription = watch.informer->subscribe({
      .on_change = [this, keys](const client::ObjectChange&) { changed(keys); },
      .on_progress =
          [this, keys, first = std::make_shared<bool>(true)] {
            if (std::exchange(*first, false)) changed(keys);  // it may be known not to exist
          },
  });
  watch.informer->start();
}

void KeyWatches::release(const std::string& pod_uid, const NamedKeys& keys) {
  const auto at = watches_.find(keys);
  if (at == watches_.end()) return;
  at->second.users.erase(pod_uid);
  if (at->second.users.empty()) watches_.erase(at);
}

void KeyWatches::changed(const NamedKeys& keys) {
  const auto at = watches_.find(keys);
  if (at == watches_.end()) return;
  Watch& watch = at->second;
  const api::Version version = watch.informer->objects().get({keys.ns, keys.name});
  const auto tree = version ? json::parse(*version.json) : Result<json::Value>(json::Value());
  watch.exists = version && tree;
  watch.values = watch.exists ? read_key_values(*tree, keys.in) : KeyValues();
  const std::set<std::string> users = watch.users;
  for (const std::string& uid : users) on_change_(uid);
}

Looked<KeyValues> KeyWatches::get(const NamedKeys& keys) const {
  using State = Looked<KeyValues>::State;
  const auto at = watches_.find(keys);
  if (at == watches_.end()) return {};
  const Watch& watch = at->second;
  if (!watch.informer->has_synced()) {
    const auto& status = watch.informer->status();
    return {State::kUnknown, nullptr, status.errors >= kErrorsToTell ? status.last_error : std::string()};
  }
  if (!watch.exists) return {State::kMissing, nullptr, {}};
  return {State::kFound, &watch.values, {}};
}

}  // namespace gangway::agent
