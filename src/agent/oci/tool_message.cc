#include "agent/oci/tool_message.h"

namespace gangway::agent::oci {

std::string tool_message(std::string_view printed) {
  while (!printed.empty() && (printed.back() == '\n' || printed.back() == ' ')) printed.remove_suffix(1);
  const auto line = printed.substr(printed.rfind('\n') + 1);
  constexpr std::string_view kMessage = " msg=\"";
  const auto start = line.find(kMessage);
  if (!line.starts_with("time=") || start == std::string_view::npos) return std::string(line);
  std::string message;
  for (auto at = start + kMessage.size(); at < line.size() && line[at] != '"'; ++at) {
    if (line[at] == '\\' && at + 1 < line.size()) {
      ++at;
      message += line[at] == 'n' ? '\n' : line[at] == 't' ? '\t' : line[at];
    } else {
      message += line[at];
    }
  }
  return message;
}

}  // namespace gangway::agent::oci
