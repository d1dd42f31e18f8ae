// The cells of `kubectl get` that no path into the object gives: counts, states, ages.
//
// Each function is pure and takes the object as stored. Kinds name them in their x-gangway-column keys.
#pragma once

#include <string_view>

#include "base/time.h"
#include "json/value.h"

namespace gangway::apiserver {

using CellFunction = json::Value (*)(const json::Value& object, WallTime now);

// Null when there is no such function.
CellFunction cell_function(std::string_view name);

// "5m", or "<unknown>" when there is no time.
std::string age_of(std::string_view rfc3339, WallTime now);

}  // namespace gangway::apiserver
