// Shell completion: scripts that know the commands and flags as they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gangway::cli {

struct CommandDescription {
  std::string name;
  std::string help;
  std::vector<std::string> flags;  // "--data-dir"
  std::vector<std::string> words;  // what its argument may be, where that is a fixed set
};

// `shell` is "bash" or "zsh".
std::string completion_script(std::string_view shell, const std::vector<CommandDescription>& commands,
                              std::string_view program = "gangway");

}  // namespace gangway::cli
