// What is wanted of a log: PodLogOptions, read off a query.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "sys/url.h"

namespace gangway::agent {

struct LogOptions {
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  std::optional<std::int64_t> tail_lines = {};
  std::optional<WallTime> since = {};
  std::optional<std::int64_t> limit_bytes = {};
};

// `now` is what sinceSeconds counts back from.
Result<LogOptions> read_log_options(const sys::Query& query, WallTime now);

}  // namespace gangway::agent
