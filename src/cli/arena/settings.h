// Arena's own settings file ($ARENA_CONFIG, ~/.arena/config): key=value lines, # for comments. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gangway::cli::arena {

struct Settings {
  std::string ns;                               // namespace
  std::vector<std::string> image_pull_secrets;  // imagePullSecrets, with commas between them
};
Settings parse_settings(std::string_view text);

}  // namespace gangway::cli::arena
