// The strategies of the built-in kinds, one function a kind; strategies.cc is the table that names them.
#pragma once

#include "apiserver/strategy.h"

namespace gangway::apiserver {

const Strategy& namespace_strategy();

}  // namespace gangway::apiserver
