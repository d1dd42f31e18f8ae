#include "json/scale_fields.h"

#include <utility>

#include "json/managed_entries.h"

namespace gangway::json {
namespace {

constexpr const char* kScaleVersion = "autoscaling/v1";

const FieldSet& replicas_of_scale() {
  static const FieldSet set = FieldSet::of_fields({{"spec", "replicas"}});
  return set;
}

}  // namespace

Result<Array> scale_managed_fields(const Value* object_entries, const FieldPath& replicas) {
  GW_TRY(const ManagedEntries entries, decode_managed_fields(object_entries));
  ManagedEntries of_scale;
  for (ManagedEntry entry : entries) {
    if (!entry.fields.has(replicas)) continue;
    entry.api_version = kScaleVersion;
    entry.fields = replicas_of_scale();
    if (find_entry(of_scale, entry) == nullptr) of_scale.push_back(std::move(entry));
  }
  return encode_managed_fields(std::move(of_scale));
}

Result<Array> object_managed_fields(const Value* object_entries, const Value* scale_entries, const FieldPath& replicas,
                                    const std::string& api_version) {
  GW_TRY(const ManagedEntries before, decode_managed_fields(object_entries));
  GW_TRY(ManagedEntries winners, decode_managed_fields(scale_entries));
  FieldSet only_replicas;
  only_replicas.insert(replicas);
  std::erase_if(winners, [](const ManagedEntry& entry) { return !entry.fields.overlaps(replicas_of_scale()); });
  for (ManagedEntry& entry : winners) {
    entry.api_version = api_version;
    entry.time.clear();
    entry.fields = only_replicas;
  }
  ManagedEntries after;
  for (ManagedEntry entry : before) {
    if (entry.fields.has(replicas)) {
      if (const ManagedEntry* winner = find_entry(winners, entry)) {
        winners.erase(winners.begin() + (winner - winners.data()));
      } else {
        entry.fields.subtract(only_replicas);
      }
    }
    if (!entry.fields.empty()) after.push_back(std::move(entry));
  }
  for (ManagedEntry& entry : winners) {
    if (ManagedEntry* same = find_entry(after, entry)) {
      same->fields.unite(std::move(entry.fields));
    } else {
      after.push_back(std::move(entry));
    }
  }
  return encode_managed_fields(std::move(after));
}

}  // namespace gangway::json
