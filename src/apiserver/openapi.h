// OpenAPI v3 of what the server serves: one document a group-version, and the index over them.
//
// Made from schema nodes, good enough for `kubectl explain`, for apply and for server-side dry runs: components with
// list and patch keys, and paths with verbs and query parameters. Descriptions are ours. Pure functions, callable from
// any thread; a document takes some milliseconds, so that callers keep it until the set of kinds changes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/schema.h"

namespace gangway::apiserver {

struct OpenApiSubresource {
  std::string name;                // "status", "scale", "binding", …
  std::vector<std::string> verbs;  // "get", "update", "patch", "create"
  // The kind of its body; empty: the resource's own.
  std::string group, version, kind;
  const json::Schema* schema = nullptr;  // null: the resource's own
};

struct OpenApiResource {
  std::string kind;
  std::string list_kind;  // empty: it has no list
  std::string plural;
  bool namespaced = true;
  std::vector<std::string> verbs;  // as discovery names them
  const json::Schema* schema = nullptr;
  std::vector<OpenApiSubresource> subresources;
  bool strategic_merge = true;  // takes strategic merge patches; kubectl decides by this
};

struct OpenApiGroup {
  std::string group;  // empty for the core group
  std::string version;
  std::vector<OpenApiResource> resources;
};

// "api/v1" or "apis/apps/v1": the key in the index, and the path below /openapi/v3/.
std::string openapi_path(std::string_view group, std::string_view version);

// The document of one group-version. `shared` has the meta types (ObjectMeta, ListMeta, Status, DeleteOptions).
std::string openapi_document(const OpenApiGroup& group, const json::SchemaSet& shared);

// What identifies a document's content in the index; clients cache documents by it.
std::string openapi_hash(std::string_view document);

// /openapi/v3: `documents` are pairs of openapi_path() and openapi_hash().
std::string openapi_index(const std::vector<std::pair<std::string, std::string>>& documents);

}  // namespace gangway::apiserver
