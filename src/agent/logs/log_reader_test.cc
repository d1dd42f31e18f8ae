#include "agent/logs/log_reader.h"

#include <gtest/gtest.h>

#include "agent/logs/test_log.h"

namespace gangway::agent {
namespace {

using Progress = LogReader::Progress;

// All that there is now.
std::string read_on(LogReader& reader) {
  std::string out;
  while (reader.read(out) == Progress::kMore) {
  }
  return out;
}

std::string read_all(const TestLog& log, LogOptions options = {}) {
  LogReader reader(log.path(), options);
  std::string out = read_on(reader);
  reader.finish(out);
  return out;
}

TEST(LogReader, ShowsWhatTheProgramPrinted) {
  TestLog log;
  log.line("hello");
  log.raw("this is no log line\n");
  log.line("half a ", "P");
  log.line("oops", "F", "stderr");
  log.line("line");
  log.line("cut", "P");
  EXPECT_EQ(read_all(log), "hello\noops\nhalf a line\ncut");
}

TEST(LogReader, AMissingFileIsEmptyUntilItComes) {
  TestLog log;
  LogReader reader(log.path(), {});
  EXPECT_EQ(read_on(reader), "");
  log.line("now");
  EXPECT_EQ(read_on(reader), "now\n");
}

TEST(LogReader, TailsFromTheEnd) {
  TestLog log;
  log.line("one");
  log.line("two ", "P");
  log.line("two");
  log.line("three");
  struct Case {
    std::int64_t lines;
    const char* want;
  };
  for (const auto& c : {Case{0, ""},
                        {1, "three\n"},
                        {2, "two two\nthree\n"},
                        {3, "one\ntwo two\nthree\n"},
                        {4, "one\ntwo two\nthree\n"},
                        {1'000'000'000, "one\ntwo two\nthree\n"}})
    EXPECT_EQ(read_all(log, {.tail_lines = c.lines}), c.want) << c.lines;
}

TEST(LogReader, AnUnfinishedLineCountsInATail) {
  TestLog log;
  log.line("one");
  log.line("two");
  log.line("thr", "P");
  EXPECT_EQ(read_all(log, {.tail_lines = 1}), "thr");
  EXPECT_EQ(read_all(log, {.tail_lines = 2}), "two\nthr");
}

TEST(LogReader, TailsFindTheirStartInAnyBlock) {
  // Entries of every length around the size of a block, so that breaks fall on all sides of its edges.
  TestLog log;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < 60; ++i) {
    lines.push_back(std::string(64 * 1024 / 8 - 300 + i * 7, static_cast<char>('a' + i % 26)));
    log.line(lines.back());
  }
  for (std::size_t count : {1U, 2U, 7U, 8U, 9U, 31U, 59U, 60U}) {
    std::string want;
    for (std::size_t i = lines.size() - count; i < lines.size(); ++i) want += lines[i] + "\n";
    EXPECT_EQ(read_all(log, {.tail_lines = static_cast<std::int64_t>(count)}), want) << count;
  }
}

TEST(LogReader, ReadsRotatedPiecesInTheOrderOfTime) {
  TestLog log;
  log.line("one");
  log.rotate(2);
  log.line("two");
  log.rotate(1);
  log.line("three");
  log.rotate(10);
  log.line("four");
  EXPECT_EQ(read_all(log), "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(read_all(log, {.tail_lines = 1}), "four\n");
  EXPECT_EQ(read_all(log, {.tail_lines = 3}), "two\nthree\nfour\n");
  EXPECT_EQ(read_all(log, {.since = TestLog::start() + std::chrono::seconds(2)}), "three\nfour\n");
}

TEST(LogReader, APartMayEndInTheNextPiece) {
  TestLog log;
  log.line("one ", "P");
  log.rotate(1);
  log.line("one");
  EXPECT_EQ(read_all(log), "one one\n");
}

TEST(LogReader, SinceLeavesOutWhatBeganBefore) {
  TestLog log;
  log.line("zero");
  log.line("one ", "P");
  log.line("goes on");
  log.line("three");
  const auto since = [](int seconds) { return LogOptions{.since = TestLog::start() + std::chrono::seconds(seconds)}; };
  EXPECT_EQ(read_all(log, since(1)), "one goes on\nthree\n");
  EXPECT_EQ(read_all(log, since(2)), "three\n");
  EXPECT_EQ(read_all(log, since(9)), "");
}

TEST(LogReader, TimestampsStandBeforeLinesNotParts) {
  TestLog log;
  log.raw("2026-01-01T02:00:00.5+02:00 stdout P a \n2026-01-01T02:00:01+02:00 stdout F b\n");
  EXPECT_EQ(read_all(log, {.timestamps = true}), "2026-01-01T00:00:00.500000000Z a b\n");
}

TEST(LogReader, StopsAtTheLimit) {
  TestLog log;
  log.line("hello");
  log.line("world");
  EXPECT_EQ(read_all(log, {.limit_bytes = 8}), "hello\nwo");
  EXPECT_EQ(read_all(log, {.limit_bytes = 100}), "hello\nworld\n");
  EXPECT_EQ(read_all(log, {.timestamps = true, .limit_bytes = 10}), "2026-01-01");
  LogReader reader(log.path(), {.limit_bytes = 6});
  std::string out;
  while (reader.read(out) == Progress::kMore) {
  }
  EXPECT_EQ(reader.read(out), Progress::kLimit);
  EXPECT_EQ(out, "hello\n");
}

TEST(LogReader, GoesOnWhereItWas) {
  TestLog log;
  log.line("one");
  LogReader reader(log.path(), {.tail_lines = 0});
  EXPECT_EQ(read_on(reader), "");
  log.raw(log.time() + " stdout F tw");
  EXPECT_EQ(read_on(reader), "");
  log.raw("o\n");
  EXPECT_EQ(read_on(reader), "two\n");
}

TEST(LogReader, FollowsThroughRotations) {
  TestLog log;
  log.line("one");
  LogReader reader(log.path(), {});
  EXPECT_EQ(read_on(reader), "one\n");
  log.line("two");
  log.rotate(1);
  log.line("three");
  log.rotate(2);
  EXPECT_EQ(read_on(reader), "two\n");
  log.line("four");
  EXPECT_EQ(read_on(reader), "three\nfour\n");
}

TEST(LogReader, GoesOnWhenItsPieceWasThrownAway) {
  TestLog log;
  log.line("one");
  LogReader reader(log.path(), {});
  EXPECT_EQ(read_on(reader), "one\n");
  log.line("two");
  log.rotate(1);
  log.line("three");
  log.rotate(2);
  std::filesystem::remove(log.path() + ".1");
  log.line("four");
  EXPECT_EQ(read_on(reader), "two\nthree\nfour\n");
}

TEST(LogReader, StartsAgainWhenTheFileWasEmptied) {
  TestLog log;
  log.line("a long first line");
  LogReader reader(log.path(), {});
  EXPECT_EQ(read_on(reader), "a long first line\n");
  std::filesystem::resize_file(log.path(), 0);
  EXPECT_EQ(read_on(reader), "");
  log.line("new");
  EXPECT_EQ(read_on(reader), "new\n");
}

TEST(LogReader, AnEntryWithoutEndIsNotKept) {
  TestLog log;
  log.raw(log.time() + " stdout F " + std::string(2 * 1024 * 1024, 'x') + "\n");
  log.line("after");
  EXPECT_EQ(read_all(log), "after\n");
}

TEST(LogOptions, AreReadOffAQuery) {
  const auto read = [](std::string_view query) {
    return read_log_options(sys::Query::parse(query).value(), TestLog::start());
  };
  const auto all = read("follow=true&previous=1&timestamps=true&tailLines=5&limitBytes=7&sinceSeconds=60");
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->follow && all->previous && all->timestamps);
  EXPECT_EQ(all->tail_lines, 5);
  EXPECT_EQ(all->limit_bytes, 7);
  EXPECT_EQ(all->since, TestLog::start() - std::chrono::minutes(1));
  EXPECT_EQ(read("sinceTime=2026-01-01T00:00:02Z")->since, TestLog::start() + std::chrono::seconds(2));
  EXPECT_TRUE(read("sinceSeconds=9223372036854775807"));
  const auto none = read("");
  EXPECT_FALSE(none->follow || none->tail_lines || none->since || none->limit_bytes);
  for (const char* wrong : {"tailLines=-1", "limitBytes=0", "sinceSeconds=0", "tailLines=x", "sinceTime=yesterday",
                            "sinceTime=2026-01-01T00:00:02Z&sinceSeconds=1"})
    EXPECT_FALSE(read(wrong)) << wrong;
}

}  // namespace
}  // namespace gangway::agent
