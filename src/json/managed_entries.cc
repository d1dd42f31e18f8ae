#include "json/managed_entries.h"

#include <algorithm>
#include <tuple>

#include "base/time.h"

namespace gangway::json {
namespace {

// All but the fields.
Result<ManagedEntry> decode_identity(const Value& value, std::size_t index) {
  const std::string where = "managedFields[" + std::to_string(index) + "]";
  if (!value.is_object()) return bad_request(where + " must be an object");
  ManagedEntry entry;
  entry.manager = string_at(value, {"manager"});
  entry.api_version = string_at(value, {"apiVersion"});
  entry.subresource = string_at(value, {"subresource"});
  entry.time = string_at(value, {"time"});
  const std::string_view operation = string_at(value, {"operation"});
  if (operation != "Apply" && operation != "Update") return bad_request(where + ".operation must be Apply or Update");
  entry.applied = operation == "Apply";
  if (entry.api_version.empty()) return bad_request(where + ".apiVersion must not be empty");
  if (string_at(value, {"fieldsType"}) != "FieldsV1") return bad_request(where + ".fieldsType must be FieldsV1");
  return entry;
}

Result<ManagedEntry> decode_entry(const Value& value, std::size_t index) {
  GW_TRY(ManagedEntry entry, decode_identity(value, index));
  if (const Value* fields = value.get_object().if_contains("fieldsV1"); fields != nullptr && !fields->is_null()) {
    Result<FieldSet> set = FieldSet::parse(*fields);
    if (!set) return std::move(set).error().within("managedFields[" + std::to_string(index) + "].fieldsV1");
    entry.fields = std::move(*set);
  }
  return entry;
}

// Whole seconds; an entry without a (readable) time is older than all others.
std::int64_t seconds_of(const ManagedEntry& entry) {
  if (entry.time.empty()) return 0;
  const Result<WallTime> time = parse_rfc3339(entry.time);
  return time ? std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count() : 0;
}

Value encode_entry(ManagedEntry& entry, const boost::json::storage_ptr& storage) {
  Object object(storage);
  object.reserve(7);
  object.emplace("manager", entry.manager);
  object.emplace("operation", entry.applied ? "Apply" : "Update");
  object.emplace("apiVersion", entry.api_version);
  if (!entry.time.empty()) object.emplace("time", entry.time);
  object.emplace("fieldsType", "FieldsV1");
  object.emplace("fieldsV1", entry.unread ? std::move(*entry.unread) : entry.fields.to_value(storage));
  if (!entry.subresource.empty()) object.emplace("subresource", entry.subresource);
  return object;
}

}  // namespace

FieldSet& ManagedEntry::read() {
  if (unread) {
    Result<FieldSet> set = FieldSet::parse(*unread);
    // What cannot be read is nobody's: as when the entries cannot be decoded.
    if (set) fields = std::move(*set);
    unread.reset();
  }
  return fields;
}

bool ManagedEntry::same_identity(const ManagedEntry& other) const {
  return manager == other.manager && applied == other.applied && subresource == other.subresource &&
         (applied || api_version == other.api_version);
}

Result<ManagedEntries> decode_managed_fields(const Value* managed_fields) {
  ManagedEntries entries;
  if (managed_fields == nullptr || managed_fields->is_null()) return entries;
  const Array* array = managed_fields->if_array();
  if (array == nullptr) return bad_request("managedFields must be a list");
  entries.reserve(array->size() + 1);
  for (std::size_t i = 0; i < array->size(); ++i) {
    GW_TRY(ManagedEntry entry, decode_entry((*array)[i], i));
    if (ManagedEntry* same = find_entry(entries, entry)) {
      *same = std::move(entry);
    } else {
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

Result<ManagedEntries> take_managed_fields(Value& managed_fields) {
  ManagedEntries entries;
  Array* array = managed_fields.if_array();
  if (array == nullptr) return bad_request("managedFields must be a list");
  entries.reserve(array->size() + 1);
  for (std::size_t i = 0; i < array->size(); ++i) {
    GW_TRY(ManagedEntry entry, decode_identity((*array)[i], i));
    if (Value* fields = (*array)[i].get_object().if_contains("fieldsV1")) entry.unread = std::move(*fields);
    entries.push_back(std::move(entry));
  }
  return entries;
}

Array encode_managed_fields(ManagedEntries entries, const boost::json::storage_ptr& storage) {
  std::vector<std::pair<std::int64_t, ManagedEntry*>> sorted;
  for (ManagedEntry& entry : entries) sorted.emplace_back(seconds_of(entry), &entry);
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    const auto key = [](const auto& e) {
      return std::tie(e.first, e.second->manager, e.second->api_version, e.second->subresource);
    };
    if (a.second->applied != b.second->applied) return a.second->applied;
    return key(a) < key(b);
  });
  Array array(storage);
  array.reserve(sorted.size());
  for (const auto& [seconds, entry] : sorted) array.push_back(encode_entry(*entry, storage));
  return array;
}

ManagedEntry* find_entry(ManagedEntries& entries, const ManagedEntry& identity) {
  for (ManagedEntry& entry : entries)
    if (entry.same_identity(identity)) return &entry;
  return nullptr;
}

void drop_empty_entries(ManagedEntries& entries) {
  std::erase_if(entries, [](const ManagedEntry& entry) { return !entry.unread && entry.fields.empty(); });
}

void cap_updaters(ManagedEntries& entries, std::size_t max_updaters) {
  auto count = static_cast<std::size_t>(
      std::count_if(entries.begin(), entries.end(), [](const ManagedEntry& entry) { return !entry.applied; }));
  if (count <= max_updaters) return;
  std::vector<std::pair<std::int64_t, ManagedEntry>> updaters;
  for (ManagedEntry& entry : entries)
    if (!entry.applied) updaters.emplace_back(seconds_of(entry), std::move(entry));
  std::erase_if(entries, [](const ManagedEntry& entry) { return !entry.applied; });
  std::sort(updaters.begin(), updaters.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.manager, a.second.api_version, a.second.subresource) <
           std::tie(b.first, b.second.manager, b.second.api_version, b.second.subresource);
  });
  // The first of a version becomes the bucket once there is a second to put into it.
  std::vector<ManagedEntry> firsts;
  std::size_t next = 0;
  for (; next < updaters.size() && count > max_updaters; ++next) {
    ManagedEntry& entry = updaters[next].second;
    const auto first = std::find_if(firsts.begin(), firsts.end(), [&entry](const ManagedEntry& candidate) {
      return candidate.api_version == entry.api_version;
    });
    if (first == firsts.end()) {
      firsts.push_back(std::move(entry));
      continue;
    }
    first->manager = "ancient-changes";
    first->subresource.clear();
    first->time = entry.time;
    first->read().unite(std::move(entry.read()));
    --count;
  }
  for (ManagedEntry& entry : firsts) entries.push_back(std::move(entry));
  for (; next < updaters.size(); ++next) entries.push_back(std::move(updaters[next].second));
}

bool is_reset(const Value* managed_fields) {
  const Array* array = managed_fields == nullptr ? nullptr : managed_fields->if_array();
  if (array == nullptr) return false;
  if (array->size() != 1) return array->empty();
  const Object* only = array->front().if_object();
  return only != nullptr && std::all_of(only->begin(), only->end(), [](const auto& member) {
           return member.value().is_null() || (member.value().is_string() && member.value().get_string().empty());
         });
}

std::string describe_manager(const ManagedEntry& entry) {
  std::string text;
  append_quoted(entry.manager, text);
  if (!entry.subresource.empty()) {
    text += " with subresource ";
    append_quoted(entry.subresource, text);
  }
  if (!entry.applied) text += " using " + entry.api_version;
  return text;
}

}  // namespace gangway::json
