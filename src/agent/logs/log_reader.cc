#include "agent/logs/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace gangway::agent {
namespace {

constexpr std::size_t kBlock = 64 * 1024;
// Runtimes cut entries at 8 or 16 KiB; what is longer than this is no log.
constexpr std::size_t kMaxEntry = 1024 * 1024;

}  // namespace

LogReader::LogReader(std::string path, LogOptions options) : path_(std::move(path)), options_(options) {}

// False while there is no file.
bool LogReader::begin() {
  pieces_ = find_log_pieces(path_);
  if (pieces_.empty()) return false;
  begun_ = true;
  if (options_.tail_lines) {
    tail_ = std::make_unique<TailFinder>(pieces_, *options_.tail_lines);
    return true;
  }
  std::size_t first = 0;
  // What comes before a piece that began in time is all too old.
  while (options_.since && first + 1 < pieces_.size() && pieces_[first + 1].begins &&
         *pieces_[first + 1].begins <= *options_.since)
    ++first;
  open_piece(first, 0);
  return true;
}

void LogReader::open_piece(std::size_t piece, std::int64_t offset) {
  piece_ = piece;
  current_ = pieces_[piece];
  file_ = sys::FileDescriptor(::open(current_.path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat found{};
  if (file_ && ::fstat(file_.get(), &found) == 0) {
    current_.device = found.st_dev;
    current_.inode = found.st_ino;
  }
  offset_ = offset;
  replaced_ = too_long_ = false;
  unfinished_.clear();
}

LogReader::Progress LogReader::read(std::string& out) {
  if (options_.limit_bytes && emitted_ >= *options_.limit_bytes) return Progress::kLimit;
  if (!begun_) return begin() ? Progress::kMore : Progress::kCaughtUp;
  if (tail_) {
    if (!tail_->step()) return Progress::kMore;
    const auto position = tail_->position();
    tail_.reset();
    open_piece(position.piece, position.offset);
    return Progress::kMore;
  }
  char block[kBlock];
  const ssize_t got = file_ ? ::pread(file_.get(), block, sizeof block, offset_) : 0;
  if (got <= 0) return at_end();
  offset_ += got;
  take_block({block, static_cast<std::size_t>(got)}, out);
  return Progress::kMore;
}

LogReader::Progress LogReader::at_end() {
  if (piece_ + 1 < pieces_.size()) return next_piece();
  const auto now = stat_log_piece(path_);
  if (!now) return Progress::kCaughtUp;
  if (!now->same_file(current_)) {
    // Something may have been written between our last read and the moment it was put aside.
    if (!std::exchange(replaced_, true)) return Progress::kMore;
    return next_piece();
  }
  if (now->size >= offset_) return Progress::kCaughtUp;
  // It was emptied in place.
  open_piece(piece_, 0);
  return Progress::kMore;
}

LogReader::Progress LogReader::next_piece() {
  pieces_ = find_log_pieces(path_);
  if (pieces_.empty()) return Progress::kCaughtUp;
  const auto same =
      std::find_if(pieces_.begin(), pieces_.end(), [&](const LogPiece& piece) { return piece.same_file(current_); });
  // When ours was thrown away, the oldest that began later is the next.
  const auto next =
      same != pieces_.end() ? same + 1 : std::find_if(pieces_.begin(), pieces_.end() - 1, [&](const LogPiece& piece) {
        return piece.begins > current_.begins;
      });
  if (next == pieces_.end()) {
    piece_ = pieces_.size() - 1;
    return Progress::kCaughtUp;
  }
  open_piece(static_cast<std::size_t>(next - pieces_.begin()), 0);
  return Progress::kMore;
}

void LogReader::take_block(std::string_view block, std::string& out) {
  while (!block.empty()) {
    const auto line_break = block.find('\n');
    const auto part = block.substr(0, line_break);
    block.remove_prefix(line_break == std::string_view::npos ? block.size() : line_break + 1);
    if (line_break == std::string_view::npos) {
      too_long_ = too_long_ || unfinished_.size() + part.size() > kMaxEntry;
      if (too_long_) return unfinished_.clear();
      unfinished_ += part;
      return;
    }
    if (std::exchange(too_long_, false)) continue;
    if (unfinished_.empty()) {
      take_line(part, out);
    } else {
      unfinished_ += part;
      take_line(std::exchange(unfinished_, {}), out);
    }
  }
}

void LogReader::take_line(std::string_view line, std::string& out) {
  if (const auto parsed = parse_cri_line(line)) assembler_.take(*parsed, emit_to(out));
}

LineAssembler::Emit LogReader::emit_to(std::string& out) {
  return [this, &out](std::string_view time, bool begins, std::string_view text) { emit(time, begins, text, out); };
}

void LogReader::emit(std::string_view time, bool begins, std::string_view text, std::string& out) {
  if (begins && (options_.since || options_.timestamps)) {
    const auto at = parse_rfc3339(time);
    emitting_ = !options_.since || !at || *at >= *options_.since;
    // Times only grow, so that what follows is wanted too.
    if (emitting_) options_.since.reset();
    if (emitting_ && options_.timestamps) emit("", false, (at ? to_rfc3339_nano(*at) : std::string(time)) + " ", out);
  }
  if (!emitting_) return;
  if (options_.limit_bytes)
    text = text.substr(0, static_cast<std::size_t>(std::max<std::int64_t>(0, *options_.limit_bytes - emitted_)));
  emitted_ += static_cast<std::int64_t>(text.size());
  out += text;
}

void LogReader::finish(std::string& out) {
  assembler_.finish(emit_to(out));
}

}  // namespace gangway::agent
