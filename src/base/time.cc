#include "base/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

namespace gangway {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

struct Calendar {
  std::chrono::year_month_day date;
  std::int64_t hour, minute, second, nanosecond;
};

Calendar calendar_of(WallTime time) {
  // The first day of all is cut in half by what nanoseconds can count: no calendar begins within it.
  constexpr WallTime kFirstDay = std::chrono::ceil<days>(WallTime::min());
  time = std::max(time, kFirstDay);
  auto day = std::chrono::floor<days>(time);
  auto rest = time - day;
  return Calendar{.date = std::chrono::year_month_day(day),
                  .hour = rest / hours(1),
                  .minute = rest % hours(1) / minutes(1),
                  .second = rest % minutes(1) / seconds(1),
                  .nanosecond = (rest % seconds(1)).count()};
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Walks over an RFC 3339 text. The messages are those of Go's time package, because clients get to see them.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : text_(text), rest_(text) {}

  Result<int> number(std::size_t width, std::string_view element) {
    if (rest_.size() < width) return mismatch(element);
    int value = 0;
    for (char c : rest_.substr(0, width)) {
      if (!is_digit(c)) return mismatch(element);
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(width);
    return value;
  }

  Result<void> literal(char c) {
    if (rest_.empty() || rest_.front() != c) return mismatch(std::string_view(&c, 1));
    rest_.remove_prefix(1);
    return {};
  }

  // Nanoseconds; digits beyond the ninth are dropped.
  std::int64_t fraction() {
    if (rest_.size() < 2 || (rest_[0] != '.' && rest_[0] != ',') || !is_digit(rest_[1])) return 0;
    rest_.remove_prefix(1);
    std::int64_t value = 0;
    std::int64_t unit = 100'000'000;
    while (!rest_.empty() && is_digit(rest_.front())) {
      value += (rest_.front() - '0') * unit;
      unit /= 10;
      rest_.remove_prefix(1);
    }
    return value;
  }

  Result<minutes> offset() {
    if (!rest_.empty() && rest_.front() == 'Z') {
      rest_.remove_prefix(1);
      return minutes(0);
    }
    auto zone = rest_;
    if (zone.size() < 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':') return mismatch("Z07:00");
    for (std::size_t i : {1U, 2U, 4U, 5U}) {
      if (!is_digit(zone[i])) return mismatch("Z07:00");
    }
    int h = (zone[1] - '0') * 10 + (zone[2] - '0');
    int m = (zone[4] - '0') * 10 + (zone[5] - '0');
    if (h > 24) return out_of_range("time zone offset hour");
    if (m > 60) return out_of_range("time zone offset minute");
    rest_.remove_prefix(6);
    auto offset = minutes(h * 60 + m);
    return zone[0] == '-' ? -offset : offset;
  }

  Result<void> end() const {
    if (rest_.empty()) return {};
    return bad_request(fmt::format("parsing time \"{}\": extra text: \"{}\"", text_, rest_));
  }

  Error out_of_range(std::string_view what) const {
    return bad_request(fmt::format("parsing time \"{}\": {} out of range", text_, what));
  }

 private:
  Error mismatch(std::string_view element) const {
    return bad_request(fmt::format(
        "parsing time \"{}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"{}\" as \"{}\"", text_, rest_, element));
  }

  std::string_view text_;
  std::string_view rest_;
};

// Times that nanoseconds in 64 bits cannot hold (before 1677, after 2262) become the nearest one that they can.
WallTime clamped(std::chrono::sys_seconds time, std::int64_t nanoseconds) {
  constexpr auto kLast = std::chrono::floor<seconds>(WallTime::max()) - seconds(1);
  constexpr auto kFirst = std::chrono::ceil<seconds>(WallTime::min());
  if (time > kLast) return WallTime::max();
  if (time < kFirst) return WallTime::min();
  return WallTime(time) + Duration(nanoseconds);
}

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};

constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"\xC2\xB5s", 1'000},  // micro sign
                                         {"\xCE\xBCs", 1'000},  // Greek mu
                                         {"ms", 1'000'000},
                                         {"s", 1'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"h", 3'600'000'000'000}}};

constexpr std::uint64_t kDurationLimit = std::uint64_t{1} << 63;

// One "number unit" of a duration, removed from the front of `rest`. Empty when it is malformed or too large.
std::optional<std::uint64_t> take_term(std::string_view& rest, std::string_view& unknown_unit, bool& unit_missing) {
  std::uint64_t whole = 0;
  std::size_t at = 0;
  for (; at < rest.size() && is_digit(rest[at]); ++at) {
    if (whole > kDurationLimit / 10) return std::nullopt;
    whole = whole * 10 + static_cast<std::uint64_t>(rest[at] - '0');
  }
  bool has_digits = at > 0;
  double fraction = 0;
  if (at < rest.size() && rest[at] == '.') {
    double scale = 0.1;
    for (++at; at < rest.size() && is_digit(rest[at]); ++at, scale /= 10) {
      fraction += (rest[at] - '0') * scale;
      has_digits = true;
    }
  }
  if (!has_digits) return std::nullopt;
  rest.remove_prefix(at);
  auto unit_length = rest.find_first_of(".0123456789");
  auto name = rest.substr(0, unit_length);
  unit_missing = name.empty();
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    if (whole > kDurationLimit / unit.nanoseconds) return std::nullopt;
    rest.remove_prefix(name.size());
    // The half makes up for decimal fractions that binary cannot represent, as in 0.3s.
    return whole * unit.nanoseconds +
           static_cast<std::uint64_t>(fraction * static_cast<double>(unit.nanoseconds) + 1e-3);
  }
  unknown_unit = name;
  return std::nullopt;
}

}  // namespace

std::string to_rfc3339(WallTime time) {
  auto t = calendar_of(time);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(t.date.year()),
                     static_cast<unsigned>(t.date.month()), static_cast<unsigned>(t.date.day()), t.hour, t.minute,
                     t.second);
}

