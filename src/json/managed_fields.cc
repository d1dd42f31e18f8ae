#include "json/managed_fields.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "json/managed_entries.h"
#include "json/structured_merge.h"

namespace gangway::json {
namespace {

constexpr std::size_t kMaxUpdaters = 10;
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

// Fields that say which object it is, or that only the server sets: nobody owns them.
const FieldSet& unowned_fields() {
  static const FieldSet set = FieldSet::of_fields({{"apiVersion"},
                                                   {"kind"},
                                                   {"metadata"},
                                                   {"metadata", "name"},
                                                   {"metadata", "namespace"},
                                                   {"metadata", "creationTimestamp"},
                                                   {"metadata", "selfLink"},
                                                   {"metadata", "uid"},
                                                   {"metadata", "clusterName"},
                                                   {"metadata", "generation"},
                                                   {"metadata", "managedFields"},
                                                   {"metadata", "resourceVersion"}});
  return set;
}

ManagedEntry identity_of(const FieldWrite& write, bool applied) {
  ManagedEntry entry;
  entry.manager = write.manager.empty() ? "unknown" : write.manager;
  entry.applied = applied;
  entry.api_version = write.api_version;
  entry.subresource = write.subresource;
  return entry;
}

void without_reset_fields(FieldSet& fields, const FieldWrite& write) {
  if (write.reset_fields != nullptr) fields.subtract_branches(*write.reset_fields);
}

// What a write set, and what it took away.
struct Change {
  FieldSet set;
  FieldSet removed;
};

std::optional<VersionForm> form_of(const FieldWrite& write, std::string_view api_version) {
  if (!write.form_of || api_version == write.api_version) return std::nullopt;
  return write.form_of(api_version);
}

Change change_between(const Value& live, const Value& object, const FieldWrite& write, const Schema* schema) {
  Comparison comparison = compare(live, object, schema, write.empty);
  Change change{std::move(comparison.added), std::move(comparison.removed)};
  change.set.unite(std::move(comparison.modified));
  without_reset_fields(change.set, write);
  without_reset_fields(change.removed, write);
  return change;
}

// What a write changed, as each manager sees it in the version that they wrote in.
class Changes {
 public:
  Changes(const Value& live, const Value& object, const FieldWrite& write)
      : live_(live), object_(object), write_(write), here_(change_between(live, object, write, write.schema)) {}

  Change& here() { return here_; }
  const Change& seen_in(const std::string& api_version) {
    const auto [at, is_new] = elsewhere_.try_emplace(api_version);
    if (is_new) {
      if (const auto form = form_of(write_, api_version))
        at->second = change_between(form->from_here(live_), form->from_here(object_), write_, form->schema);
    }
    return at->second ? *at->second : here_;
  }

