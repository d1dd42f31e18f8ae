// spawn: starts another program as a child, without a shell and without anything of ours that it was not given.
//
// The child has exactly the descriptors it is told, no signal is blocked or ignored, and it leads a process group of
// its own. Callable from any thread; whoever calls collects the child (EventLoop::on_exit).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sys/file_descriptor.h"

namespace gangway::sys {

struct SpawnSpec {
  std::vector<std::string> argv;                        // argv[0] is looked up in our PATH unless it has a slash
  std::optional<std::vector<std::string>> environment;  // "NAME=value"; none: ours
  std::string working_directory;                        // empty: ours
  std::vector<int> descriptors;                         // become 0, 1, 2, …; -1: /dev/null
  bool own_session = false;                             // instead of only a process group
};

// A program that does not exist is kNotFound.
Result<pid_t> spawn(const SpawnSpec& spec);

struct Pipe {
  FileDescriptor reader;
  FileDescriptor writer;
};
// Both ends are closed on exec; `reader` does not block.
Result<Pipe> make_pipe();

}  // namespace gangway::sys
