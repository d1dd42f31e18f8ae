// The files that one container's log is made of: `path` itself, and what rotation has put aside as `path.<number>`.
//
// Which way the numbers run does not matter: pieces are put in order by the time of their first line. Blocking, but
// brief; usable from any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace gangway::agent {

struct LogPiece {
  std::string path;
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t size = 0;
  std::optional<WallTime> begins;  // none: there is no line in it yet

  bool same_file(const LogPiece& other) const { return device == other.device && inode == other.inode; }
};

// Oldest first; the file that is written now comes last. Empty when there is none.
std::vector<LogPiece> find_log_pieces(const std::string& path);
// The file at `path` alone, without looking into it; none when it is not there.
std::optional<LogPiece> stat_log_piece(const std::string& path);

}  // namespace gangway::agent
