#include "cli/arena/settings.h"

namespace gangway::cli::arena {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

template <class Take>
void for_each_part(std::string_view text, char separator, Take take) {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    take(trimmed(text.substr(0, end)));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

}  // namespace

Settings parse_settings(std::string_view text) {
  Settings settings;
  for_each_part(text, '\n', [&](std::string_view line) {
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos) return;
    const std::string_view key = trimmed(line.substr(0, equals));
    const std::string_view value = trimmed(line.substr(equals + 1));
    if (key == "namespace") settings.ns = value;
    if (key == "imagePullSecrets")
      for_each_part(value, ',', [&](std::string_view name) {
        if (!name.empty()) settings.image_pull_secrets.emplace_back(name);
      });
  });
  return settings;
}

}  // namespace gangway::cli::arena
