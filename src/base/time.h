// Time as values: wall time for what users see, monotonic time for what we wait on. Nothing here reads a clock.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gangway {

using Duration = std::chrono::nanoseconds;
using WallTime = std::chrono::sys_time<Duration>;

// Monotonic time has no calendar and no relation to other processes; it gets a type of its own so that the two
// kinds of time cannot be compared by mistake.
struct MonoClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<MonoClock>;
  static constexpr bool is_steady = true;
};
using MonoTime = MonoClock::time_point;

// metav1.Time: "2026-01-02T03:04:05Z", seconds only.
std::string to_rfc3339(WallTime time);
// metav1.MicroTime: "2026-01-02T03:04:05.000006Z".
std::string to_rfc3339_micro(WallTime time);
// Nanoseconds, all nine digits of them: "2026-01-02T03:04:05.000000006Z", as container logs are stamped.
std::string to_rfc3339_nano(WallTime time);
// Takes any RFC 3339 time, with fraction and offset.
Result<WallTime> parse_rfc3339(std::string_view text);

// kubectl's AGE column: "5s", "3m12s", "4h5m", "2d3h", "400d", "3y20d". Negative ages are "<invalid>".
std::string human_duration(Duration duration);

// "90s", "1h30m", "1.5h", "250ms": Go's duration syntax.
Result<Duration> parse_duration(std::string_view text);

}  // namespace gangway
