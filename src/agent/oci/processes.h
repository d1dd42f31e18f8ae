// Processes of the machine, by what they were started with. Blocking reads of /proc; for worker threads and start-up.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace gangway::agent::oci {

struct RunningProcess {
  pid_t pid = 0;
  std::vector<std::string> argv;
};

// Those with `argument` among their arguments.
std::vector<RunningProcess> processes_with(const std::string& argument);
// Whether the process runs (is no zombie) and has `argument` among its arguments.
bool runs_with(pid_t pid, std::string_view argument);
// Whether the process ignores the signal; false when there is no such process.
bool ignores(pid_t pid, int signal);
// Waits until all have ended; those that have not by then are killed.
void wait_or_kill(const std::vector<RunningProcess>& processes, Duration patience);

}  // namespace gangway::agent::oci
