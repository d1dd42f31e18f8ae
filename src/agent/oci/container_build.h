// Makes a container's folder ready for conmon: its root, mounts, files and config.json. Blocking; for worker threads.
//
// The record of the intent is written before anything else, so that whatever a crash leaves is found and taken away.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/oci/bundle.h"
#include "agent/oci/cgroups.h"
#include "agent/oci/gpus.h"
#include "agent/oci/image_store.h"
#include "agent/oci/layout.h"
#include "agent/oci/records.h"
#include "agent/runtime_types.h"
#include "base/result.h"

namespace gangway::agent::oci {

struct BuildInput {
  ContainerSpec spec;
  SandboxRecord sandbox;
  std::optional<StoredImage> image;  // none: the node's own root
  bool real_gpus = true;             // see OciOptions
  std::string gpu_hook = {};         // see Support
};

// On failure nothing is left of it. kBadRequest: it cannot run as it is specified.
Result<ContainerRecord> build_container(const Layout& layout, const Cgroups& cgroups, const BuildInput& input);

// The namespaces of a container in its pod. Pure.
Namespaces namespaces_in(const Layout& layout, const SandboxRecord& sandbox);

// The device files of GPUs; none for those that the machine does not have.
std::vector<DeviceFile> gpu_devices(const std::vector<unsigned>& indexes, const std::vector<Gpu>& gpus,
                                    const std::string& dev = "/dev");
// CUDA counts what it can open: a container that is given only /dev/nvidia2 sees one GPU, its number 0. Changes
// CUDA_VISIBLE_DEVICES where it names `indexes`; what the user set stays. Pure.
void number_visible_gpus(std::vector<std::pair<std::string, std::string>>& environment,
                         const std::vector<unsigned>& indexes);

}  // namespace gangway::agent::oci
