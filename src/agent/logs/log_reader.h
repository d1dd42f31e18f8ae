// LogReader: a container's log as its program printed it, pulled block by block from the files that keep it.
//
// It knows files only, no loop and no container, so that it serves running containers (LogStream) and ended ones alike.
// Who was told kCaughtUp may come back later for what was written since; rotation in between does not matter.
// Belongs to whoever pulls. Blocking reads of files, a block at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/logs/cri_line.h"
#include "agent/logs/log_options.h"
#include "agent/logs/log_pieces.h"
#include "agent/logs/log_tail.h"
#include "sys/file_descriptor.h"

namespace gangway::agent {

class LogReader {
 public:
  LogReader(std::string path, LogOptions options);

  enum class Progress : std::uint8_t {
    kMore,      // there may be more right away
    kCaughtUp,  // that is all there is so far
    kLimit,     // that is all that was asked for
  };
  // Appends what the next block holds.
  Progress read(std::string& out);
  // Appends what the program never finished. After this nothing more is read.
  void finish(std::string& out);

 private:
  bool begin();
  void open_piece(std::size_t piece, std::int64_t offset);
  Progress at_end();
  Progress next_piece();
  void take_block(std::string_view block, std::string& out);
  void take_line(std::string_view line, std::string& out);
  LineAssembler::Emit emit_to(std::string& out);
  void emit(std::string_view time, bool begins, std::string_view text, std::string& out);

  std::string path_;
  LogOptions options_;
  bool begun_ = false;
  std::unique_ptr<TailFinder> tail_;
  std::vector<LogPiece> pieces_;
  std::size_t piece_ = 0;
  LogPiece current_;  // what is open
  sys::FileDescriptor file_;
  std::int64_t offset_ = 0;
  bool replaced_ = false;   // another file has its name by now
  std::string unfinished_;  // the beginning of an entry whose end has not been read
  bool too_long_ = false;   // and is not wanted any more
  LineAssembler assembler_;
  bool emitting_ = true;  // whether the line that goes on is wanted
  std::int64_t emitted_ = 0;
};

}  // namespace gangway::agent
