// CustomResourceDefinitions: what makes one count.
#pragma once

#include "json/value.h"

namespace gangway::apiserver {

// Whether the definition's kind is served: its names were accepted and it is established.
bool is_established(const json::Value& definition);

}  // namespace gangway::apiserver
