// Errors as clients see them: metav1.Status, and the standard wordings Kubernetes' clients know.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/value.h"

namespace gangway::apiserver {

struct KindInfo;

json::Value status_of(const Error& error);
// A Status with status "Success", as deletes answer with.
json::Value success_status(std::string_view group, std::string_view resource, std::string_view name,
                           std::string_view uid);

Error not_found(const KindInfo& kind, std::string_view name);
Error already_exists(const KindInfo& kind, std::string_view name);
Error conflict(const KindInfo& kind, std::string_view name, std::string_view why);
// 422 with all causes: `Pod "x" is invalid: spec.containers: Required value`.
Error invalid(std::string_view group, std::string_view kind, std::string_view name, std::vector<Cause> causes);
// A 500 without a reason, where Kubernetes gives none either.
Error unforeseen(std::string message);
// 404 for a path no kind serves.
Error unknown_path();
Error method_not_allowed();

}  // namespace gangway::apiserver
