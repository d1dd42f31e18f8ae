// A process that is not our child and is known by its pid file: found again by an agent that was restarted.
//
// A pid alone may by now be somebody else's: it counts only when the process was started with exactly the arguments
// that we start it with, or at least with our pid file among them. Blocking, a few small reads.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "sys/descriptor.h"

namespace gangway::agent {

struct PidFileProcess {
  pid_t pid = 0;
  sys::Descriptor pidfd;  // readable when the process has ended
  std::vector<std::string> argv;

  void signal(int signal) const;
};

// The process that the file names, if it is alive and has `argument` among its own.
std::optional<PidFileProcess> find_process(const std::string& pid_file, const std::string& argument);

}  // namespace gangway::agent
