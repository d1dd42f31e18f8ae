// What may change about a pod once it exists.
#pragma once

#include "apiserver/strategies/field.h"

namespace gangway::apiserver {

void check_pod_update(const Field& pod, const Field& before);
void check_pod_status_update(const Field& pod, const Field& before);

}  // namespace gangway::apiserver
