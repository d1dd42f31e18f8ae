#include "sys/http.h"

#include <algorithm>

namespace gangway::sys {
namespace {

// ASCII only: header names have nothing else, and the locale has no say in it.
constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool same_header(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view HttpHeaders::get(std::string_view name) const {
  for (const auto& [key, value] : entries_)
    if (same_header(key, name)) return value;
  return {};
}

std::vector<std::string_view> HttpHeaders::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : entries_)
    if (same_header(key, name)) values.emplace_back(value);
  return values;
}

Buffer make_buffer(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace gangway::sys
