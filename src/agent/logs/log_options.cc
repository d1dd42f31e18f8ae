#include "agent/logs/log_options.h"

#include <fmt/format.h>

#include <algorithm>

namespace gangway::agent {
namespace {

// Seconds that no log goes back by; what is more would not fit a duration.
constexpr std::int64_t kLongAgo = 100LL * 365 * 24 * 3600;

Result<std::optional<std::int64_t>> at_least(const sys::Query& query, std::string_view name, std::int64_t least) {
  GW_TRY(auto number, query.integer(name));
  if (number && *number < least)
    return bad_request(fmt::format("{}: must be at least {} (got {})", name, least, *number));
  return number;
}

}  // namespace

Result<LogOptions> read_log_options(const sys::Query& query, WallTime now) {
  LogOptions options;
  options.follow = query.flag("follow");
  options.previous = query.flag("previous");
  options.timestamps = query.flag("timestamps");
  GW_TRY(options.tail_lines, at_least(query, "tailLines", 0));
  GW_TRY(options.limit_bytes, at_least(query, "limitBytes", 1));
  GW_TRY(auto seconds, at_least(query, "sinceSeconds", 1));
  if (const auto time = query.get("sinceTime"); !time.empty()) {
    if (seconds) return bad_request("at most one of sinceTime and sinceSeconds may be given");
    GW_TRY(options.since, parse_rfc3339(time));
  } else if (seconds) {
    options.since = now - std::chrono::seconds(std::min(*seconds, kLongAgo));
  }
  return options;
}

}  // namespace gangway::agent
