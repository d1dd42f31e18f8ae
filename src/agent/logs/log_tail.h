// TailFinder: where the last lines of a log begin, found from its end.
//
// It looks at one block a step, so that its loop is never held up for long, and reads no more than those lines take.
// Belongs to one reader. Blocking reads of files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/logs/log_pieces.h"
#include "sys/file_descriptor.h"

namespace gangway::agent {

struct LogPosition {
  std::size_t piece = 0;
  std::int64_t offset = 0;
};

class TailFinder {
 public:
  // Requires: there is a piece. Lines that were cut count once.
  TailFinder(std::vector<LogPiece> pieces, std::int64_t lines);

  // True when the position is known.
  bool step();
  LogPosition position() const { return position_; }

 private:
  bool enter_piece(std::size_t piece);
  bool found_at(std::int64_t offset);
  bool is_before_tail(std::string_view line);
  bool scan(std::string_view block, std::int64_t begin);

  std::vector<LogPiece> pieces_;
  std::int64_t wanted_;
  std::int64_t counted_ = 0;
  sys::FileDescriptor file_;
  std::size_t piece_ = 0;
  std::int64_t unread_ = 0;    // what lies before it has not been looked at
  std::int64_t line_end_ = 0;  // where the line ends that is looked at
  std::string carry_;          // how that line goes on in the block behind
  bool found_ = false;
  LogPosition position_;
};

}  // namespace gangway::agent
