// What is allowed in a pod spec and hardly ever meant. Pure; answered as Warning headers.
#pragma once

#include <string>
#include <vector>

#include "apiserver/strategies/field.h"
#include "apiserver/strategy.h"

namespace gangway::apiserver {

// `spec` is that of a pod or of a template; warnings name their place by its path.
std::vector<std::string> pod_spec_warnings(const Field& spec);

// Warnings for `spec.template` of a workload that is new or whose spec changes.
void warn_about_template(Review& review);

}  // namespace gangway::apiserver
