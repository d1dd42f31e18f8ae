// The contents of a pod's volumes, resolved. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "agent/pod/environment.h"

namespace gangway::agent {

Resolved<VolumeContent> resolve_volume(const ResolveView& view, const PodVolume& volume);

// Equal contents have equal hashes; never zero.
std::size_t hash_of(const VolumeContent& content);

}  // namespace gangway::agent
