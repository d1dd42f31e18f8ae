// From a request's body to an object of the kind it addresses: identity, strictness, types, pruning, defaults.
#pragma once

#include "apiserver/rest/call.h"
#include "apiserver/rest/options.h"
#include "json/value.h"

namespace gangway::apiserver {

// The body, in whichever form it came: of what the call's subresource takes, or of its kind.
Result<ParsedBody> read_body(const Call& call, boost::json::storage_ptr storage = {});
// The same for a body that is something else: one of the shared types.
Result<ParsedBody> read_body(const Call& call, std::string_view definition);

// The object in the body of a create or an update, of the call's kind and version.
Result<json::Value> decode_body(Call& call, const WriteOptions& options, boost::json::storage_ptr storage = {});

// Makes `object` (a decoded body, or the outcome of a patch) an object of the kind: unknown fields are reported as
// `options` say and dropped, wrong types refused, defaults filled in. `duplicates` are paths of fields that occurred
// twice.
Result<void> conform(Call& call, const WriteOptions& options, const std::vector<std::string>& duplicates,
                     json::Value& object);

// The same for a stored object of a built-in kind of which a patch changed only the named members: what comes from the
// store conforms already.
Result<void> conform_patched(Call& call, const WriteOptions& options, const std::vector<std::string>& duplicates,
                             json::Value& object, const std::vector<std::string>& patched);

// The same reports for an applied configuration, which is a part of an object: nothing is dropped or filled in.
Result<void> conform_applied(Call& call, const WriteOptions& options, const std::vector<std::string>& duplicates,
                             json::Value& object);

}  // namespace gangway::apiserver
