// The job kinds of kubeflow.org, for strategies that look into them, and the rules that these kinds share.
#pragma once

#include "api/kubeflow.h"
#include "apiserver/registry.h"
#include "apiserver/strategies/field.h"
#include "apiserver/strategy.h"

namespace gangway::apiserver {

// What is particular to the kind; null when it is none of these.
const api::KubeflowKind* kubeflow_kind_of(const KindInfo& kind);

// Types are written in any case and stored as the kind names them, each with a number of replicas. Of a type in
// `but_for` it has to be given.
void normalise_replicas(Review& review, const api::KubeflowKind& kind, std::string_view but_for = "");

// Pods and Services are called after the job, and both names have to be labels.
void check_job_names(const api::KubeflowKind& kind, const Field& job);
// Which types there are, and their templates; `before` is the same before the update.
void check_types(const api::KubeflowKind& kind, const Field& specs, const Field& before);
// spec.runPolicy; `operator_name` is who may be named as its manager beside Kueue. With warnings about older places.
void check_run_policy(Review& review, const api::KubeflowKind& kind, const Field& job, const Field& before,
                      std::string_view operator_name = "kubeflow.org/training-operator");

}  // namespace gangway::apiserver
