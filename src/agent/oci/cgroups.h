// Cgroups of a machine, in whichever layout it has: one hierarchy (v2), several (v1), or both at once (hybrid).
//
// Paths are those that runc takes: "/gw12345678/poduid/main-0", below the root of each hierarchy. Reading and writing
// these files does not block on a disk; kill and remove wait for processes to go, and are for worker threads. The
// functions that take and give text are pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/oci/mounts.h"
#include "agent/runtime_types.h"
#include "base/result.h"

namespace gangway::agent::oci {

class Cgroups {
 public:
  // What the machine's mounts say; `v2_controllers` is the root's cgroup.controllers, where there is a v2 hierarchy.
  Cgroups(const std::vector<MountPoint>& mounts, std::string_view v2_controllers);
  static Result<Cgroups> of_this_machine();

  // True: only v2, so that containers may see their own hierarchy.
  bool is_v2() const { return v1_.empty() && !unified_.empty(); }
  bool usable() const { return !v1_.empty() || !unified_.empty(); }
  bool has(std::string_view controller) const;
  // "v2", "v1", "hybrid (v1 controllers)".
  std::string_view describe() const;

  // Makes the group and holds everything in it to the limits, as far as the machine can.
  Result<void> make(const std::string& path, const ResourceLimits& limits) const;
  // Moves a process out of the agent's own group where service managers look.
  void adopt(const std::string& path, pid_t pid) const;
  std::vector<pid_t> processes(const std::string& path) const;
  // Kills everything in the group and below until nothing is left, or says what is.
  Result<void> kill(const std::string& path) const;
  // Removes the group and those below; they must be empty of processes, or soon be.
  Result<void> remove(const std::string& path) const;

  Result<Usage> usage(const std::string& path) const;
  std::int64_t kills_for_memory(const std::string& path) const;

 private:
  std::string folder(std::string_view controller, const std::string& path) const;
  std::vector<std::string> all_folders(const std::string& path) const;

  std::map<std::string, std::string, std::less<>> v1_;  // controller, or "name=systemd": where it is mounted
  std::string unified_;                                 // where v2 is mounted
  std::vector<std::string> v2_controllers_;
};

// What is written where for the limits: {controller, file, value}.
struct CgroupWrite {
  std::string_view controller;
  std::string_view file;
  std::string value;
  bool operator==(const CgroupWrite&) const = default;
};
std::vector<CgroupWrite> limit_writes(const ResourceLimits& limits, bool v2);
// v1's shares (2 to 262144) as v2's weight (1 to 10000).
std::int64_t weight_of_shares(std::int64_t shares);
// The number after `key` in a file of "key number" lines; zero when it is not there.
std::int64_t keyed_number(std::string_view text, std::string_view key);

}  // namespace gangway::agent::oci
