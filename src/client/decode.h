// From the JSON of an object to an api::Version, for clients that get bytes from elsewhere (HTTP, tests).
//
// The embedded client does not need it: it hands on the store's own versions. Pure; usable from any thread.
#pragma once

#include <string>
#include <vector>

#include "api/object.h"
#include "base/result.h"
#include "json/value.h"

namespace gangway::client {

// The header that `object`'s metadata describes. `fields` are the paths ("spec.nodeName") of its selectable fields;
// those that are missing have the value "".
Result<api::Header> header_of(const json::Value& object, const std::vector<std::string>& fields = {});

Result<api::Version> decode_object(std::string json, const std::vector<std::string>& fields = {});
// The same from a tree that is at hand.
Result<api::Version> encode_object(const json::Value& object, const std::vector<std::string>& fields = {});

}  // namespace gangway::client
