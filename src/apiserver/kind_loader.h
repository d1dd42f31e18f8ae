// From descriptions to KindInfo: the compiled kinds document, and users' CustomResourceDefinitions.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "apiserver/registry.h"

namespace gangway::apiserver {

struct LoadedKinds {
  std::vector<std::shared_ptr<const KindInfo>> kinds;
  std::shared_ptr<const json::SchemaSet> schemas;  // owns the nodes the kinds point to
  std::vector<json::Value> initial_objects;        // what every cluster starts with
};

// kinds/README.md describes the document.
Result<LoadedKinds> load_builtin_kinds(std::string_view compiled);

// The kind that a CustomResourceDefinition (in its stored form, validated) defines. `builtin` knows what metadata is,
// and must outlive the kind.
Result<std::shared_ptr<const KindInfo>> kind_of_definition(const json::Value& definition,
                                                           const json::SchemaSet& builtin);

}  // namespace gangway::apiserver
