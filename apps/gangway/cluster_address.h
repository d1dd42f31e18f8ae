// Where a cluster is and who we are to it: from a kubeconfig, or from the service account of the pod that we run in.
// Blocking; for start-up.
#pragma once

#include <string>

#include "base/result.h"
#include "net/http_transport.h"

namespace gangway {

struct ClusterAddress {
  net::HttpTransportOptions transport;
  std::string ns;      // of the context, or of the pod
  std::string source;  // where it was found: the path of the kubeconfig, or "the service account of this pod"
};

// What the flags say; empty ones stand for $KUBECONFIG, ~/.kube/config, the pod's service account, and the cluster of
// `gangway up` on this machine, in this order: the first that is there.
Result<ClusterAddress> find_cluster(const std::string& kubeconfig, const std::string& context);

}  // namespace gangway
