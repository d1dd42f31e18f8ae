// Pruning of custom resources: drops what the schema does not know, as Kubernetes stores nothing that is not described.
#pragma once

#include "json/schema.h"

namespace gangway::json {

// Drops unknown fields of a custom resource. The root and embedded resources keep apiVersion, kind and metadata;
// metadata is pruned by `object_meta` when that is given. x-kubernetes-preserve-unknown-fields is honoured.
void prune(Value& value, const Schema& schema, const Schema* object_meta = nullptr);

}  // namespace gangway::json
