// Bootstrap: the objects that every cluster starts with, made when they are missing.
#pragma once

#include <memory>
#include <vector>

#include "apiserver/registry.h"
#include "client/api_client.h"
#include "sys/completion.h"

namespace gangway::apiserver {

// Makes those of `objects` that do not exist, namespaces first. Roles and bindings that exist and are annotated for it
// get back the rules and subjects they lack; nothing is ever taken away. `client` must have the rights to do so.
void ensure_initial_objects(client::ApiClient& client, const Registry& registry, std::vector<json::Value> objects,
                            sys::Completion<void> done);

}  // namespace gangway::apiserver
