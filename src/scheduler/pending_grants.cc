#include "scheduler/pending_grants.h"

#include <iterator>

#include "base/check.h"
#include "json/access.h"

namespace gangway::scheduler {
namespace {

using client::View;

void empty(json::Value& allotment) {
  json::Object& spec = json::object_at(allotment, {"spec"});
  spec["places"] = json::Array();
  for (const char* key : {"holds", "victims", "lostGpuSeconds"}) spec.erase(key);
}

// The same write, granting nothing.
client::Action emptied(client::Action write) {
  if (auto* create = std::get_if<client::Create>(&write)) empty(create->body);
  if (auto* update = std::get_if<client::Update>(&write)) empty(update->body);
  return write;
}

}  // namespace

const PendingGrants::Entry* PendingGrants::entry_of(const api::ObjectName& name) const {
  const auto at = entries_.find(name);
  return at == entries_.end() ? nullptr : &at->second;
}

// What was asked for before, on the same revision, is remembered.
PendingGrants::Entry PendingGrants::replacing(const Entry* before, api::Revision revision) {
  Entry entry{.revision = revision};
  if (before == nullptr) return entry;
  entry.revision = before->revision;
  entry.given_up = before->given_up;
  if (before->facts && before->is_asked) entry.given_up.push_back(before->facts);
  entry.is_lost = before->is_lost;
  entry.is_in_doubt = before->is_in_doubt;
  return entry;
}

void PendingGrants::grant(const api::ObjectName& name, api::Revision revision, Facts facts, client::Action write,
                          bool is_asked) {
  Entry entry = replacing(entry_of(name), revision);
  entry.revision = revision;
  entry.facts = std::move(facts);
  entry.write = std::move(write);
  entry.is_asked = is_asked;
  entry.is_lost = !is_asked;
  entries_[name] = std::move(entry);
}

void PendingGrants::close(const api::ObjectName& name) {
  const Entry* before = entry_of(name);
  Entry entry = replacing(before, 0);
  if (entry.given_up.empty()) {
    entry.is_lost = false;
  } else {
    GW_CHECK(before != nullptr && before->write.has_value());  // what was given up was asked for
    entry.write = emptied(*before->write);
  }
  entries_[name] = std::move(entry);
}

std::optional<PendingGrants::Facts> PendingGrants::find(const api::ObjectName& name) const {
  const Entry* entry = entry_of(name);
  if (entry == nullptr) return std::nullopt;
  return entry->facts;
}

bool PendingGrants::is_being_granted(const api::ObjectName& name) const {
  const Entry* entry = entry_of(name);
  return entry != nullptr && entry->facts;
}

bool PendingGrants::has_given_up(const api::ObjectName& name) const {
  const Entry* entry = entry_of(name);
  return entry != nullptr && !entry->given_up.empty();
}

std::vector<std::pair<api::ObjectName, PendingGrants::Facts>> PendingGrants::given_up() const {
  std::vector<std::pair<api::ObjectName, Facts>> all;
  for (const auto& [name, entry] : entries_)
    for (const Facts& facts : entry.given_up) all.emplace_back(name, facts);
  return all;
}

void PendingGrants::for_each(const std::function<void(const api::ObjectName&, const AllotmentFacts&)>& call) const {
  for (const auto& [name, entry] : entries_)
    if (entry.facts) call(name, *entry.facts);
}

PendingGrants::Facts PendingGrants::failed(const api::ObjectName& name, bool is_certain) {
  const auto at = entries_.find(name);
  if (at == entries_.end()) return nullptr;
  Entry& entry = at->second;
  if (!entry.facts && entry.given_up.empty()) return nullptr;
  entry.is_lost = true;
  if (!is_certain) entry.is_in_doubt = true;
  // A refusal says nothing about requests before it.
  if (entry.is_in_doubt) return nullptr;
  if (entry.facts) return entries_.extract(at).mapped().facts;
  entry.given_up.clear();
  entry.is_lost = false;
  return nullptr;
}

std::vector<PendingGrants::Write> PendingGrants::take_lost(const View& view, const IsThere& is_there) {
  std::vector<Write> lost;
  for (auto at = entries_.begin(); at != entries_.end();) {
    auto& [name, entry] = *at;
    const Facts whose = entry.facts || entry.given_up.empty() ? entry.facts : entry.given_up.front();
    if (!entry.is_lost || !whose || view.is_held(kAllotments, name)) {
      ++at;
    } else if (!is_there(name, *whose)) {
      at = entries_.erase(at);
    } else {
      GW_CHECK(entry.write.has_value());  // only what was asked for gets lost
      lost.emplace_back(name, *entry.write);
      entry.is_asked = true;
      entry.is_lost = false;
      ++at;
    }
  }
  return lost;
}

void PendingGrants::settle(const View& view) {
  for (auto at = entries_.begin(); at != entries_.end();)
    at = settles(view, at->first, at->second) ? entries_.erase(at) : std::next(at);
}

bool PendingGrants::settles(const View& view, const api::ObjectName& name, Entry& entry) {
  const api::Version now = view.get(kAllotments, name);
  const bool has_moved = (now ? now.header->revision : 0) != entry.revision;
  // It was answered, and the mirror has got as far.
  const bool is_answered = !entry.is_lost && !view.is_held(kAllotments, name);
  if (entry.facts) return has_moved || is_answered;
  // What is being closed stays so for us until the mirror shows it, whatever else is written to it on the way.
  if (has_moved || is_answered) entry.given_up.clear();
  if (!entry.given_up.empty()) return false;
  if (!now) return has_moved || is_answered;
  return !view.objects(kAllotments).facts(now, read_allotment)->is_open();
}

}  // namespace gangway::scheduler
