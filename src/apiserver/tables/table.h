// Tables: what `kubectl get` shows, made by the server from the kind's columns.
#pragma once

#include <string>
#include <vector>

#include "apiserver/rest/call.h"

namespace gangway::apiserver {

// A meta.k8s.io Table of the objects, with `list_metadata` (JSON) as its metadata. The query's includeObject says what
// each row carries: None, Metadata (the default) or Object. A watch sends the columns with its first table only.
Result<std::string> table_json(const Call& call, const std::vector<api::Version>& objects,
                               std::string_view list_metadata, bool with_columns = true);

}  // namespace gangway::apiserver
