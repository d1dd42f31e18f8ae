// The compiled kinds document (kinds/README.md describes its form), linked into the binary by the build.
//
// Generated from kinds/**.yaml by tools/kinds/compile_kinds.py. Constant; usable from any thread.
#pragma once

#include <string_view>

namespace gangway::apiserver {

std::string_view embedded_kinds();

}  // namespace gangway::apiserver
