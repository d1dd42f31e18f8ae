// Rules for claims to storage, shared by PersistentVolumeClaim and the templates of StatefulSet.
#pragma once

#include "apiserver/strategies/field.h"

namespace gangway::apiserver {

void check_access_modes(const Field& modes);
// The spec of a claim.
void check_claim_spec(const Field& spec);
// A volume of a pod or of a PersistentVolume on the node's own disk: no way out of its directory.
void check_no_backsteps(const Field& path);

}  // namespace gangway::apiserver
