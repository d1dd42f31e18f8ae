// The habits of Arena's command line that our parser does not have, taken out of the arguments before it sees them.
// Pure.
//
// Old spellings become today's, with a warning; flags that may stand alone or with a value always have one afterwards.
// Nothing behind `--` is touched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gangway::cli::arena {

// What a flag that stands alone means.
inline constexpr std::string_view kDefaultQueue = "\x01";  // no name that a user could type
inline constexpr std::string_view kPrintOnly = "client";

struct Arguments {
  std::vector<std::string> words;
  std::vector<std::string> warnings;
};
Arguments todays_arguments(const std::vector<std::string>& given);

}  // namespace gangway::cli::arena
