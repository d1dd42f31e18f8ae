#include "sys/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace gangway::sys {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return (x | 0x20) == (y | 0x20) && (x == y || ((x | 0x20) >= 'a' && (x | 0x20) <= 'z'));
  });
}

}  // namespace

Result<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
      if (low < 0) return bad_request(fmt::format("invalid URL escape \"{}\"", text.substr(i, 3)));
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    out += c;
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      (out += '%') += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

Result<Query> Query::parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    auto end = text.find('&');
    auto pair = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (pair.empty()) continue;
    auto equals = pair.find('=');
    GW_TRY(auto name, percent_decode(pair.substr(0, equals), true));
    std::string value;
    if (equals != std::string_view::npos) {
      GW_TRY(value, percent_decode(pair.substr(equals + 1), true));
    }
    query.parameters_.emplace_back(std::move(name), std::move(value));
  }
  return query;
}

std::string_view Query::get(std::string_view name) const {
  for (const auto& [key, value] : parameters_) {
    if (key == name) return value;
  }
  return {};
}

bool Query::has(std::string_view name) const {
  return std::any_of(parameters_.begin(), parameters_.end(), [&](const auto& p) { return p.first == name; });
}

bool Query::flag(std::string_view name) const {
  auto value = get(name);
  return has(name) && value != "0" && !equals_ignoring_case(value, "false");
}

Result<std::optional<std::int64_t>> Query::integer(std::string_view name) const {
  auto text = get(name);
  if (text.empty()) return std::optional<std::int64_t>();
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return bad_request(fmt::format("{}: must be an integer (got \"{}\")", name, text));
  }
  return std::optional(value);
}

std::vector<std::string_view> Query::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : parameters_) {
    if (key == name) values.push_back(value);
  }
  return values;
}

std::vector<std::string_view> path_segments(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    auto slash = path.find('/');
    if (slash != 0) segments.push_back(path.substr(0, slash));
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return segments;
}

std::string Query::text() const {
  std::string out;
  for (const auto& [name, value] : parameters_) {
    if (!out.empty()) out += '&';
    out += percent_encode(name) + "=" + percent_encode(value);
  }
  return out;
}

Result<Target> parse_target(std::string_view text) {
  Target target;
  auto question = text.find('?');
  GW_TRY(target.path, percent_decode(text.substr(0, question), false));
  // No name has a slash in it, so an escaped one is a slash like any other.
  for (auto segment : path_segments(target.path)) target.segments.emplace_back(segment);
  if (question != std::string_view::npos) {
    GW_TRY(target.query, Query::parse(text.substr(question + 1)));
  }
  return target;
}

}  // namespace gangway::sys
