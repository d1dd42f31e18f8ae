// Log files of containers: what they are called, when they are rotated, and how long they stay. Pure decisions, and the
// readers and writers of the few files they are about; those block, and are for worker threads.
//
//   LOGS/<ns>_<pod>_<uid>/pod.json                     whose logs these are: names, node, owner (its job), labels; the
//                                                      time of the file is when the pod was removed
//   LOGS/<ns>_<pod>_<uid>/<container>/<attempt>.log    what is being written
//   LOGS/<ns>_<pod>_<uid>/<container>/<attempt>.log.1767323045000006   what was, with the microsecond
//                                                      of its rotation (agent/logs reads all of them as one)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/runtime_types.h"
#include "base/result.h"
#include "base/time.h"

namespace gangway::agent::oci {

struct LogLimits {
  std::int64_t max_bytes = std::int64_t{10} << 20;  // then a log is rotated
  std::size_t max_files = 5;                        // of one run of a container, the one that is written included
  Duration keep = std::chrono::hours(24 * 7);       // after the last line and after the pod is gone
};

// What a log that is rotated now is renamed to.
std::string rotated_name(std::string_view log, WallTime now);
// Of all files of one log (paths, any order), those that are too many.
std::vector<std::string> surplus_files(std::string_view log, std::vector<std::string> files, std::size_t max_files);

struct LogFolder {
  std::string path;
  std::string pod_uid;
  WallTime last_written;
};
// The folders whose time is over: their pods are gone and nothing was written for long.
std::vector<std::string> expired(const std::vector<LogFolder>& folders, const std::vector<std::string>& pods_here,
                                 WallTime now, Duration keep);

struct LogFile {
  std::string path;
  WallTime last_written;
};
// Of one container's files, those of runs whose time is over. The last two are what `kubectl logs` and `--previous` ask
// for, and stay with their pod.
std::vector<std::string> expired_runs(const std::vector<LogFile>& files, WallTime now, Duration keep);

// ── blocking ──

std::string describe_pod(const SandboxSpec& spec);
std::vector<LogFolder> log_folders(const std::string& logs);
// The folder with a pod's logs, whatever it is called; empty: there is none.
std::string log_folder_of(const std::string& logs, const std::string& pod_uid);
// From now on its logs are counted as those of a pod that is gone, however long it was silent before.
void mark_gone(const std::string& logs, const std::string& pod_uid, WallTime now);
// Deletes everything whose time is over.
Result<void> tidy_logs(const std::string& logs, const std::vector<std::string>& pods_here, WallTime now, Duration keep);
// Renames the log, deletes what is too many and has the shim write to a new file. Until it does, lines go
// to the renamed one: none is lost.
Result<void> rotate(const std::string& log, WallTime now, std::size_t max_files, const std::string& shim_control);

}  // namespace gangway::agent::oci
