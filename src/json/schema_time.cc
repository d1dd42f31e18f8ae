#include "json/schema_time.h"

#include "base/quote.h"

namespace gangway::json {
namespace {

constexpr std::string_view kLayout = "2006-01-02T15:04:05Z07:00";
constexpr std::string_view kMicroLayout = "2006-01-02T15:04:05.000000Z07:00";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

int days_in(int month, int year) {
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[month - 1];
}

// Reads a time by Go's layout and stops at the first part that does not fit.
class Reader {
 public:
  Reader(std::string_view text, bool micro) : text_(text), rest_(text), micro_(micro) {}

  std::optional<std::string> error() {
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
    if (!number(4, "2006", year) || !literal("-") || !number(2, "01", month)) return message_;
    if (month < 1 || month > 12) return out_of_range("month");
    if (!literal("-") || !number(2, "02", day) || !literal("T") || !number(2, "15", hour)) return message_;
    if (hour > 23) return out_of_range("hour");
    if (!literal(":") || !number(2, "04", minute)) return message_;
    if (minute > 59) return out_of_range("minute");
    if (!literal(":") || !number(2, "05", second)) return message_;
    if (second > 59) return out_of_range("second");
    if (!fraction() || !zone()) return message_;
    if (!rest_.empty()) {
      return "parsing time " + quoted(text_) + ": extra text: " + quoted(rest_);
    }
    if (day < 1 || day > days_in(month, year)) return out_of_range("day");
    return std::nullopt;
  }

 private:
  bool fail(std::string_view part) {
    message_ = "parsing time " + quoted(text_) + " as " + quoted(micro_ ? kMicroLayout : kLayout) + ": cannot parse " +
               quoted(rest_) + " as " + quoted(part);
    return false;
  }

  std::string out_of_range(std::string_view what) const {
    return "parsing time " + quoted(text_) + ": " + std::string(what) + " out of range";
  }

  bool number(std::size_t digits, std::string_view part, int& out) {
    if (rest_.size() < digits) return fail(part);
    for (std::size_t i = 0; i < digits; ++i) {
      if (!is_digit(rest_[i])) return fail(part);
      out = out * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return true;
  }

  bool literal(std::string_view part) {
    if (!rest_.starts_with(part)) return fail(part);
    rest_.remove_prefix(part.size());
    return true;
  }

  // RFC 3339 takes any fraction, also where the layout has none; MicroTime wants its six digits.
  bool fraction() {
    std::size_t digits = 0;
    const bool dot = !rest_.empty() && (rest_[0] == '.' || rest_[0] == ',');
    if (dot) {
      while (digits + 1 < rest_.size() && is_digit(rest_[digits + 1])) ++digits;
    }
    if (micro_ && digits != 6) return fail(".000000");
    if (digits > 0) rest_.remove_prefix(digits + 1);
    return true;
  }

  bool zone() {
    if (rest_.starts_with("Z")) return literal("Z");
    const bool shaped = rest_.size() >= 6 && (rest_[0] == '+' || rest_[0] == '-') && is_digit(rest_[1]) &&
                        is_digit(rest_[2]) && rest_[3] == ':' && is_digit(rest_[4]) && is_digit(rest_[5]);
    if (!shaped) return fail("Z07:00");
    rest_.remove_prefix(6);
    return true;
  }

  std::string_view text_, rest_;
  bool micro_;
  std::string message_;
};

}  // namespace

std::optional<std::string> go_time_error(std::string_view text, bool micro) {
  return Reader(text, micro).error();
}

}  // namespace gangway::json
