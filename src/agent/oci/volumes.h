// Volumes on disk: made, filled and found. One folder a volume, or a link to a path of the machine.
//
// Files appear and change all at once, in the way that programs in Kubernetes pods know: NAME is a link to ..data/NAME,
// and ..data a link to a folder that is replaced as a whole. Blocking; for worker threads.
#pragma once

#include <string>

#include "agent/oci/layout.h"
#include "agent/runtime_types.h"
#include "base/result.h"
#include "sys/file_descriptor.h"

namespace gangway::agent::oci {

// Makes the volume or, for files, replaces what it holds. A folder that is there stays as it is.
Result<void> prepare_volume(const Layout& layout, const VolumeSpec& spec);
// What a container's mount shows: the volume, or what its subPath names, which is made if it is missing. For a subPath
// that is a mount at `stage`, so that nobody can swap the path for a link between this look and the container's start.
Result<std::string> mount_source(const Layout& layout, const std::string& pod_uid, const VolumeMount& mount,
                                 const std::string& stage);
// All volumes of the pod. What hostPath volumes show is never touched.
Result<void> remove_volumes(const Layout& layout, const std::string& pod_uid);

}  // namespace gangway::agent::oci
