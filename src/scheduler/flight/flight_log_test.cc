#include "scheduler/flight/flight_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "scheduler/flight/archive.h"
#include "sys/files.h"

namespace gangway::scheduler::flight {
namespace {

using ::testing::HasSubstr;

class FlightLogTest : public ::testing::Test {
 protected:
  FlightLogTest() {
    std::string path = ::testing::TempDir() + "flight-XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    root_ = path;
    options_.folder = root_ + "/flight";
    options_.retry_after = Duration();
  }
  ~FlightLogTest() override { std::filesystem::remove_all(root_); }

  // A cycle in which the pod `name` appears, with as many bytes as asked for.
  static Entry entry(int minute, const std::string& name, std::size_t bytes = 0) {
    return {.frame = fmt::format("{{\"now\":\"2026-01-02T03:{:02}:00Z\"}}", minute % 60),
            .changed = {fmt::format("{{\"pod\":\"default/{}\",\"uid\":\"{}\"}}", name, std::string(bytes, 'x'))}};
  }
  void write(int from, int to, std::size_t bytes = 0) {
    FlightLog log(options_);
    for (int i = from; i <= to; ++i) log.add(entry(i, "p" + std::to_string(i), bytes));
    log.flush();
    status_ = log.status();
  }
  std::vector<std::string> files() { return flight_files(options_.folder).value_or(std::vector<std::string>()); }
  std::vector<std::uint64_t> cycles() {
    std::vector<std::uint64_t> numbers;
    notes_.clear();
    for (const Summary& summary : list_cycles(files(), notes_)) numbers.push_back(summary.cycle);
    return numbers;
  }
  std::uint64_t bytes_on_disk() {
    std::uint64_t sum = 0;
    for (const std::string& path : files()) sum += std::filesystem::file_size(path);
    return sum;
  }

