// What a CustomResourceDefinition must look like.
#pragma once

#include "apiserver/strategies/field.h"

namespace gangway::apiserver {

void check_definition(const Field& definition);
// Once a kind is served, its name and scope are fixed.
void check_definition_update(const Field& definition, const Field& before, bool established);
// Versions in which objects may be stored must stay in the spec.
void check_stored_versions(const Field& definition);

}  // namespace gangway::apiserver
