#include "cli/arena/table.h"

#include <algorithm>

namespace gangway::cli::arena {
namespace {

constexpr std::size_t kPadding = 2;

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string Table::text(std::string_view indent) const {
  // widths[i][c]: how wide line i makes its cell c, the last one excepted.
  std::vector<std::vector<std::size_t>> widths(lines_.size());
  std::size_t columns = 0;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    widths[i].resize(lines_[i].size(), 0);
    columns = std::max(columns, lines_[i].size());
  }
  for (std::size_t column = 0; column + 1 < columns; ++column) {
    for (std::size_t i = 0; i < lines_.size();) {
      std::size_t end = i;
      std::size_t width = 0;
      for (; end < lines_.size() && lines_[end].size() > column + 1; ++end)
        width = std::max(width, width_of(lines_[end][column]) + kPadding);
      for (std::size_t line = i; line < end; ++line) widths[line][column] = width;
      i = std::max(end, i + 1);
    }
  }
  std::string out;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].size() != 1 || !lines_[i][0].empty()) out += indent;
    for (std::size_t column = 0; column < lines_[i].size(); ++column) {
      const std::string& cell = lines_[i][column];
      out += cell;
      if (column + 1 < lines_[i].size()) out.append(widths[i][column] - width_of(cell), ' ');
    }
    out += '\n';
  }
  return out;
}

std::vector<std::string> dashes_under(const std::vector<std::string>& headers) {
  std::vector<std::string> dashes;
  for (const std::string& header : headers) dashes.emplace_back(width_of(header), '-');
  return dashes;
}

}  // namespace gangway::cli::arena
