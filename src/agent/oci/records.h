// What OciRuntime writes down about a sandbox and a container, so that a later agent finds them again. Values and their
// text; the text of another version, or half of one, reads as an error and means "not there".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/runtime_types.h"
#include "base/result.h"

namespace gangway::agent::oci {

// sandbox.json
struct SandboxRecord {
  PodIdentity pod;
  std::string hostname;
  bool host_network = false;
  bool host_pid = false;
  bool host_ipc = false;
  bool share_processes = false;
  std::string netns;  // empty: the machine's
  std::vector<std::string> addresses;
  pid_t holder = 0;  // who holds the shared process namespace, and since when
  std::uint64_t holder_ticks = 0;
  bool operator==(const SandboxRecord&) const = default;
};

// intent.json
struct ContainerRecord {
  ContainerId id;
  PodIdentity pod;
  bool own_processes = true;      // a process namespace of its own: what is in it ends with its PID 1
  std::string image = {};         // the digest of what it stands on; empty: the machine's own root
  bool message_from_log = false;  // see ContainerSpec
  bool operator==(const ContainerRecord&) const = default;
};

// started.json. A pid alone names nothing after a while; with the boot and the ticks at its start it does.
struct StartedRecord {
  pid_t pid = 0;
  std::uint64_t ticks = 0;
  std::string boot;
  WallTime at;
  bool operator==(const StartedRecord&) const = default;
};

std::string encode(const SandboxRecord& record);
std::string encode(const ContainerRecord& record);
std::string encode(const StartedRecord& record);
Result<SandboxRecord> decode_sandbox(std::string_view text);
Result<ContainerRecord> decode_container(std::string_view text);
Result<StartedRecord> decode_started(std::string_view text);

// Field 22 of /proc/PID/stat, the ticks between boot and the process's start; zero for a text without it, and for a
// process that has ended and waits to be collected.
std::uint64_t start_ticks(std::string_view stat);

// ── of this machine; quick, files of the kernel ──

std::string boot_id();
// Zero when there is no such process.
std::uint64_t start_ticks_of(pid_t pid);

}  // namespace gangway::agent::oci
