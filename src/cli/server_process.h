// The server as a process: running it until a signal, detaching it, finding it, ending it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "cli/data_dir.h"

namespace gangway::cli {

// Blocks SIGTERM and SIGINT in this thread and all it makes; call before any thread is made.
void block_stop_signals();
// Waits for one of them.
void wait_for_stop_signal();

// Runs `serve` in a new process of its own session whose output goes to the data directory's log. Returns in the
// parent: nothing when the child has reported that it is ready, else what it said, or that it died. Requires: no
// threads yet.
using ReportReady = std::function<void(const Result<std::string>& message)>;
Result<std::string> detach(const DataDir& data, const std::function<int(const ReportReady&)>& serve);

// Ends the server of the data directory and waits for its end. kNotFound when none runs.
Result<void> stop_server(const DataDir& data);

}  // namespace gangway::cli
