#include "response_reader.h"

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace gangway::bench {
namespace {

constexpr std::size_t kOpening = 512;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

// The value of a header in a whole head; "" when there is none.
std::string_view header(std::string_view head, std::string_view name) {
  for (auto at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
    auto line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
    auto value = line.substr(name.size() + 1);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    return value;
  }
  return {};
}

bool read_number(std::string_view text, int base, std::size_t& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && (end == text.data() + text.size() || *end == ';');
}

}  // namespace

bool ResponseReader::read_head(std::string_view head) {
  std::size_t status = 0;
  if (head.size() < 12 || !head.starts_with("HTTP/1.1 ") || !read_number(head.substr(9, 3), 10, status)) return false;
  status_ = static_cast<int>(status);
  if (header(head, "Transfer-Encoding") == "chunked") {
    part_ = Part::kChunkSize;
    return true;
  }
  if (!read_number(header(head, "Content-Length"), 10, left_)) return false;
  part_ = left_ > 0 ? Part::kBody : Part::kDone;
  return true;
}

void ResponseReader::take_body(std::string_view bytes) {
  if (opening_.size() < kOpening) opening_.append(bytes.substr(0, kOpening - opening_.size()));
  body_bytes_ += bytes.size();
  left_ -= bytes.size();
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
    ++lines_;
    at = static_cast<const char*>(found) + 1;
  }
}

bool ResponseReader::take_line(std::string_view& bytes) {
  auto end = bytes.find('\n');
  line_.append(bytes.substr(0, end));
  if (end == std::string_view::npos) {
    bytes = {};
    return false;
  }
  bytes.remove_prefix(end + 1);
  if (line_.ends_with('\r')) line_.pop_back();
  return true;
}

bool ResponseReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    switch (part_) {
      case Part::kDone:
        return false;  // nobody asked for more
      case Part::kHead: {
        // The end of the head may straddle two reads.
        auto before = line_.size();
        line_.append(bytes);
        auto end = line_.find(kHeadEnd, before < kHeadEnd.size() ? 0 : before - kHeadEnd.size());
        if (end == std::string::npos) return true;
        bytes.remove_prefix(end + kHeadEnd.size() - before);
        if (!read_head(std::string_view(line_).substr(0, end))) return false;
        line_.clear();
        break;
      }
      case Part::kBody:
      case Part::kChunk: {
        auto piece = bytes.substr(0, left_);
        take_body(piece);
        bytes.remove_prefix(piece.size());
        if (left_ == 0) part_ = part_ == Part::kBody ? Part::kDone : Part::kChunkEnd;
        break;
      }
      case Part::kChunkSize:
        if (!take_line(bytes)) return true;
        if (!read_number(line_, 16, left_)) return false;
        part_ = left_ > 0 ? Part::kChunk : Part::kTrailer;
        line_.clear();
        break;
      case Part::kChunkEnd:
        if (!take_line(bytes)) return true;
        if (!line_.empty()) return false;
        part_ = Part::kChunkSize;
        break;
      case Part::kTrailer:
        if (!take_line(bytes)) return true;
        if (line_.empty()) part_ = Part::kDone;
        line_.clear();
        break;
    }
  }
  return true;
}

}  // namespace gangway::bench
