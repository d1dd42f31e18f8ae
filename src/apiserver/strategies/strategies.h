// The strategies of the built-in kinds, one function a kind; strategies.cc is the table that names them.
#pragma once

#include "apiserver/strategy.h"

namespace gangway::apiserver {

const Strategy& admission_check_strategy();
const Strategy& allotment_strategy();
const Strategy& cluster_queue_strategy();
const Strategy& cohort_strategy();
const Strategy& config_map_strategy();
const Strategy& configuration_strategy();
const Strategy& core_event_strategy();
const Strategy& custom_resource_definition_strategy();
const Strategy& controller_revision_strategy();
const Strategy& deployment_strategy();
const Strategy& disruption_budget_strategy();
const Strategy& endpoint_slice_strategy();
const Strategy& endpoints_strategy();
const Strategy& events_event_strategy();
const Strategy& job_strategy();
const Strategy& lease_strategy();
const Strategy& local_queue_strategy();
const Strategy& namespace_strategy();
const Strategy& node_strategy();
const Strategy& pod_group_strategy();
const Strategy& pod_strategy();
const Strategy& priority_class_strategy();
const Strategy& mpi_job_strategy();
const Strategy& pytorch_job_strategy();
const Strategy& ray_cluster_strategy();
const Strategy& ray_job_strategy();
const Strategy& replica_set_strategy();
const Strategy& resource_flavor_strategy();
const Strategy& role_binding_strategy();
const Strategy& role_strategy();
const Strategy& secret_strategy();
const Strategy& service_account_strategy();
const Strategy& service_strategy();
const Strategy& stateful_set_strategy();
const Strategy& storage_class_strategy();
const Strategy& tf_job_strategy();
const Strategy& topology_strategy();
const Strategy& volume_claim_strategy();
const Strategy& volume_strategy();
const Strategy& workload_strategy();

}  // namespace gangway::apiserver
