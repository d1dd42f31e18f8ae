#include "cli/arena/text.h"

#include <fmt/format.h>

#include <cctype>

namespace gangway::cli::arena {
namespace {

void write_indented(const json::Value& value, std::size_t depth, std::string& out) {
  const std::string inner((depth + 1) * 4, ' ');
  const std::string outer(depth * 4, ' ');
  if (const json::Object* object = value.if_object(); object != nullptr && !object->empty()) {
    out += "{\n";
    bool first = true;
    for (const auto& member : *object) {
      out += (first ? "" : ",\n") + inner;
      first = false;
      json::append_quoted(member.key(), out);
      out += ": ";
      write_indented(member.value(), depth + 1, out);
    }
    out += "\n" + outer + "}";
  } else if (const json::Array* array = value.if_array(); array != nullptr && !array->empty()) {
    out += "[\n";
    for (std::size_t i = 0; i < array->size(); ++i) {
      out += (i == 0 ? "" : ",\n") + inner;
      write_indented((*array)[i], depth + 1, out);
    }
    out += "\n" + outer + "]";
  } else {
    json::serialize_to(value, out);
  }
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

std::string short_duration(Duration duration) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(duration).count();
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m", seconds / 60);
  if (seconds < 24 * 3600) return fmt::format("{}h", seconds / 3600);
  const auto days = seconds / (24 * 3600);
  return days < 365 ? fmt::format("{}d", days) : fmt::format("{}y", days / 365);
}

std::string indented_json(const json::Value& value) {
  std::string out;
  write_indented(value, 0, out);
  return out;
}

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    std::size_t a_end = i;
    std::size_t b_end = j;
    while (a_end < a.size() && is_digit(a[a_end])) ++a_end;
    while (b_end < b.size() && is_digit(b[b_end])) ++b_end;
    if (a_end - i != b_end - j) return a_end - i < b_end - j;
    const int order = a.substr(i, a_end - i).compare(b.substr(j, b_end - j));
    if (order != 0) return order < 0;
    i = a_end;
    j = b_end;
  }
  return a.size() - i < b.size() - j;
}

}  // namespace gangway::cli::arena
