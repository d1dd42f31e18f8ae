// bundle_spec: the config.json of a container, in the words of the OCI runtime specification. Pure: everything it says
// was decided or looked up before.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/oci/process.h"
#include "agent/runtime_types.h"
#include "json/value.h"

namespace gangway::agent::oci {

struct BindMount {
  std::string source = {};
  std::string target = {};
  bool read_only = false;
  Propagation propagation = Propagation::kPrivate;
};

struct DeviceFile {
  std::string path = {};
  char type = 'c';  // 'c' or 'b'
  std::int64_t major = 0;
  std::int64_t minor = 0;
  mode_t mode = 0666;
  uid_t uid = 0;
  gid_t gid = 0;
};

// Paths of namespaces to join. Empty: the machine's own; none: a new one.
struct Namespaces {
  std::optional<std::string> network = {};
  std::optional<std::string> ipc = {};
  std::optional<std::string> uts = {};
  std::optional<std::string> pid = {};
};

struct BundleFacts {
  Process process;
  std::string root = {};  // the container's root file system
  std::string init = {};  // the program that is PID 1
  std::string exec = {};  // the program that runs commands in other pods; empty: not for this one
  Namespaces namespaces;
  std::string cgroup = {};
  std::string shm = {};               // the pod's /dev/shm; empty: the machine's own
  std::vector<BindMount> files = {};  // /etc/hosts and the like; a volume at the same place wins
  std::vector<BindMount> volumes = {};
  std::vector<DeviceFile> devices = {};
  std::string gpu_hook = {};  // a program that mounts the GPU driver's libraries; empty: none
  bool limit_cpu = true;      // what the machine's cgroups can do
  bool limit_memory = true;
  bool limit_pids = true;
  bool show_cgroups = false;  // mount the container's own cgroups, where there is one hierarchy
  std::int64_t open_files = 1'048'576;
  std::uint64_t capabilities = ~std::uint64_t{0};  // that the agent itself may have
};

// Where PID 1 is found in every container: on a file system of its own, so that no image shows a trace of it.
inline constexpr std::string_view kInitTarget = "/dev/gangway-init";
// And what runs commands in other pods, as the account of its own.
inline constexpr std::string_view kExecTarget = "/dev/gangway-exec";

json::Value bundle_spec(const ContainerSpec& spec, const BundleFacts& facts);

// "CAP_…" names, sorted: the usual set with what was added and dropped; all of them for a privileged container. Bits of
// `available` are the kernel's numbers: nobody can give what it does not have.
std::vector<std::string> capabilities_of(const Security& security, std::uint64_t available);

}  // namespace gangway::agent::oci
