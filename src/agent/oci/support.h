// What this machine can run containers with: found out by trying, once, at start-up. Blocking.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/oci/cgroups.h"
#include "base/result.h"

namespace gangway::agent::oci {

struct Support {
  std::string runtime;  // the path of runc or crun
  std::string name;     // "runc"
  std::string version;  // "1.1.5"
  std::string conmon;
  std::string skopeo;  // empty: images cannot be pulled
  std::string umoci;
  std::string gpu_hook;  // of NVIDIA's container toolkit; empty: pulled images must bring the driver's libraries
  Cgroups cgroups;
  // What a log line says about the choice: "runc 1.1.5; crun 1.8.1 cannot use hybrid cgroups".
  std::string reason;
};

// What is missing, one sentence each, when containers cannot run here.
using Missing = std::vector<std::string>;

// `data_dir` must exist: an overlay is tried there.
tl::expected<Support, Missing> probe(const std::string& data_dir);

// ── pure parts ──

// "runc version 1.1.5+ds1\n…" → {"runc", "1.1.5"}.
std::pair<std::string, std::string> parse_version(std::string_view printed);

struct RuntimeChoice {
  std::string path;
  std::string name;
  std::string version;
};
// Which of those that are installed, and why. crun wants one hierarchy of cgroups, or v1 only.
std::pair<const RuntimeChoice*, std::string> choose_runtime(const std::vector<RuntimeChoice>& installed,
                                                            const Cgroups& cgroups);

}  // namespace gangway::agent::oci
