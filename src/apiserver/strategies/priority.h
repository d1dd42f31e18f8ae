// Priority classes, as pods and the classes themselves need them.
#pragma once

#include "apiserver/strategy.h"

namespace gangway::apiserver {

// The class with globalDefault; null when there is none.
json::Value default_priority_class(const Facts& facts);

}  // namespace gangway::apiserver
