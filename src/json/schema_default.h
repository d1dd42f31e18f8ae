// Defaults: fills in what a schema says about fields that were not given.
//
// Custom resources keep what was written; built-in objects take the form in which Kubernetes writes a Go type back
// (zero values left out, empty structs present, quantities and times in canonical form). One walk each; pure functions.
#pragma once

#include "json/schema.h"

namespace gangway::json {

// For custom resources. Adds the defaults of missing fields of existing objects and list items; a null is replaced by
// the default where the field is not nullable, and dropped where it is not nullable and has no default.
void apply_defaults(Value& value, const Schema& schema);

// For built-in kinds: drops nulls and unknown fields, applies defaults, and writes empty values as the server does.
// Requires: check_types() found nothing.
void normalize(Value& value, const Schema& schema);

}  // namespace gangway::json
