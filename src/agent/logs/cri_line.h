// One line of a container's log file, as conmon and every CRI runtime write it:
//
//   2026-01-02T03:04:05.678901234Z stdout F what the program printed
//
// F: the program's line ends here; P: it goes on in the next entry of the same stream. LineAssembler puts lines that
// were cut together again. Pure values; a LineAssembler belongs to one reader.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace gangway::agent {

struct CriLine {
  std::string_view time;    // as written; read only where it matters
  std::uint8_t stream = 1;  // 1: stdout, 2: stderr
  bool partial = false;
  std::string_view content;
};

// `line` is without its line break. None when it is not of that form.
std::optional<CriLine> parse_cri_line(std::string_view line);

class LineAssembler {
 public:
  // A program may print megabytes without a line break; so much of a line is held back at most.
  static constexpr std::size_t kMaxHeld = 256 * 1024;

  // `time` is that of the line's first part; `text` ends with a line break unless the line was cut. `begins` is false
  // for what follows a cut.
  using Emit = std::function<void(std::string_view time, bool begins, std::string_view text)>;

  void take(const CriLine& line, const Emit& emit);
  // What never saw its end.
  void finish(const Emit& emit);

 private:
  struct Held {
    bool open = false;   // parts of a line have come
    bool begun = false;  // some of it was emitted
    std::string time;
    std::string text;
  };
  std::array<Held, 2> held_;
};

}  // namespace gangway::agent
