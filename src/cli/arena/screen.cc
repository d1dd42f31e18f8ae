#include "cli/arena/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace gangway::cli::arena {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

// As many characters as fit; a character of several bytes is never cut in two.
std::string_view cut(std::string_view line, std::size_t columns) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if ((static_cast<unsigned char>(line[i]) & 0xc0) == 0x80) continue;
    if (characters++ == columns) return line.substr(0, i);
  }
  return line;
}

}  // namespace

Drawing draw_over(std::string_view text, std::size_t lines_before, ScreenSize size) {
  const std::size_t columns = std::max<std::size_t>(1, size.columns);
  // The cursor stands below the last line and needs one of its own.
  const std::size_t room = std::max<std::size_t>(2, size.rows) - 1;
  std::vector<std::string_view> lines = lines_of(text);
  std::string rest;
  if (lines.size() > room) {
    rest = fmt::format("... and {} more", lines.size() - room + 1);
    lines.resize(room - 1);
    lines.push_back(rest);
  }
  Drawing drawing;
  if (lines_before > 0) drawing.bytes = fmt::format("\x1b[{}F", lines_before);
  drawing.bytes += "\x1b[J";
  for (const std::string_view line : lines) drawing.bytes += fmt::format("{}\n", cut(line, columns));
  drawing.lines = lines.size();
  return drawing;
}

}  // namespace gangway::cli::arena
