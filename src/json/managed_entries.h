// The entries of metadata.managedFields, decoded. Not for others than managed_fields.cc and scale_fields.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/field_set.h"
#include "json/value.h"

namespace gangway::json {

struct ManagedEntry {
  std::string manager;
  bool applied = false;  // operation Apply, not Update
  std::string api_version;
  std::string subresource;
  std::string time;  // RFC 3339; empty: none
  FieldSet fields;
  // FieldsV1 that nobody had to look into so far, in place of `fields`. Most writes concern few entries, and the others
  // go back as they came.
  std::optional<Value> unread;

  // `fields`, read now if need be.
  FieldSet& read();
  // An applier is one manager in all versions, an updater is one in each.
  bool same_identity(const ManagedEntry& other) const;
};

using ManagedEntries = std::vector<ManagedEntry>;

Result<ManagedEntries> decode_managed_fields(const Value* managed_fields);
// The same for entries that this server wrote: their fields are moved out of `managed_fields`, and stay unread.
Result<ManagedEntries> take_managed_fields(Value& managed_fields);
// Sorted as Kubernetes sorts them: appliers first, then by time, name, version, subresource. In `storage`.
Array encode_managed_fields(ManagedEntries entries, const boost::json::storage_ptr& storage = {});

ManagedEntry* find_entry(ManagedEntries& entries, const ManagedEntry& identity);
void drop_empty_entries(ManagedEntries& entries);
// Merges the oldest updaters into "ancient-changes" until at most `max_updaters` are left.
void cap_updaters(ManagedEntries& entries, std::size_t max_updaters);

// [] or [{}]: the client wants the tracking to start over.
bool is_reset(const Value* managed_fields);

// `"name" with subresource "status" using apps/v1`, as conflict messages show a manager.
std::string describe_manager(const ManagedEntry& entry);

}  // namespace gangway::json
