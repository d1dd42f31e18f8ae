// JSON merge patch (RFC 7386): objects merge, null deletes, everything else replaces. Pure.
#pragma once

#include "json/value.h"

namespace gangway::json {

// Applies `patch` to `target` in place.
void apply_merge_patch(Value& target, const Value& patch);

// A patch that makes `to` of `from`. Nulls inside `to` cannot be said in a merge patch and get lost.
Value make_merge_patch(const Value& from, const Value& to);

}  // namespace gangway::json
