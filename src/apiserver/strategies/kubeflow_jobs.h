// The job kinds of kubeflow.org, for strategies that look into them.
#pragma once

#include "api/kubeflow.h"
#include "apiserver/registry.h"

namespace gangway::apiserver {

// What is particular to the kind; null when it is none of these.
const api::KubeflowKind* kubeflow_kind_of(const KindInfo& kind);

}  // namespace gangway::apiserver
