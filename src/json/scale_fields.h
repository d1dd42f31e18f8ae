// metadata.managedFields between an object and its Scale, which is a view of one of its fields.
//
// A write to .../scale is tracked as one to a Scale, so that applies meet conflicts there; afterwards its entries
// become entries of the object. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "json/field_set.h"
#include "json/value.h"

namespace gangway::json {

// The entries of the Scale: those of `object_entries` (null: none) that own the field at `replicas`.
Result<Array> scale_managed_fields(const Value* object_entries, const FieldPath& replicas);

// The entries of the object after `scale_entries` came of a write to its Scale. Who lost the Scale's field loses
// `replicas`; who won it has an entry of `api_version`, without a time, as the real server writes it.
Result<Array> object_managed_fields(const Value* object_entries, const Value* scale_entries, const FieldPath& replicas,
                                    const std::string& api_version);

}  // namespace gangway::json
