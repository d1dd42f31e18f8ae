// JSON patch (RFC 6902): a list of operations, applied all or none. Pure; usable from any thread.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "json/value.h"

namespace gangway::json {

struct JsonPatchLimits {
  std::size_t max_operations = 10'000;
  // How much `copy` operations may add in total, as serialised bytes: a short patch must not make a huge document.
  std::size_t max_copied_bytes = 3 * 1024 * 1024;
  // Objects and lists inside each other. What is deeper than the parser's limit could be stored, but not read again.
  std::size_t max_depth = ParseLimits().max_depth;
};

// The patched document. A patch that is not well formed is kBadRequest and says which operation it was; one that does
// not fit the document is kInvalid (422), in Kubernetes' words, which say no more.
Result<Value> apply_json_patch(Value document, const Value& patch, const JsonPatchLimits& limits = {});

}  // namespace gangway::json
