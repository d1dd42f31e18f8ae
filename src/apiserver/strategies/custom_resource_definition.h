// CustomResourceDefinitions: users' own kinds. There is one server, so a definition's names are judged and its status
// is set in the write itself, where others leave that to a controller.
#pragma once

#include "json/value.h"

namespace gangway::apiserver {

// Left on a definition until its objects are gone.
inline constexpr char kCustomResourceCleanup[] = "customresourcecleanup.apiextensions.k8s.io";

// Whether the kind is served.
bool is_established(const json::Value& definition);

}  // namespace gangway::apiserver
