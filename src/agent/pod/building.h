// From a pod's specification to what its runtime is told: sandbox, image and container, with everything resolved. Pure.
#pragma once

#include "agent/pod/environment.h"

namespace gangway::agent {

SandboxSpec build_sandbox(const PodSpec& pod);

// With the logins that the pod's pull secrets hold; secrets that are not there are left out, as kubelet does.
ImageRequest build_image_request(const ResolveView& view, const PodContainer& container);

Resolved<ContainerSpec> build_container(const ResolveView& view, const PodContainer& container,
                                        const ContainerRecord& record);
// The same for a runtime that runs nothing: only what says how long and how it ends.
ContainerSpec build_simulated(const PodSpec& pod, const PodContainer& container, const ContainerRecord& record);

}  // namespace gangway::agent
