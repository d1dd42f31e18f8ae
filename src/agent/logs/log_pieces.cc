#include "agent/logs/log_pieces.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace gangway::agent {
namespace {

std::optional<WallTime> first_time(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  char head[64];
  const ssize_t got = ::pread(fd, head, sizeof head, 0);
  ::close(fd);
  const std::string_view text(head, got > 0 ? static_cast<std::size_t>(got) : 0);
  const auto time = parse_rfc3339(text.substr(0, text.find(' ')));
  return time ? std::optional(*time) : std::nullopt;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<LogPiece> stat_log_piece(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return LogPiece{path, found.st_dev, found.st_ino, found.st_size, std::nullopt};
}

std::vector<LogPiece> find_log_pieces(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path whole(path);
  const std::string prefix = whole.filename().string() + ".";
  std::vector<LogPiece> pieces;
  std::error_code error;
  for (fs::directory_iterator at(whole.parent_path(), error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(prefix) || !is_number(std::string_view(name).substr(prefix.size()))) continue;
    if (auto piece = stat_log_piece(at->path().string()); piece && piece->size > 0) {
      piece->begins = first_time(piece->path);
      pieces.push_back(std::move(*piece));
    }
  }
  std::sort(pieces.begin(), pieces.end(), [](const LogPiece& a, const LogPiece& b) {
    return a.begins != b.begins ? a.begins < b.begins : a.path < b.path;
  });
  if (auto current = stat_log_piece(path)) {
    current->begins = first_time(path);
    pieces.push_back(std::move(*current));
  }
  return pieces;
}

}  // namespace gangway::agent
