// Tables as Arena prints them: columns of spaces, each as wide as it must be. Pure.
//
// A column is a run of neighbouring lines that have a cell there and another one after it; its width is its longest
// cell and two spaces. The last cell of a line belongs to no column, so nothing is ever padded at the end of a line but
// an empty last cell. A line of one cell ends the columns above it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gangway::cli::arena {

class Table {
 public:
  void row(std::vector<std::string> cells) { lines_.push_back(std::move(cells)); }
  // A line of its own: a title, dashes, nothing.
  void line(std::string text = "") { lines_.push_back({std::move(text)}); }
  bool empty() const { return lines_.empty(); }

  std::string text(std::string_view indent = "") const;

 private:
  std::vector<std::vector<std::string>> lines_;
};

// "----" under each of them, as long as it is.
std::vector<std::string> dashes_under(const std::vector<std::string>& headers);

}  // namespace gangway::cli::arena
