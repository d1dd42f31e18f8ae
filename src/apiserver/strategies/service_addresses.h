// Addresses and node ports of services: which are taken, and which a service gets.
//
// Nothing is remembered between requests: what the services in the state hold is taken, and the choice follows from the
// service's name. Two writes at once may choose the same; the claims that are committed with them let one win.
#pragma once

#include "apiserver/strategy.h"

namespace gangway::apiserver {

// Gives the service the cluster address, node ports and families that it needs and does not have. What it asks for and
// cannot get is refused.
void allocate_addresses(Review& review);

std::vector<std::string> service_claims(const json::Value& service);

bool needs_cluster_address(const json::Value& service);
bool needs_node_ports(const json::Value& service);
// Behind a load balancer that must find the nodes with endpoints.
bool needs_health_check_port(const json::Value& service);

}  // namespace gangway::apiserver
