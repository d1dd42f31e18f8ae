#include "json/schema_format.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/base64.h"
#include "base/check.h"
#include "base/time.h"
#include "json/schema_pattern.h"
#include "json/schema_time.h"

namespace gangway::json {
namespace {

std::shared_ptr<const Pattern> pattern_of(const char* text) {
  auto pattern = Pattern::compile(text);
  GW_CHECK(pattern.has_value());
  return *pattern;
}

bool is_ipv4(std::string_view text) {
  in_addr address;
  return inet_pton(AF_INET, std::string(text).c_str(), &address) == 1 && text.find('\0') == std::string_view::npos;
}

bool is_ipv6(std::string_view text) {
  in6_addr address;
  return inet_pton(AF_INET6, std::string(text).c_str(), &address) == 1 && text.find('\0') == std::string_view::npos;
}

bool is_cidr(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view address = text.substr(0, slash), bits = text.substr(slash + 1);
  int length = -1;
  const auto [end, status] = std::from_chars(bits.data(), bits.data() + bits.size(), length);
  if (status != std::errc() || end != bits.data() + bits.size() || bits.empty() || length < 0) return false;
  return (is_ipv4(address) && length <= 32) || (is_ipv6(address) && length <= 128);
}

bool is_duration(std::string_view text) {
  // Beside Go's form, "3 hours" and the like are taken.
  static const auto kWords = pattern_of(
      R"((?i)[+-]?\d+\s*(ns|nano\w*|us|µs|micro\w*|ms|milli\w*|s|sec\w*|m|min\w*|h|hr|hour\w*|d|day\w*|w|wk|week\w*))");
  return parse_duration(text).has_value() || kWords->matches(text);
}

bool is_date(std::string_view text) {
  return text.size() == 10 && !go_time_error(std::string(text) + "T00:00:00Z", false);
}

bool is_date_time(std::string_view text) {
  std::string upper(text);
  if (upper.size() > 10 && upper[10] == 't') upper[10] = 'T';
  if (!upper.empty() && upper.back() == 'z') upper.back() = 'Z';
  return !go_time_error(upper, false);
}

bool is_uri(std::string_view text) {
  static const auto kForm = pattern_of(R"(^(/|[A-Za-z][A-Za-z0-9+.-]*:)([^\x00-\x20\x7f%]|%[0-9A-Fa-f]{2})*$)");
  return kForm->matches(text);
}

bool is_hostname(std::string_view text) {
  // Labels of letters (of any script), symbols and digits, with hyphens inside, up to 63 characters each.
  static const auto kForm = pattern_of(
      R"(^[\p{L}\p{S}0-9]([\p{L}\p{S}0-9-]{0,61}[\p{L}\p{S}0-9])?(\.[\p{L}\p{S}0-9]([\p{L}\p{S}0-9-]{0,61}[\p{L}\p{S}0-9])?)*$)");
  return kForm->matches(text);
}

bool matches_simple(std::string_view format, std::string_view text) {
  struct Simple {
    std::string_view format;
    std::shared_ptr<const Pattern> pattern;
  };
  static const Simple kSimple[] = {
      {"uuid", pattern_of("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$")},
      {"uuid3", pattern_of("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$")},
      {"uuid4", pattern_of("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$")},
      {"uuid5", pattern_of("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$")},
      {"mac", pattern_of("(?i)^[0-9a-f]{2}([:-][0-9a-f]{2}){5}$")},
      {"hexcolor", pattern_of("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$")},
      {"ssn", pattern_of(R"(^\d{3}[- ]?\d{2}[- ]?\d{4}$)")},
      {"bsonobjectid", pattern_of("^[0-9a-fA-F]{24}$")},
      {"email", pattern_of(R"(^([^<>]*<)?[^\s@<>]+@[^\s@<>]+>?$)")},
  };
  for (const Simple& simple : kSimple) {
    if (simple.format == format) return simple.pattern->matches(text);
  }
  return true;
}

}  // namespace

bool matches_format(std::string_view format, std::string_view text) {
  if (format == "date-time" || format == "datetime") return is_date_time(text);
  if (format == "date") return is_date(text);
  if (format == "byte") return base64_decode(text).has_value();
  if (format == "duration") return is_duration(text);
  if (format == "ipv4") return is_ipv4(text);
  if (format == "ipv6") return is_ipv6(text);
  if (format == "cidr") return is_cidr(text);
  if (format == "uri") return is_uri(text);
  if (format == "hostname") return is_hostname(text);
  return matches_simple(format, text);
}

}  // namespace gangway::json
