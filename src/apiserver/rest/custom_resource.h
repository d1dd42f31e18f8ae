// What users' own kinds are checked for beyond the rules of all objects: their type, their schema, and what scaling
// relies on. Pure functions, callable from any thread.
#pragma once

#include <string_view>
#include <vector>

#include "apiserver/registry.h"
#include "base/result.h"

namespace gangway::apiserver {

// An object of another kind or version is refused for that alone.
Result<void> check_own_type(const KindInfo& kind, const ServedVersion& version, const json::Value& object);

// By its schema and by the paths of its scale. The status endpoint answers for the status only.
std::vector<Cause> check_custom_resource(const ServedVersion& version, std::string_view subresource,
                                         const json::Value& object, const json::Value* old);

}  // namespace gangway::apiserver
