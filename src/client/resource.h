// Names of resources, derived from client::Resource. Pure; usable from any thread.
#pragma once

#include <string>

#include "client/api_client.h"

namespace gangway::client {

// "pods", "deployments.apps": how the store and the keys of reconcilers name a resource.
api::ResourceName resource_name(const Resource& resource);
// "v1", "apps/v1": what an object of the resource says in its apiVersion.
std::string api_version(const Resource& resource);
// The group of an apiVersion: "" for "v1", "apps" for "apps/v1".
std::string group_of(std::string_view api_version);

// "pods default/web": for messages.
std::string describe(const Resource& resource, const api::ObjectName& object);

namespace resources {

inline const Resource kPods{"", "v1", "pods"};
inline const Resource kNodes{"", "v1", "nodes"};
inline const Resource kNamespaces{"", "v1", "namespaces"};
inline const Resource kConfigMaps{"", "v1", "configmaps"};
inline const Resource kSecrets{"", "v1", "secrets"};
inline const Resource kServices{"", "v1", "services"};
inline const Resource kEndpoints{"", "v1", "endpoints"};
inline const Resource kEvents{"", "v1", "events"};
inline const Resource kPersistentVolumes{"", "v1", "persistentvolumes"};
inline const Resource kPersistentVolumeClaims{"", "v1", "persistentvolumeclaims"};
inline const Resource kServiceAccounts{"", "v1", "serviceaccounts"};
inline const Resource kDeployments{"apps", "v1", "deployments"};
inline const Resource kReplicaSets{"apps", "v1", "replicasets"};
inline const Resource kStatefulSets{"apps", "v1", "statefulsets"};
inline const Resource kJobs{"batch", "v1", "jobs"};
inline const Resource kControllerRevisions{"apps", "v1", "controllerrevisions"};
inline const Resource kDisruptionBudgets{"policy", "v1", "poddisruptionbudgets"};
inline const Resource kEndpointSlices{"discovery.k8s.io", "v1", "endpointslices"};
inline const Resource kLeases{"coordination.k8s.io", "v1", "leases"};
inline const Resource kStorageClasses{"storage.k8s.io", "v1", "storageclasses"};
inline const Resource kPodGroups{"scheduling.x-k8s.io", "v1alpha1", "podgroups"};
inline const Resource kAllotments{"gangway.dev", "v1alpha1", "allotments"};
inline const Resource kClusterRoles{"rbac.authorization.k8s.io", "v1", "clusterroles"};

}  // namespace resources
}  // namespace gangway::client
