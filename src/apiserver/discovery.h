// Discovery: what the server serves, as plain and as aggregated documents.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/registry.h"
#include "base/result.h"

namespace gangway::apiserver {

// All of them JSON documents. The core group is "".
std::string api_versions(std::string_view server_address);                             // /api
std::string group_list(const Registry& registry);                                      // /apis
Result<std::string> group_document(const Registry& registry, std::string_view group);  // /apis/GROUP
Result<std::string> resource_list(const Registry& registry, std::string_view group, std::string_view version);
// /api (core) or /apis (all others) in one document; `version` is "v2" or "v2beta1".
std::string aggregated(const Registry& registry, bool core, std::string_view version);

}  // namespace gangway::apiserver
