// The server as a process: running it until a signal, detaching it, finding it, ending it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/data_dir.h"

namespace gangway::cli {

// What becomes of the pods of a server that stops.
enum class PodsThen : bool { kGoOn, kEnd };

// Blocks the signals that stop a server in this thread and all it makes; call before any thread is made.
void block_stop_signals();
// Waits for one of them: with SIGTERM and SIGINT pods end, with SIGUSR1 they go on.
PodsThen wait_for_stop_signal();

// Runs `serve` in a new process of its own session whose output goes to the data directory's log. Returns in the
// parent: nothing when the child has reported that it is ready, else what it said, or that it died. Requires: no
// threads yet.
using ReportReady = std::function<void(const Result<std::string>& message)>;
Result<std::string> detach(const DataDir& data, const std::function<int(const ReportReady&)>& serve);

// The server of the data directory, if it is not about to end: one that was killed takes a moment to be gone.
std::optional<pid_t> lasting_server(const DataDir& data);

// Ends the server of the data directory and waits for its end. kNotFound when none runs.
Result<void> stop_server(const DataDir& data, PodsThen pods);

}  // namespace gangway::cli
