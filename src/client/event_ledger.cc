#include "client/event_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "client/name_hash.h"

namespace gangway::client {
namespace {

// What client-go does, so that a busy object looks the same in every cluster.
constexpr std::size_t kMostMessages = 9;
constexpr Duration kGroupLife = std::chrono::minutes(10);
constexpr double kBurst = 25;
constexpr Duration kRefill = std::chrono::minutes(5);
constexpr std::size_t kMostReasons = 64;

std::string_view text_of(EventType type) {
  return type == EventType::kWarning ? "Warning" : "Normal";
}

std::string subject_key(const EventSubject& about) {
  return about.kind + '\0' + about.object.ns + '\0' + about.object.name + '\0' + about.uid + '\0' + about.field_path;
}

}  // namespace

std::optional<EventEntry> EventLedger::enter(const Emit& emit, WallTime now) {
  Account& account = account_of(emit.about, now);
  const bool combined = is_combined(account, emit, now);
  std::string key = std::string(text_of(emit.type)) + '\0' + emit.reason;
  if (!combined) key += '\0' + emit.message;
  Counted& counted = account.counted[key];
  if (counted.count++ == 0) {
    counted.name = name_of(emit, key, now);
    counted.first = now;
  }
  if (!take_token(account, now)) return std::nullopt;
  EventEntry entry{.name = {emit.about.object.ns.empty() ? "default" : emit.about.object.ns, counted.name},
                   .about = emit.about,
                   .type = emit.type,
                   .reason = emit.reason,
                   .message = combined ? "(combined from similar events): " + emit.message : emit.message,
                   .count = counted.count,
                   .first = counted.first,
                   .last = now};
  return entry;
}

EventLedger::Account& EventLedger::account_of(const EventSubject& about, WallTime now) {
  const auto [at, added] = accounts_.try_emplace(subject_key(about));
  if (!added) {
    order_.splice(order_.end(), order_, at->second.place);
    return at->second;
  }
  at->second.tokens = kBurst;
  at->second.filled = now;
  at->second.place = order_.insert(order_.end(), at->first);
  if (accounts_.size() > max_subjects_) {
    accounts_.erase(order_.front());
    order_.pop_front();
  }
  return at->second;
}

bool EventLedger::is_combined(Account& account, const Emit& emit, WallTime now) {
  // Reasons are words of the program, so they are few; a caller that makes them up must not fill the memory.
  if (account.groups.size() >= kMostReasons) {
    account.groups.clear();
    account.counted.clear();
  }
  Group& group = account.groups[{emit.type, emit.reason}];
  if (now - group.last > kGroupLife) {
    group.messages.clear();
    const std::string prefix = std::string(text_of(emit.type)) + '\0' + emit.reason + '\0';
    std::erase_if(account.counted, [&](const auto& item) { return item.first.starts_with(prefix); });
  }
  group.last = now;
  if (group.messages.contains(emit.message)) return false;
  if (group.messages.size() >= kMostMessages) return true;
  group.messages.insert(emit.message);
  return false;
}

bool EventLedger::take_token(Account& account, WallTime now) {
  // What happened a moment ago may be told after what happens now.
  now = std::max(now, account.filled);
  const auto since = std::chrono::duration<double>(now - account.filled);
  account.tokens = std::min(kBurst, account.tokens + since / std::chrono::duration<double>(kRefill));
  account.filled = now;
  if (account.tokens < 1) return false;
  account.tokens -= 1;
  return true;
}

std::string EventLedger::name_of(const Emit& emit, std::string_view key, WallTime now) const {
  // An Event of an earlier process, or one that has been forgotten, is another object. The moment comes first: events
  // are listed in the order of their names, and users read them as a story. The hash keeps apart what happens at once.
  const std::uint64_t moment = static_cast<std::uint64_t>(now.time_since_epoch().count());
  constexpr std::size_t kLongestBase = 200;
  std::string base = emit.about.object.name.substr(0, kLongestBase);
  while (!base.empty() && (base.back() == '.' || base.back() == '-')) base.pop_back();
  const std::string hash = NameHash().mix(component_).mix(emit.about.kind).mix(emit.about.uid).mix(key).hex();
  return fmt::format("{}.{:016x}{}", base, moment, hash.substr(0, 8));
}

json::Value to_json(const EventEntry& entry, const std::string& component) {
  json::Object about{{"kind", entry.about.kind}, {"name", entry.about.object.name}, {"uid", entry.about.uid}};
  if (!entry.about.object.ns.empty()) about["namespace"] = entry.about.object.ns;
  if (!entry.about.api_version.empty()) about["apiVersion"] = entry.about.api_version;
  if (entry.about.revision != 0) about["resourceVersion"] = std::to_string(entry.about.revision);
  if (!entry.about.field_path.empty()) about["fieldPath"] = entry.about.field_path;
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Event"},
                      {"metadata", json::Object{{"namespace", entry.name.ns}, {"name", entry.name.name}}},
                      {"involvedObject", std::move(about)},
                      {"reason", entry.reason},
                      {"message", entry.message},
                      {"type", text_of(entry.type)},
                      {"source", json::Object{{"component", component}}},
                      {"reportingComponent", component},
                      {"reportingInstance", ""},
                      {"firstTimestamp", to_rfc3339(entry.first)},
                      {"lastTimestamp", to_rfc3339(entry.last)},
                      {"count", entry.count}};
}

}  // namespace gangway::client
