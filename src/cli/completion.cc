#include "cli/completion.h"

#include <fmt/format.h>

namespace gangway::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Inside single quotes a shell takes everything as it is, but for the quote itself.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string bash_script(const std::vector<CommandDescription>& commands, std::string_view program) {
  std::string names;
  std::string cases;
  for (const auto& command : commands) {
    names += (names.empty() ? "" : " ") + command.name;
    cases +=
        fmt::format("    {}) words={} ;;\n", command.name, quoted(joined(command.flags) + " " + joined(command.words)));
  }
  return fmt::format(R"(# {0} completion for bash: source <({0} completion bash)
_{0}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words
  case $previous in
    --data-dir|--flight-dir) COMPREPLY=($(compgen -d -- "$current")); return ;;
    --cluster|--kubeconfig|--export|--filename|-f|backup|restore) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W {1} -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{2}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _{0} {0}
)",
                     program, quoted(names), cases);
}

std::string zsh_script(const std::vector<CommandDescription>& commands, std::string_view program) {
  std::string list;
  std::string cases;
  for (const auto& command : commands) {
    list += fmt::format("    {}\n", quoted(command.name + ":" + command.help));
    std::string words;
    for (const auto& word : command.flags) words += " " + quoted(word);
    for (const auto& word : command.words) words += " " + quoted(word);
    cases += fmt::format("    {}) compadd --{} ;;\n", command.name, words);
  }
  return fmt::format(R"(#compdef {0}
# {0} completion for zsh: source <({0} completion zsh)
_{0}() {{
  local -a commands
  commands=(
{1}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[CURRENT-1] in
    --data-dir|--flight-dir) _files -/; return ;;
    --cluster|--kubeconfig|--export|--filename|-f|backup|restore) _files; return ;;
  esac
  case $words[2] in
{2}  esac
}}
compdef _{0} {0}
)",
                     program, list, cases);
}

}  // namespace

std::string completion_script(std::string_view shell, const std::vector<CommandDescription>& commands,
                              std::string_view program) {
  return shell == "zsh" ? zsh_script(commands, program) : bash_script(commands, program);
}

}  // namespace gangway::cli
