// What an earlier agent left: found on the disk and among the processes, judged, and tidied where it was not finished.
//
//   intent.json ─► config, overlay ─► conmon ─► runc create ─► started.json ─► runc start ─► exits/<id> ─► remove
//   └──────────────── never started: taken away ───────────────────────┘        running       exited
//
// runc's exec.fifo is there from create to start, so it tells the two sides of the line apart whatever else was
// written. judge is pure; the rest blocks, and is for worker threads and start-up.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/oci/cgroups.h"
#include "agent/oci/layout.h"
#include "agent/oci/records.h"
#include "base/result.h"

namespace gangway::agent::oci {

struct ContainerFacts {
  bool intended = false;  // intent.json can be read
  bool waits = false;     // created and not started: exec.fifo is there
  bool started = false;   // started.json can be read
  bool process_alive = false;
  bool shim_alive = false;  // and so its exit will be told
  bool exit_told = false;   // exits/<id> is there
};
enum class Verdict : std::uint8_t { kNeverStarted, kRunning, kExited, kLost };
Verdict judge(const ContainerFacts& facts);

struct LeftContainer {
  ContainerRecord record;
  StartedRecord started;
  Verdict verdict = Verdict::kLost;
};
struct Left {
  std::map<std::string, SandboxRecord> sandboxes;  // those that are whole
  std::vector<LeftContainer> containers;           // all but the never started
  std::vector<std::string> pods;                   // uids of all folders there are
};

// Waits for commands that the last agent started, takes away what was never started, and lists the rest.
Result<Left> find_left(const Layout& layout, const Cgroups& cgroups);
bool is_whole(const Layout& layout, const SandboxRecord& sandbox);

// Whether the container's shim runs: then it will tell the exit, if it has not yet.
bool has_shim(const Layout& layout, const ContainerId& id);

// How a container ended, from what conmon and the kernel left. `started` gives the time it began.
Result<Exit> read_exit(const Layout& layout, const Cgroups& cgroups, const ContainerRecord& container,
                       const StartedRecord& started);
// The last bytes of the file that a container leaves its message in; the end of its log, where that stands in for it.
std::string read_message(const Layout& layout, const ContainerRecord& container, int exit_code);

// Kills what is left of a container and removes all of it but its log. Idempotent, also after a crash in the middle.
Result<void> remove_container(const Layout& layout, const Cgroups& cgroups, const ContainerId& id);
// The same for a pod: its containers' remains, volumes, namespaces, cgroups.
Result<void> remove_pod(const Layout& layout, const Cgroups& cgroups, const std::string& uid);

// Everything of a data directory that is not a file: processes, mounts, cgroups. For `gangway down`, and for the next
// `up` after a crash. Records, logs and volumes on disk stay, as after a restart of the machine.
Result<void> teardown(const std::string& data_dir);

}  // namespace gangway::agent::oci
