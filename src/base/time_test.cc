#include "base/time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gangway {
namespace {

using namespace std::chrono_literals;

WallTime at(int year, unsigned month, unsigned day, Duration of_day) {
  return WallTime(std::chrono::sys_days(std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day))) +
         of_day;
}

TEST(TimeTest, WritesSecondsAndMicroseconds) {
  auto time = at(2026, 1, 2, 3h + 4min + 5s + 678'901'234ns);
  EXPECT_EQ(to_rfc3339(time), "2026-01-02T03:04:05Z");
  EXPECT_EQ(to_rfc3339_micro(time), "2026-01-02T03:04:05.678901Z");
  EXPECT_EQ(to_rfc3339_nano(time), "2026-01-02T03:04:05.678901234Z");
  EXPECT_EQ(to_rfc3339_nano(at(2026, 1, 2, 0ns)), "2026-01-02T00:00:00.000000000Z");
  EXPECT_EQ(to_rfc3339(at(1969, 12, 31, 23h + 59min + 59s)), "1969-12-31T23:59:59Z");
}

TEST(TimeTest, ReadsRfc3339) {
  struct Case {
    const char* text;
    WallTime want;
  };
  const Case cases[] = {
      {"2026-01-02T03:04:05Z", at(2026, 1, 2, 3h + 4min + 5s)},
      {"2026-01-02T03:04:05.5Z", at(2026, 1, 2, 3h + 4min + 5s + 500ms)},
      {"2026-01-02T03:04:05.000006Z", at(2026, 1, 2, 3h + 4min + 5s + 6us)},
      {"2026-01-02T03:04:05.1234567899Z", at(2026, 1, 2, 3h + 4min + 5s + 123'456'789ns)},
      {"2026-01-02T03:04:05+02:00", at(2026, 1, 2, 1h + 4min + 5s)},
      {"2026-01-02T03:04:05-09:30", at(2026, 1, 2, 12h + 34min + 5s)},
      {"2024-02-29T00:00:00Z", at(2024, 2, 29, 0s)},
      {"9999-12-31T23:59:59Z", WallTime::max()},
      {"0001-01-01T00:00:00Z", WallTime::min()},
  };
  for (const auto& c : cases) {
    auto got = parse_rfc3339(c.text);
    ASSERT_TRUE(got) << c.text << ": " << got.error().message;
    EXPECT_EQ(got->time_since_epoch().count(), c.want.time_since_epoch().count()) << c.text;
  }
}

TEST(TimeTest, RefusesWhatIsNotRfc3339) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"", "parsing time \"\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"2006\""},
      {"soon", "parsing time \"soon\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"soon\" as \"2006\""},
      {"2026-13-02T03:04:05Z", "parsing time \"2026-13-02T03:04:05Z\": month out of range"},
      {"2026-02-29T03:04:05Z", "parsing time \"2026-02-29T03:04:05Z\": day out of range"},
      {"2026-01-02T24:04:05Z", "parsing time \"2026-01-02T24:04:05Z\": hour out of range"},
      {"2026-01-02T03:60:05Z", "parsing time \"2026-01-02T03:60:05Z\": minute out of range"},
      {"2026-01-02T03:04:60Z", "parsing time \"2026-01-02T03:04:60Z\": second out of range"},
      {"2026-01-02T03:04:05Zx", "parsing time \"2026-01-02T03:04:05Zx\": extra text: \"x\""},
      {"2026-01-02 03:04:05Z",
       "parsing time \"2026-01-02 03:04:05Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \" 03:04:05Z\" as \"T\""},
      {"2026-01-02T03:04:05",
       "parsing time \"2026-01-02T03:04:05\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"Z07:00\""},
      {"2026-01-02T03:04:05.Z",
       "parsing time \"2026-01-02T03:04:05.Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \".Z\" as \"Z07:00\""},
      {"2026-01-02T03:04:05+2:00",
       "parsing time \"2026-01-02T03:04:05+2:00\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"+2:00\" as "
       "\"Z07:00\""},
  };
  for (const auto& c : cases) {
    auto got = parse_rfc3339(c.text);
    ASSERT_FALSE(got) << c.text;
    EXPECT_EQ(got.error().message, c.message);
  }
}

