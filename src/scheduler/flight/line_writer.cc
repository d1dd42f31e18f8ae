#include "scheduler/flight/line_writer.h"

namespace gangway::scheduler::flight {

std::string time_text(WallTime time) {
  const bool is_whole = std::chrono::floor<std::chrono::seconds>(time) == time;
  return is_whole ? to_rfc3339(time) : to_rfc3339_nano(time);
}

std::string duration_text(Duration duration) {
  const bool is_whole = duration % std::chrono::seconds(1) == Duration();
  return is_whole ? std::to_string(duration / std::chrono::seconds(1)) + "s" : std::to_string(duration.count()) + "ns";
}

}  // namespace gangway::scheduler::flight
