// The short id of a cluster on a machine: what everything outside of its data directory is named with.
//
// "gw" and eight hex digits of a hash of the directory's path, so that several clusters on one machine do not meet and
// `down` finds what is its own. Pure; callable from any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/hash.h"

namespace gangway::agent {

// `data_dir` is the directory's real path: one directory must not have two ids.
std::string cluster_short_id(std::string_view data_dir);

}  // namespace gangway::agent
