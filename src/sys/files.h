// Whole files, read and written in one go. Blocking; for start-up and small state, not for the loops' hot paths.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace gangway::sys {

// "cannot <what> <path>: " and what errno says; kNotFound when something is missing.
Error file_error(std::string_view what, const std::string& path);

// A missing file is kNotFound.
Result<std::string> read_file(const std::string& path);

// After this, `path` holds all of `bytes` with exactly `mode`, or what it held before, even if the power fails:
// the bytes go to a new file beside it, which is synced and then renamed over it.
Result<void> atomic_write(const std::string& path, std::string_view bytes, mode_t mode = 0644);

}  // namespace gangway::sys
