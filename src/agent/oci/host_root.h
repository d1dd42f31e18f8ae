// The node's own root file system as a container's: an overlay over "/", with what is nobody's business hidden.
//
// Hidden folders are empty in the container and may be written, as everything else; the machine's own never change.
// hidden_paths and system_mounts are pure; the rest blocks and is for worker threads.
#pragma once

#include <string>
#include <vector>

#include "agent/oci/mounts.h"
#include "base/result.h"

namespace gangway::agent::oci {

// What a container does not see of the machine, below no other path of the list.
std::vector<std::string> hidden_paths(const std::string& data_dir);
// Other file systems that belong to the system itself (a /usr or /opt of its own): an overlay over "/" does not show
// what is mounted on it.
std::vector<std::string> system_mounts(const std::vector<MountPoint>& mounts);

struct ContainerFolders {
  std::string root;  // where the container's root appears
  std::string upper;
  std::string work;
};
Result<void> mount_host_root(const ContainerFolders& folders, const std::string& data_dir);

}  // namespace gangway::agent::oci
