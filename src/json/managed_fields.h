// metadata.managedFields: who set which fields of an object, and server-side apply, which lives on it.
//
// Pure functions: the object before and after a write go in, the bookkeeping comes out. They do not default, validate
// or store anything. A set of fields that was written through another version of the kind is followed in that version;
// where FieldWrite does not say what that is, as if the versions had the same fields.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "json/field_set.h"
#include "json/schema.h"
#include "json/value.h"

namespace gangway::json {

// Another version of the kind than the one that is written in.
struct VersionForm {
  const Schema* schema = nullptr;
  std::function<Value(const Value& object)> from_here;  // the object in that version
  std::function<Value(const Value& object)> to_here;    // and back
};

// One write, as far as the bookkeeping is concerned.
struct FieldWrite {
  const Schema* schema = nullptr;  // null: objects are granular, lists atomic
  // What an object of the kind is before anybody set a field: empty_object(schema) for built-in kinds, {} for users'
  // own.
  const Value* empty = nullptr;
  std::string manager;  // empty: "unknown"
  std::string subresource;
  std::string api_version;
  WallTime now;
  // Fields that this endpoint resets (status on the main resource; all else on /status): never owned through it.
  const FieldSet* reset_fields = nullptr;
  // What another apiVersion of the kind is. Null, or no answer: it has the same fields as this one.
  std::function<std::optional<VersionForm>(std::string_view api_version)> form_of = nullptr;
};

// After a create, update or patch: sets metadata.managedFields of `object`, which is the object as it is to be stored,
// before server-made changes that nobody should own. `live` is the stored object; on create it is `*write.empty`.
// The managedFields that the request itself carries are honoured as Kubernetes does it: [] and [{}] reset the tracking,
// anything else that is valid is taken for the present state, and through a subresource they are ignored.
void track_update(const Value& live, Value& object, const FieldWrite& write);

struct Applied {
  Value object;          // not defaulted yet; with its managedFields
  bool changed = false;  // false: but for managedFields the object is what it was
};

// Server-side apply. `live` is `*write.empty` when the object does not exist yet. Other managers' fields that `applied`
// changes are conflicts (409 with a cause each) unless `force`. Fields that the manager applied before and leaves out
// now are removed when nobody else owns them.
Result<Applied> apply_configuration(const Value& live, const Value& applied, const FieldWrite& write, bool force);

// Equal but for the times in managedFields: a write that changes nothing else is not worth a new revision.
bool equal_but_for_managed_times(const Value& a, const Value& b);

}  // namespace gangway::json
