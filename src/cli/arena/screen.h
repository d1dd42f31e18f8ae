// Text that is drawn again and again in one place of a terminal. Pure: what to write, not the writing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gangway::cli::arena {

struct ScreenSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

struct Drawing {
  std::string bytes;
  std::size_t lines = 0;  // that the next one takes the place of
};

// Takes the place of `lines_before` lines above the cursor. Lines are cut at the right edge, and what does not fit
// below each other is counted in a last line: a line that wraps or scrolls away could never be drawn over again.
Drawing draw_over(std::string_view text, std::size_t lines_before, ScreenSize size);

}  // namespace gangway::cli::arena
