// For whoever changes the properties of a schema by hand. Not needed for what a SchemaSet has loaded.
#pragma once

#include "json/schema.h"

namespace gangway::json {

// Puts the properties in order and makes them findable by name.
void index_properties(Schema& schema);

}  // namespace gangway::json
