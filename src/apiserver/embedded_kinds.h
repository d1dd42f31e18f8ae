// The compiled kinds document, and the project's own kinds as CRDs (kinds/README.md describes both), linked into the
// binary by the build.
//
// Generated from kinds/**.yaml by tools/kinds/compile_kinds.py. Constant; usable from any thread.
#pragma once

#include <string_view>

namespace gangway::apiserver {

std::string_view embedded_kinds();
// Pure CustomResourceDefinitions, for other API servers: one YAML document a kind, each after a line of dashes.
std::string_view embedded_crds();

}  // namespace gangway::apiserver