  std::string root_;
  LogOptions options_;
  LogStatus status_;
  std::vector<std::string> notes_;
};

TEST_F(FlightLogTest, CyclesAreReadBackAsTheyWere) {
  write(1, 3);
  EXPECT_EQ(cycles(), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(files().size(), 1u);
  const auto second = find_cycle(files(), 2, notes_);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->frame, "{\"now\":\"2026-01-02T03:02:00Z\"}");
  EXPECT_EQ(second->snapshot.size(), 2u);
  EXPECT_EQ(find_cycle(files(), std::nullopt, notes_)->number, 3u);
  EXPECT_EQ(find_cycle(files(), 4, notes_).error().message, "cycle 4 is not among those that are kept");
  EXPECT_EQ(status_.first, 1u);
  EXPECT_EQ(status_.last, 3u);
  EXPECT_EQ(status_.bytes, bytes_on_disk());
  EXPECT_EQ(status_.error, "");
  EXPECT_EQ(notes_, std::vector<std::string>{});
}

TEST_F(FlightLogTest, OnlyItsOwnerMayRead) {
  write(1, 1);
  struct stat about{};
  ASSERT_EQ(stat(files().at(0).c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(options_.folder.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
}

TEST_F(FlightLogTest, ARestartGoesOnCounting) {
  write(1, 3);
  write(4, 5);
  EXPECT_EQ(cycles(), (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(files().size(), 2u);
  // The second process knew nothing of what the first had seen.
  EXPECT_EQ(find_cycle(files(), 5, notes_)->snapshot.size(), 2u);
}

TEST_F(FlightLogTest, ATornRecordIsSkippedWithANote) {
  write(1, 3);
  const std::string path = files().at(0);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 5);
  EXPECT_EQ(cycles(), (std::vector<std::uint64_t>{1, 2}));
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_EQ(notes_[0], path + ": it ends in the middle of a record, cycle 3");
  // What comes next does not follow the torn one in its file.
  write(3, 4);
  EXPECT_EQ(cycles(), (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

TEST_F(FlightLogTest, CyclesAreBounded) {
  options_.max_cycles = 20;
  write(1, 100);
  const auto kept = cycles();
  EXPECT_LE(kept.size(), 20u);
  EXPECT_GE(kept.size(), 15u);  // a whole file goes at a time: at most a quarter of all
  EXPECT_EQ(kept.back(), 100u);
  for (std::size_t i = 1; i < kept.size(); ++i) EXPECT_EQ(kept[i], kept[i - 1] + 1);
  // Also those that earlier processes wrote.
  write(101, 110);
  EXPECT_LE(cycles().size(), 20u);
  EXPECT_EQ(cycles().back(), 110u);
}

TEST_F(FlightLogTest, BytesAreBounded) {
  options_.max_bytes = 100'000;
  FlightLog log(options_);
  // The same pod again and again: everything stays small, what is appended does not.
  for (int i = 1; i <= 200; ++i) {
    Entry one = entry(i, "p", 2000);
    one.changed[0].replace(one.changed[0].find('x'), 3, fmt::format("{:03}", i));
    log.add(std::move(one));
    log.flush();
    ASSERT_LE(bytes_on_disk(), options_.max_bytes);
  }
  EXPECT_GT(bytes_on_disk(), options_.max_bytes / 3);
  EXPECT_EQ(cycles().back(), 200u);
  EXPECT_EQ(log.status().bytes, bytes_on_disk());
}

TEST_F(FlightLogTest, AClusterThatIsTooLargeForItIsNotRecordedAndTheStatusSaysSo) {
  options_.max_bytes = 10'000;
  write(1, 1, 20'000);
  EXPECT_EQ(files(), std::vector<std::string>{});
  EXPECT_THAT(status_.error, HasSubstr("more than half of the 10000 that it may use"));
}

TEST_F(FlightLogTest, ADiskThatRefusesStopsNobodyAndIsTriedAgain) {
  std::ofstream(options_.folder) << "a file where the directory should be";
  FlightLog log(options_);
  log.add(entry(1, "a"));
  log.flush();
  EXPECT_THAT(log.status().error, HasSubstr("cannot make the directory " + options_.folder));
  std::filesystem::remove(options_.folder);
  log.add(entry(2, "b"));
  log.flush();
  EXPECT_EQ(log.status().error, "");
  // It has followed what happened meanwhile.
  const auto found = find_cycle(files(), std::nullopt, notes_);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->snapshot.size(), 2u);
}

// A disk that is full in the middle of a record.
TEST_F(FlightLogTest, AfterARecordThatWasCutOffAnotherFileBegins) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  FlightLog log(options_);
  log.add(entry(1, "a", 1000));
  log.flush();
  const rlimit full{2000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  log.add(entry(2, "b", 1000));
  log.flush();
  const std::string error = log.status().error;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, HasSubstr("cannot write " + files().at(0) + ": File too large"));
  log.add(entry(3, "c"));
  log.flush();
  EXPECT_EQ(log.status().error, "");
  EXPECT_EQ(cycles(), (std::vector<std::uint64_t>{1, 2})) << "what was cut off has no number";
  EXPECT_EQ(notes_, std::vector<std::string>{}) << "nor is anything of it left";
  // All three are known: nothing of what happened meanwhile is missing.
  EXPECT_EQ(find_cycle(files(), 2, notes_)->snapshot.size(), 3u);
}

TEST_F(FlightLogTest, AFolderThatIsRemovedIsMadeAgain) {
  options_.max_cycles = 4;  // one cycle a file
  FlightLog log(options_);
  log.add(entry(1, "a"));
  log.flush();
  std::filesystem::remove_all(options_.folder);
  log.add(entry(2, "b"));
  log.flush();
  EXPECT_EQ(log.status().error, "");
  EXPECT_EQ(cycles(), std::vector<std::uint64_t>{2});
}

TEST_F(FlightLogTest, ALongQueueTakesNoMore) {
  options_.max_queued_bytes = 0;
  FlightLog log(options_);
  EXPECT_FALSE(log.has_room());
  log.flush();
  EXPECT_FALSE(log.has_room());
  EXPECT_EQ(log.status().skipped, 2u);
}

TEST_F(FlightLogTest, OneCycleCanBeCarriedAway) {
  write(1, 3);
  const auto record = find_cycle(files(), 2, notes_);
  ASSERT_TRUE(record);
  const std::string copy = root_ + "/copy";
  ASSERT_TRUE(sys::atomic_write(copy, exported(*record), 0600));
  const auto again = find_cycle({copy}, std::nullopt, notes_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->number, 2u);
  EXPECT_EQ(again->snapshot, record->snapshot);
}

TEST_F(FlightLogTest, FilesThatAreNoneAreNamed) {
  const std::string path = root_ + "/photo.jpg";
  std::ofstream(path) << "hello";
  EXPECT_EQ(cycles(), std::vector<std::uint64_t>{});
  EXPECT_FALSE(find_cycle({path}, std::nullopt, notes_));
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0], HasSubstr(path + ": it does not begin as a flight record does"));
  EXPECT_EQ(flight_files(root_ + "/nothing").error().reason, Reason::kNotFound);
}

}  // namespace
}  // namespace gangway::scheduler::flight
