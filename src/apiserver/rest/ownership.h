// Which manager owns which fields: metadata.managedFields of every write.
#pragma once

#include "apiserver/rest/call.h"
#include "apiserver/rest/options.h"
#include "apiserver/rest/prepare.h"
#include "json/managed_fields.h"
#include "json/value.h"

namespace gangway::apiserver {

// What a subresource takes, where that is not an object of the kind.
struct BodyType {
  const json::Schema* schema = nullptr;
  std::string api_version;
  json::Value empty;  // json::empty_object(schema)
};
// The bookkeeping of a write of such a body. `type` must outlive it.
json::FieldWrite field_write_of(const Call& call, const WriteOptions& options, const BodyType& type);

// Records that `options.manager` made `object` of `old` (null: of nothing) by an update, create or patch.
void own_fields_of_update(const Call& call, const WriteOptions& options, const json::Value* old, json::Value& object);

// Server-side apply of `applied` to `old` (null: there is nothing yet). Conflicts are a kConflict error with a cause a
// field.
Result<Edited> apply_configuration(Call& call, const WriteOptions& options, const json::Value* old,
                                   const json::Value& applied);

}  // namespace gangway::apiserver
