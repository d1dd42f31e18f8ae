#include "apiserver/strategies/strategies.h"

#include "base/names.h"

namespace gangway::apiserver {
namespace {

struct Entry {
  std::string_view group;
  std::string_view kind;
  const Strategy& (*strategy)();
};

constexpr Entry kEntries[] = {
    {"", "ConfigMap", config_map_strategy},
    {"", "Endpoints", endpoints_strategy},
    {"", "Event", core_event_strategy},
    {"", "Namespace", namespace_strategy},
    {"", "Node", node_strategy},
    {"", "PersistentVolume", volume_strategy},
    {"", "PersistentVolumeClaim", volume_claim_strategy},
    {"", "Pod", pod_strategy},
    {"", "Secret", secret_strategy},
    {"", "Service", service_strategy},
    {"", "ServiceAccount", service_account_strategy},
    {"apiextensions.k8s.io", "CustomResourceDefinition", custom_resource_definition_strategy},
    {"apps", "ControllerRevision", controller_revision_strategy},
    {"apps", "Deployment", deployment_strategy},
    {"apps", "ReplicaSet", replica_set_strategy},
    {"apps", "StatefulSet", stateful_set_strategy},
    {"batch", "Job", job_strategy},
    {"coordination.k8s.io", "Lease", lease_strategy},
    {"discovery.k8s.io", "EndpointSlice", endpoint_slice_strategy},
    {"events.k8s.io", "Event", events_event_strategy},
    {"gangway.dev", "Allotment", allotment_strategy},
    {"gangway.dev", "Configuration", configuration_strategy},
    {"kubeflow.org", "MPIJob", mpi_job_strategy},
    {"kubeflow.org", "PyTorchJob", pytorch_job_strategy},
    {"kubeflow.org", "TFJob", tf_job_strategy},
    {"kueue.x-k8s.io", "AdmissionCheck", admission_check_strategy},
    {"kueue.x-k8s.io", "ClusterQueue", cluster_queue_strategy},
    {"kueue.x-k8s.io", "Cohort", cohort_strategy},
    {"kueue.x-k8s.io", "LocalQueue", local_queue_strategy},
    {"kueue.x-k8s.io", "ResourceFlavor", resource_flavor_strategy},
    {"kueue.x-k8s.io", "Topology", topology_strategy},
    {"kueue.x-k8s.io", "Workload", workload_strategy},
    {"policy", "PodDisruptionBudget", disruption_budget_strategy},
    {"ray.io", "RayCluster", ray_cluster_strategy},
    {"ray.io", "RayJob", ray_job_strategy},
    {"rbac.authorization.k8s.io", "ClusterRole", role_strategy},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding", role_binding_strategy},
    {"rbac.authorization.k8s.io", "Role", role_strategy},
    {"rbac.authorization.k8s.io", "RoleBinding", role_binding_strategy},
    {"scheduling.k8s.io", "PriorityClass", priority_class_strategy},
    {"scheduling.x-k8s.io", "PodGroup", pod_group_strategy},
    {"storage.k8s.io", "StorageClass", storage_class_strategy},
};

}  // namespace

const Strategy& strategy_for(std::string_view group, std::string_view kind) {
  for (const auto& entry : kEntries) {
    if (entry.group == group && entry.kind == kind) return entry.strategy();
  }
  return strategy_without_rules();
}

const Strategy& strategy_without_rules() {
  static const Strategy none;
  return none;
}

const Strategy& custom_resource_strategy() {
  static const Strategy strategy{
      .generation = GenerationRule::kNonStatus, .unconditional_update = false, .status_keeps = KeptMetadata::kAll};
  return strategy;
}

}  // namespace gangway::apiserver
