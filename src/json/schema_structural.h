// Checks of the schema in a user's CustomResourceDefinition: is it structural, and are its own statements sound?
//
// Covers what users get wrong: missing types, unsupported keywords, list and map types, value rules that state more
// than rules, defaults that break the schema. CEL rules are not looked at. A pure function, callable from any thread.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/value.h"

namespace gangway::json {

// `path` is where the schema stands in the definition ("spec.validation.openAPIV3Schema"); causes are below it.
std::vector<Cause> check_structural(const Value& schema, std::string_view path);

}  // namespace gangway::json
