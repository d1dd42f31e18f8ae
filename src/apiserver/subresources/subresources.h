// Subresources that are more than a part of their object: each turns its own kind of body into a write.
#pragma once

#include "apiserver/rest/call.h"
#include "apiserver/rest/resources.h"
#include "client/node_dialer.h"

namespace gangway::apiserver {

// GET, PUT and PATCH of .../scale: the replica count of anything that has one, as autoscaling/v1 Scale.
void serve_scale(Resources& resources, const CallPtr& call, const Done& done);

// POST of .../binding: puts a pod on a node. The binding's uid and resourceVersion are preconditions.
void serve_binding(Resources& resources, const CallPtr& call, const Done& done);

// POST of .../bindings: the same, with the pod's name in the body.
void serve_binding_of_body(Resources& resources, const CallPtr& call, const Done& done);

// POST of .../eviction: deletes a pod unless a PodDisruptionBudget forbids it. The budget is charged in the same
// transaction that deletes the pod.
void serve_eviction(Resources& resources, const CallPtr& call, const Done& done);

// Log, exec, attach and port-forward of a pod: its node's agent answers them. A pod on no node has nobody to ask.
void serve_from_node(Resources& resources, client::NodeDialer* nodes, const CallPtr& call, const Done& done);
// Whatever the agent of a node answers to what follows nodes/NAME/proxy.
void serve_node_proxy(Resources& resources, client::NodeDialer* nodes, const CallPtr& call, const Done& done);
// Whether one of these two serves it.
bool is_from_node(const RequestInfo& info);

// PUT of namespaces/NAME/finalize: who still holds the namespace.
void serve_finalize(Resources& resources, const CallPtr& call, const Done& done);

}  // namespace gangway::apiserver
