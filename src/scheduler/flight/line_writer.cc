#include "scheduler/flight/line_writer.h"

#include <algorithm>

namespace gangway::scheduler::flight {

std::string time_text(WallTime time) {
  using std::chrono::days;
  using std::chrono::seconds;
  // The first day of all is cut in half by what nanoseconds can count: no calendar begins within it.
  constexpr WallTime kFirstDay = std::chrono::ceil<days>(WallTime::min());
  time = std::max(time, kFirstDay);
  const auto second = std::chrono::floor<seconds>(time);
  if (second != time) return to_rfc3339_nano(time);
  // As to_rfc3339 writes it, at a fifth of the cost: there are one or two of them in every line.
  const auto day = std::chrono::floor<days>(second);
  const std::chrono::year_month_day date(day);
  const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
  const auto in_day = static_cast<unsigned>((second - day).count());
  std::string text = "0000-00-00T00:00:00Z";
  const auto put = [&](std::size_t at, unsigned number) {
    text[at] = static_cast<char>('0' + number / 10);
    text[at + 1] = static_cast<char>('0' + number % 10);
  };
  put(0, year / 100);
  put(2, year % 100);
  put(5, static_cast<unsigned>(date.month()));
  put(8, static_cast<unsigned>(date.day()));
  put(11, in_day / 3600);
  put(14, in_day / 60 % 60);
  put(17, in_day % 60);
  return text;
}

std::string duration_text(Duration duration) {
  const bool is_whole = duration % std::chrono::seconds(1) == Duration();
  return is_whole ? std::to_string(duration / std::chrono::seconds(1)) + "s" : std::to_string(duration.count()) + "ns";
}

}  // namespace gangway::scheduler::flight
