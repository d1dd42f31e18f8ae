#include "sys/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

namespace gangway::sys {
namespace {

class LogTest : public testing::Test {
 protected:
  LogTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gangway-log-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~LogTest() override {
    EXPECT_TRUE(configure_log({}));
    std::filesystem::remove_all(folder_);
  }

  void open(LogOptions options) {
    options.to_stderr = false;
    options.file = path();
    auto opened = configure_log(options);
    ASSERT_TRUE(opened) << opened.error().message;
  }
  std::string path() const { return folder_ + "/log"; }
  std::vector<std::string> lines() {
    flush_log();
    std::ifstream in(path());
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

 private:
  std::string folder_;
};

TEST_F(LogTest, WritesALineAnEvent) {
  open({});
  log_info("store opened",
           {{"path", "/var/x"}, {"objects", 5}, {"took", 0.25}, {"fresh", true}, {"why", "a b\n\"c\""}});
  auto written = lines();
  ASSERT_EQ(written.size(), 1U);
  EXPECT_TRUE(std::regex_match(
      written[0], std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z info store opened path=/var/x objects=5 )"
                             R"(took=0.25 fresh=true why="a b\\n\\"c\\"")")))
      << written[0];
}

TEST_F(LogTest, NoMessageForgesALine) {
  open({});
  log_warning("a\n2026-01-01T00:00:00.000000Z info all is well {}");
  EXPECT_EQ(lines().size(), 1U);
}

TEST_F(LogTest, KeepsToTheLevel) {
  open({.level = LogLevel::kWarning});
  log_debug("d");
  log_info("i");
  log_warning("w");
  log_error("e");
  EXPECT_EQ(lines().size(), 2U);
  EXPECT_FALSE(log_enabled(LogLevel::kInfo));
  EXPECT_TRUE(log_enabled(LogLevel::kError));
  EXPECT_FALSE(log_enabled(LogLevel::kOff));
}

TEST_F(LogTest, Rotates) {
  open({.max_file_bytes = 1024, .max_files = 2});
  for (int i = 0; i < 200; ++i) log_info("a line that fills the file sooner or later");
  flush_log();
  EXPECT_LE(std::filesystem::file_size(path()), 1024U);
  EXPECT_TRUE(std::filesystem::exists(path() + ".1"));
  EXPECT_TRUE(std::filesystem::exists(path() + ".2"));
  EXPECT_FALSE(std::filesystem::exists(path() + ".3"));
}

TEST_F(LogTest, TakesLinesFromManyThreads) {
  open({});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) log_info("line");
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(lines().size(), 400U);
}

TEST_F(LogTest, SaysWhyAFileCannotBeOpened) {
  auto opened = configure_log({.file = "/dev/null/log"});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("/dev/null/log"), std::string::npos);
}

TEST(LogLevelTest, ReadsNames) {
  EXPECT_EQ(*parse_log_level("debug"), LogLevel::kDebug);
  EXPECT_EQ(*parse_log_level("off"), LogLevel::kOff);
  ASSERT_FALSE(parse_log_level("loud"));
  EXPECT_EQ(parse_log_level("loud").error().message,
            "log level \"loud\": must be one of debug, info, warning, error, off");
}

}  // namespace
}  // namespace gangway::sys
