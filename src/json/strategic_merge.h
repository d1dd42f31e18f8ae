// Kubernetes' strategic merge patch: a merge patch whose lists merge by key where the kind's schema says so, with
// directives ($patch, $retainKeys, $setElementOrder/…, $deleteFromPrimitiveList/…). Pure; usable from any thread.
#pragma once

#include "base/result.h"
#include "json/schema.h"
#include "json/value.h"

namespace gangway::json {

// The patched document. Where `schema` is null or does not know a field, objects merge and lists are replaced.
// A directive that is unknown, malformed or does not fit is an error with the field's path, and Kubernetes' status
// code.
Result<Value> apply_strategic_merge_patch(Value original, const Value& patch, const Schema* schema);

}  // namespace gangway::json