RC_GTEST_PROP(TimeTest, MicrosecondsSurviveTheText, ()) {
  auto micros = *rc::gen::inRange<std::int64_t>(-4'000'000'000'000'000, 9'000'000'000'000'000);
  WallTime time{std::chrono::microseconds(micros)};
  auto back = parse_rfc3339(to_rfc3339_micro(time));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == time);
}

TEST(TimeTest, AgesReadAsKubectlWritesThem) {
  struct Case {
    Duration age;
    const char* want;
  };
  const Case cases[] = {
      {-2s, "<invalid>"},
      {-2s + 1ns, "0s"},
      {-1s, "0s"},
      {-1ns, "0s"},
      {0s, "0s"},
      {999ms, "0s"},
      {1s, "1s"},
      {119s, "119s"},
      {2min, "2m"},
      {2min + 1s, "2m1s"},
      {3min + 12s, "3m12s"},
      {9min + 59s, "9m59s"},
      {10min + 59s, "10m"},
      {179min + 59s, "179m"},
      {180min, "3h"},
      {4h + 5min, "4h5m"},
      {7h + 59min + 59s, "7h59m"},
      {8h, "8h"},
      {8h + 30min, "8h"},
      {47h + 59min, "47h"},
      {48h, "2d"},
      {51h, "2d3h"},
      {191h, "7d23h"},
      {192h, "8d"},
      {24h * 400, "400d"},
      {24h * 729 + 23h, "729d"},
      {24h * 730, "2y"},
      {24h * (365 * 3 + 20), "3y20d"},
      {24h * (365 * 8 - 1), "7y364d"},
      {24h * 365 * 8, "8y"},
      {24h * 365 * 100, "100y"},
  };
  for (const auto& c : cases) EXPECT_EQ(human_duration(c.age), c.want);
}

TEST(TimeTest, ReadsDurations) {
  struct Case {
    const char* text;
    Duration want;
  };
  const Case cases[] = {
      {"0", 0s},
      {"90s", 90s},
      {"1h30m", 90min},
      {"1.5h", 90min},
      {"250ms", 250ms},
      {"-1m", -1min},
      {"+5s", 5s},
      {"1h0.3s", 1h + 300ms},
      {".5s", 500ms},
      {"1.s", 1s},
      {"2us3ns", 2us + 3ns},
      {"1\xC2\xB5s", 1us},
      {"-9223372036854775808ns", Duration::min()},
      {"9223372036854775807ns", Duration::max()},
  };
  for (const auto& c : cases) {
    auto got = parse_duration(c.text);
    ASSERT_TRUE(got) << c.text << ": " << got.error().message;
    EXPECT_EQ(got->count(), c.want.count()) << c.text;
  }
}

TEST(TimeTest, RefusesWhatIsNoDuration) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"", "time: invalid duration \"\""},
      {"-", "time: invalid duration \"-\""},
      {"3", "time: missing unit in duration \"3\""},
      {"3d", "time: unknown unit \"d\" in duration \"3d\""},
      {"s", "time: invalid duration \"s\""},
      {".s", "time: invalid duration \".s\""},
      {"9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""},
      {"3000000h", "time: invalid duration \"3000000h\""},
      {"99999999999999999999999h", "time: invalid duration \"99999999999999999999999h\""},
  };
  for (const auto& c : cases) {
    auto got = parse_duration(c.text);
    ASSERT_FALSE(got) << c.text;
    EXPECT_EQ(got.error().message, c.message);
  }
}

TEST(TimeTest, TheFirstTimeThatCanBeCountedIsWrittenAsTheNextDay) {
  EXPECT_EQ(to_rfc3339(WallTime::min()), "1677-09-22T00:00:00Z");
  EXPECT_EQ(to_rfc3339_micro(WallTime::min()), "1677-09-22T00:00:00.000000Z");
  EXPECT_EQ(to_rfc3339(WallTime::max()), "2262-04-11T23:47:16Z");
}

}  // namespace
}  // namespace gangway
