// Which manager owns which fields: metadata.managedFields of every write.
#pragma once

#include "apiserver/rest/call.h"
#include "apiserver/rest/options.h"
#include "apiserver/rest/prepare.h"
#include "json/value.h"

namespace gangway::apiserver {

// Records that `options.manager` made `object` of `old` (null: of nothing) by an update, create or patch.
void own_fields_of_update(const Call& call, const WriteOptions& options, const json::Value* old, json::Value& object);

// Server-side apply of `applied` to `old` (null: there is nothing yet). Conflicts are a kConflict error with a cause a
// field.
Result<Edited> apply_configuration(Call& call, const WriteOptions& options, const json::Value* old,
                                   const json::Value& applied);

}  // namespace gangway::apiserver
