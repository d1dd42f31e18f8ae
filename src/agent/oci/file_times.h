// When a file was last written, as the rest of the program tells time. Brief; any thread.
#pragma once

#include <string>

#include "base/time.h"

struct stat;

namespace gangway::agent::oci {

WallTime written_at(const struct stat& facts);
// The beginning of time for a file that is not there.
WallTime written_at(const std::string& path);
void set_written_at(const std::string& path, WallTime at);

}  // namespace gangway::agent::oci