 private:
  const Value& live_;
  const Value& object_;
  const FieldWrite& write_;
  Change here_;
  std::map<std::string, std::optional<Change>, std::less<>> elsewhere_;
};

void take_away(ManagedEntry& entry, const Change& change) {
  for (const FieldSet* lost : {&change.set, &change.removed}) {
    if (!entry.unread || lost->overlaps_encoded(*entry.unread)) entry.read().subtract(*lost);
  }
}

// The bookkeeping of an update: changed fields go to the writer, the others lose them.
void record_update(ManagedEntries& entries, const Value& live, const Value& object, const FieldWrite& write) {
  Changes changes(live, object, write);
  for (ManagedEntry& entry : entries) take_away(entry, changes.seen_in(entry.api_version));
  drop_empty_entries(entries);
  FieldSet gained = std::move(changes.here().set);
  gained.subtract(unowned_fields());
  if (gained.empty()) return;
  ManagedEntry fresh = identity_of(write, false);
  fresh.time = to_rfc3339(write.now);
  if (ManagedEntry* previous = find_entry(entries, fresh)) {
    gained.unite(std::move(previous->read()));
    fresh.fields = std::move(gained);
    *previous = std::move(fresh);
  } else {
    fresh.fields = std::move(gained);
    entries.push_back(std::move(fresh));
  }
}

void erase_managed_fields(Value& object) {
  Value* metadata = find(object, {"metadata"});
  if (metadata == nullptr || !metadata->is_object()) return;
  Object& members = metadata->get_object();
  if (const auto found = members.find("managedFields"); found != members.end()) members.stable_erase(found);
}

void put_managed_fields(Value& object, ManagedEntries entries) {
  if (!entries.empty()) {
    object_at(object, {"metadata"})["managedFields"] = encode_managed_fields(std::move(entries), object.storage());
  } else {
    erase_managed_fields(object);
  }
}

// The tracking that an update starts from: the request's, if it brings one that can be read, or the stored one. What
// the request brings is used up.
ManagedEntries entries_before(const Value& live, Value& object, const FieldWrite& write) {
  Value* sent = find(object, {"metadata", "managedFields"});
  const Value* stored = find(live, {"metadata", "managedFields"});
  if (sent != nullptr && stored != nullptr && equal(*sent, *stored)) {
    Result<ManagedEntries> entries = take_managed_fields(*sent);
    return entries ? std::move(*entries) : ManagedEntries();
  }
  if (write.subresource.empty()) {
    if (is_reset(sent)) return {};
    Result<ManagedEntries> entries = decode_managed_fields(sent);
    if (entries && !entries->empty()) return std::move(*entries);
  }
  Result<ManagedEntries> entries = decode_managed_fields(stored);
  return entries ? std::move(*entries) : ManagedEntries();
}

// ---- apply ----

// The object of version `from` in version `to`; both are those of some manager.
Value between(const FieldWrite& write, const std::string& from, const std::string& to, const Value& object) {
  const auto origin = form_of(write, from);
  const auto target = form_of(write, to);
  const Value here = origin ? origin->to_here(object) : object;
  return target ? target->from_here(here) : here;
}

const Schema* schema_of(const FieldWrite& write, const std::string& api_version) {
  const auto form = form_of(write, api_version);
  return form ? form->schema : write.schema;
}

// `pruned` with those of `merged`'s fields back in it that somebody owns.
Value with_owned(const Value& merged, const Value& pruned, const FieldSet& owned, const Schema* schema) {
  const FieldSet kept = with_named_parents(fields_of(pruned, schema), schema);
  const FieldSet all = with_named_parents(fields_of(merged, schema), schema);
  return remove_fields(merged, all.difference(kept.united(with_named_parents(owned, schema))), schema, Emptied::kNull);
}

// Of `merged`, what the manager applied last time, does not apply now, and nobody else owns, is taken out again. All in
// the version of that last time.
Value prune(const Value& merged, const ManagedEntries& entries, const ManagedEntry& last, const FieldWrite& write) {
  const Schema* schema = schema_of(write, last.api_version);
  const FieldSet last_named = with_named_parents(last.fields, schema);
  const FieldSet merged_fields = with_named_parents(fields_of(merged, schema), schema);
  std::map<std::string, FieldSet> owned_by_version;
  const bool are_alike = !write.form_of;
  for (const ManagedEntry& entry : entries)
    owned_by_version[are_alike ? last.api_version : entry.api_version].unite(entry.fields);
  // Removing whole parents takes too much with it: what somebody owns comes back first, then what nobody ever applied.
  // A parent that loses all its fields is null on the way, so that it still counts as a field.
  Value pruned = remove_fields(merged, last_named, schema, Emptied::kNull);
  pruned = with_owned(merged, pruned, owned_by_version[last.api_version], schema);
  for (const auto& [version, owned] : owned_by_version) {
    if (version == last.api_version) continue;
    const auto there = [&](const Value& object) { return between(write, last.api_version, version, object); };
    pruned = between(write, version, last.api_version,
                     with_owned(there(merged), there(pruned), owned, schema_of(write, version)));
  }
  const FieldSet left = with_named_parents(fields_of(pruned, schema), schema);
  return remove_fields(merged, merged_fields.difference(left).intersection(last_named), schema);
}

struct Conflict {
  const ManagedEntry* entry;
  FieldPath path;
};

std::vector<Conflict> conflicts_of(const ManagedEntries& entries, const ManagedEntry& self, Changes& changes) {
  std::vector<const ManagedEntry*> others;
  for (const ManagedEntry& entry : entries)
    if (!entry.same_identity(self)) others.push_back(&entry);
  std::sort(others.begin(), others.end(), [](const ManagedEntry* a, const ManagedEntry* b) {
    return std::tie(a->manager, a->applied, a->api_version, a->subresource) <
           std::tie(b->manager, b->applied, b->api_version, b->subresource);
  });
  std::vector<Conflict> conflicts;
  for (const ManagedEntry* entry : others) {
    entry->fields.intersection(changes.seen_in(entry->api_version).set).for_each([&](const FieldPath& path) {
      conflicts.push_back({entry, path});
    });
  }
  return conflicts;
}

Error conflict_error(const std::vector<Conflict>& conflicts) {
  Error error;
  error.reason = Reason::kConflict;
  for (const Conflict& conflict : conflicts) {
    error.causes.push_back(
        {"FieldManagerConflict", "conflict with " + describe_manager(*conflict.entry), to_string(conflict.path)});
  }
  if (conflicts.size() == 1) {
    error.message = "Apply failed with 1 conflict: " + error.causes[0].message + ": " + error.causes[0].field;
    return error;
  }
  error.message = "Apply failed with " + std::to_string(conflicts.size()) + " conflicts: ";
  const ManagedEntry* last = nullptr;
  for (const Conflict& conflict : conflicts) {
    if (last != nullptr) error.message += '\n';
    if (conflict.entry != last) error.message += "conflicts with " + describe_manager(*conflict.entry) + ":\n";
    error.message += "- " + to_string(conflict.path);
    last = conflict.entry;
  }
  return error;
}

std::string_view last_applied(const Value& object) {
  return string_at(object, {"metadata", "annotations", kLastApplied});
}

// Fields that kubectl's client-side apply set and nobody changed since: kubectl may take them over without a conflict
// when its user turns to server-side apply.
FieldSet fields_from_last_applied(const Value& live, const FieldWrite& write) {
  const std::string_view text = last_applied(live);
  if (text.empty()) return {};
  const Result<Value> applied = parse(text);
  if (!applied || string_at(*applied, {"apiVersion"}) != write.api_version) return {};
  const Comparison comparison = compare(*applied, live, write.schema, write.empty);
  return fields_of(*applied, write.schema)
      .difference(comparison.modified)
      .difference(comparison.added)
      .difference(comparison.removed);
}

// kubectl writes the annotation with sorted keys.
Value with_sorted_keys(const Value& value) {
  if (const Array* array = value.if_array()) {
    Array items;
    for (const Value& item : *array) items.push_back(with_sorted_keys(item));
    return items;
  }
  const Object* object = value.if_object();
  if (object == nullptr) return value;
  std::vector<std::string_view> keys;
  for (const auto& member : *object) keys.push_back(member.key());
  std::sort(keys.begin(), keys.end());
  Object sorted;
  for (const std::string_view key : keys) sorted.emplace(key, with_sorted_keys(*object->if_contains(key)));
  return sorted;
}

void refresh_last_applied(Value& object, const Value& applied) {
  if (last_applied(object).empty()) return;
  Value config = applied;
  if (Value* annotations = find(config, {"metadata", "annotations"}); annotations && annotations->is_object()) {
    annotations->get_object().erase(kLastApplied);
  }
  object_at(object, {"metadata", "annotations"})[kLastApplied] = serialize(with_sorted_keys(config)) + "\n";
}

Result<void> check_request(const Value& applied, const FieldWrite& write) {
  const Value* managed_fields = find(applied, {"metadata", "managedFields"});
  if (managed_fields != nullptr && !managed_fields->is_null()) return bad_request("metadata.managedFields must be nil");
  Result<void> checked = check_applied(applied, write.schema);
  if (checked) return {};
  // Kubernetes answers 500 here, and kubectl shows the message as it is.
  const std::string core = write.api_version.find('/') == std::string::npos ? "/" : "";
  return Error{.reason = Reason::kUnknown,
               .message = "failed to create typed patch object (" +
                          std::string(string_at(applied, {"metadata", "namespace"})) + "/" +
                          std::string(string_at(applied, {"metadata", "name"})) + "; " + core + write.api_version +
                          ", Kind=" + std::string(string_at(applied, {"kind"})) + "): " + checked.error().message,
               .subject = {},
               .causes = {}};
}

void record_apply(ManagedEntries& entries, ManagedEntry self, Changes& changes, const std::string& last_time,
                  bool changed, const FieldWrite& write) {
  for (ManagedEntry& entry : entries)
    if (!entry.same_identity(self)) take_away(entry, changes.seen_in(entry.api_version));
  std::erase_if(entries, [&self](const ManagedEntry& entry) { return entry.same_identity(self); });
  self.fields.subtract(unowned_fields());
  self.time = changed ? to_rfc3339(write.now) : last_time;
  entries.push_back(std::move(self));
  drop_empty_entries(entries);
}

}  // namespace

void track_update(const Value& live, Value& object, const FieldWrite& write) {
  ManagedEntries entries = entries_before(live, object, write);
  erase_managed_fields(object);
  // An object that exists and is not tracked stays so until it is first applied to.
  const bool is_create = string_at(live, {"metadata", "uid"}).empty();
  if (entries.empty() && !is_create) return;
  record_update(entries, live, object, write);
  cap_updaters(entries, kMaxUpdaters);
  put_managed_fields(object, std::move(entries));
}

Result<Applied> apply_configuration(const Value& live, const Value& applied, const FieldWrite& write, bool force) {
  GW_CHECKED(check_request(applied, write));
  GW_TRY(ManagedEntries entries, decode_managed_fields(find(live, {"metadata", "managedFields"})));
  Value before = live;
  erase_managed_fields(before);
  if (entries.empty() && write.empty != nullptr) {
    FieldWrite first = write;
    first.manager = "before-first-apply";
    record_update(entries, *write.empty, before, first);
  }

  ManagedEntry self = identity_of(write, true);
  ManagedEntry last;
  if (const ManagedEntry* previous = find_entry(entries, self)) last = *previous;
  self.fields = fields_of(applied, write.schema);
  without_reset_fields(self.fields, write);
  std::erase_if(entries, [&self](const ManagedEntry& entry) { return entry.same_identity(self); });
  entries.push_back(self);

  Value object = merge_applied(before, applied, write.schema);
  if (!last.fields.empty() && !write.form_of) {
    object = prune(object, entries, last, write);
  } else if (!last.fields.empty()) {
    object = between(write, last.api_version, write.api_version,
                     prune(between(write, write.api_version, last.api_version, object), entries, last, write));
  }
  Changes changes(before, object, write);
  if (!force) {
    std::vector<Conflict> conflicts = conflicts_of(entries, self, changes);
    if (!conflicts.empty() && write.manager == "kubectl") {
      const FieldSet allowed = fields_from_last_applied(before, write);
      std::erase_if(conflicts, [&allowed](const Conflict& conflict) { return allowed.has(conflict.path); });
    }
    if (!conflicts.empty()) return conflict_error(conflicts);
  }
  const bool changed = !equal(before, object);
  record_apply(entries, std::move(self), changes, last.time, changed, write);
  if (write.manager == "kubectl") refresh_last_applied(object, applied);
  put_managed_fields(object, std::move(entries));
  return Applied{std::move(object), changed};
}

bool equal_but_for_managed_times(const Value& a, const Value& b) {
  const auto without_times = [](const Value& value) {
    Value copy = value;
    if (Value* entries = find(copy, {"metadata", "managedFields"}); entries != nullptr && entries->is_array()) {
      for (Value& entry : entries->get_array())
        if (entry.is_object()) entry.get_object().erase("time");
    }
    return copy;
  };
  return equal(a, b) || equal(without_times(a), without_times(b));
}

}  // namespace gangway::json
