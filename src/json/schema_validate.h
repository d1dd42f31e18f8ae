// Validation of documents against schemas: all causes, with the paths, reasons and words that Kubernetes gives.
//
// One walk; paths are built only for what is wrong. Pure functions, callable from any thread.
#pragma once

#include <vector>

#include "base/error.h"
#include "json/schema.h"
#include "json/schema_decode.h"

namespace gangway::json {

// Everything that is wrong with `value`. With `old` (the object before an update), a part of a custom resource that
// did not change is not held against it: schemas may have become stricter since it was written.
//
// kCustom states types, formats and all value rules in the words of custom resources ("spec.n in body should be …").
// kBuiltin expects a normalized object of the right types; a zero that cannot be told from "not given" is a missing
// required field, and numbers out of range are told in the words of the built-in kinds.
std::vector<Cause> validate(const Value& value, const Schema& schema, Dialect dialect, const Value* old = nullptr);

}  // namespace gangway::json
