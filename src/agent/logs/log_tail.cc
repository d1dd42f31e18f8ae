#include "agent/logs/log_tail.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "agent/logs/cri_line.h"

namespace gangway::agent {
namespace {

constexpr std::int64_t kBlock = 64 * 1024;
// The part of a line that says whether it is whole: time, stream and tag.
constexpr std::size_t kHead = 64;

}  // namespace

TailFinder::TailFinder(std::vector<LogPiece> pieces, std::int64_t lines) : pieces_(std::move(pieces)), wanted_(lines) {
  enter_piece(pieces_.size() - 1);
  if (wanted_ == 0) found_at(unread_);
}

bool TailFinder::enter_piece(std::size_t piece) {
  piece_ = piece;
  file_ = sys::FileDescriptor(::open(pieces_[piece].path.c_str(), O_RDONLY | O_CLOEXEC));
  unread_ = line_end_ = file_ ? pieces_[piece].size : 0;
  carry_.clear();
  return false;
}

bool TailFinder::found_at(std::int64_t offset) {
  position_ = {piece_, offset};
  return found_ = true;
}

bool TailFinder::is_before_tail(std::string_view line) {
  const auto parsed = parse_cri_line(line);
  if (!parsed) return false;
  if (parsed->partial) {
    // A line that is not finished yet is the last one.
    counted_ = std::max<std::int64_t>(counted_, 1);
    return false;
  }
  if (counted_ == wanted_) return true;
  ++counted_;
  return false;
}

// Goes over the lines of a block, last one first. True when the line before the tail was met.
bool TailFinder::scan(std::string_view block, std::int64_t begin) {
  for (std::size_t stop = block.size();;) {
    const auto line_break = stop == 0 ? std::string_view::npos : block.rfind('\n', stop - 1);
    const bool whole = line_break != std::string_view::npos || begin == 0;
    const std::size_t start = line_break == std::string_view::npos ? 0 : line_break + 1;
    std::string line(block.substr(start, std::min(kHead, stop - start)));
    if (stop == block.size()) line.append(carry_, 0, kHead - line.size());
    if (!whole) {
      carry_ = std::move(line);
      return false;
    }
    if (is_before_tail(line)) return found_at(line_end_);
    if (line_break == std::string_view::npos) return false;
    line_end_ = begin + static_cast<std::int64_t>(start);
    stop = line_break;
  }
}

bool TailFinder::step() {
  if (found_) return true;
  if (unread_ == 0) return piece_ == 0 ? found_at(0) : enter_piece(piece_ - 1);
  const std::int64_t begin = std::max<std::int64_t>(0, unread_ - kBlock);
  std::string block(static_cast<std::size_t>(unread_ - begin), '\0');
  const ssize_t got = ::pread(file_.get(), block.data(), block.size(), begin);
  if (got != static_cast<ssize_t>(block.size())) return found_at(0);  // it was cut off while we looked
  unread_ = begin;
  return scan(block, begin);
}

}  // namespace gangway::agent
