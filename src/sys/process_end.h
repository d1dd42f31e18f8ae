// The end of a process that need not be our child.
#pragma once

#include <sys/types.h>

#include "sys/file_descriptor.h"

namespace gangway::sys {

// A handle that stays with this process when its number goes to another. Empty when there is none.
FileDescriptor watch_process(pid_t pid);
// Blocks. True when the process has ended in time.
bool ends_within(const FileDescriptor& process, int timeout_ms);

}  // namespace gangway::sys