std::string to_rfc3339_nano(WallTime time) {
  auto seconds = to_rfc3339(time);
  seconds.pop_back();
  return fmt::format("{}.{:09}Z", seconds, calendar_of(time).nanosecond);
}

std::string to_rfc3339_micro(WallTime time) {
  auto t = calendar_of(time);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(t.date.year()),
                     static_cast<unsigned>(t.date.month()), static_cast<unsigned>(t.date.day()), t.hour, t.minute,
                     t.second, t.nanosecond / 1000);
}

Result<WallTime> parse_rfc3339(std::string_view text) {
  TimeReader reader(text);
  GW_TRY(int year, reader.number(4, "2006"));
  GW_CHECKED(reader.literal('-'));
  GW_TRY(int month, reader.number(2, "01"));
  if (month < 1 || month > 12) return reader.out_of_range("month");
  GW_CHECKED(reader.literal('-'));
  GW_TRY(int day, reader.number(2, "02"));
  auto date = std::chrono::year(year) / month / day;
  if (!date.ok()) return reader.out_of_range("day");
  GW_CHECKED(reader.literal('T'));
  GW_TRY(int hour, reader.number(2, "15"));
  if (hour > 23) return reader.out_of_range("hour");
  GW_CHECKED(reader.literal(':'));
  GW_TRY(int minute, reader.number(2, "04"));
  if (minute > 59) return reader.out_of_range("minute");
  GW_CHECKED(reader.literal(':'));
  GW_TRY(int second, reader.number(2, "05"));
  if (second > 59) return reader.out_of_range("second");
  auto nanoseconds = reader.fraction();
  GW_TRY(auto offset, reader.offset());
  GW_CHECKED(reader.end());
  return clamped(
      std::chrono::sys_seconds(std::chrono::sys_days(date)) + hours(hour) + minutes(minute) + seconds(second) - offset,
      nanoseconds);
}

std::string human_duration(Duration duration) {
  auto s = duration / seconds(1);
  if (s < -1) return "<invalid>";
  if (s < 0) return "0s";
  if (s < 120) return fmt::format("{}s", s);
  // A larger unit, followed by the rest in the smaller one unless that is nothing.
  auto both = [](auto large, char large_unit, auto small, char small_unit) {
    if (small == 0) return fmt::format("{}{}", large, large_unit);
    return fmt::format("{}{}{}{}", large, large_unit, small, small_unit);
  };
  auto m = s / 60;
  if (m < 10) return both(m, 'm', s % 60, 's');
  if (m < 180) return fmt::format("{}m", m);
  auto h = m / 60;
  if (h < 8) return both(h, 'h', m % 60, 'm');
  if (h < 48) return fmt::format("{}h", h);
  auto d = h / 24;
  if (h < 24 * 8) return both(d, 'd', h % 24, 'h');
  if (d < 365 * 2) return fmt::format("{}d", d);
  if (d < 365 * 8) return both(d / 365, 'y', d % 365, 'd');
  return fmt::format("{}y", d / 365);
}

Result<Duration> parse_duration(std::string_view text) {
  auto invalid = [&] { return bad_request(fmt::format("time: invalid duration \"{}\"", text)); };
  auto rest = text;
  bool negative = false;
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") return Duration(0);
  if (rest.empty()) return invalid();
  std::uint64_t total = 0;
  while (!rest.empty()) {
    std::string_view unknown_unit;
    bool unit_missing = false;
    auto term = take_term(rest, unknown_unit, unit_missing);
    if (!term && unit_missing) return bad_request(fmt::format("time: missing unit in duration \"{}\"", text));
    if (!term && !unknown_unit.empty()) {
      return bad_request(fmt::format("time: unknown unit \"{}\" in duration \"{}\"", unknown_unit, text));
    }
    if (!term || *term > kDurationLimit - total) return invalid();
    total += *term;
  }
  if (total >= kDurationLimit) {
    if (negative && total == kDurationLimit) return Duration(std::numeric_limits<std::int64_t>::min());
    return invalid();
  }
  auto value = static_cast<std::int64_t>(total);
  return Duration(negative ? -value : value);
}

}  // namespace gangway
