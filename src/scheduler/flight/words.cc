#include "scheduler/flight/words.h"

namespace gangway::scheduler::flight {

std::string amount_text(bool is_cpu, std::int64_t amount) {
  if (is_cpu) return amount % 1000 == 0 ? std::to_string(amount / 1000) : std::to_string(amount) + "m";
  constexpr std::int64_t kMi = std::int64_t{1} << 20;
  constexpr std::int64_t kGi = std::int64_t{1} << 30;
  if (amount != 0 && amount % kGi == 0) return std::to_string(amount / kGi) + "Gi";
  if (amount != 0 && amount % kMi == 0) return std::to_string(amount / kMi) + "Mi";
  return std::to_string(amount);
}

Duration between(WallTime from, WallTime to) {
  std::int64_t count = 0;
  if (!__builtin_sub_overflow(to.time_since_epoch().count(), from.time_since_epoch().count(), &count))
    return Duration(count);
  return to < from ? Duration::min() : Duration::max();
}

WallTime later_by(WallTime from, Duration duration) {
  std::int64_t count = 0;
  if (!__builtin_add_overflow(from.time_since_epoch().count(), duration.count(), &count))
    return WallTime(Duration(count));
  return duration < Duration() ? WallTime::min() : WallTime::max();
}

}  // namespace gangway::scheduler::flight
