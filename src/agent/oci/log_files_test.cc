#include "agent/oci/log_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "agent/oci/file_times.h"
#include "agent/oci/test_folder.h"
#include "json/value.h"

namespace gangway::agent::oci {
namespace {

using std::chrono::hours;

const WallTime kNow = *parse_rfc3339("2026-01-02T03:04:05.000006Z");

TEST(LogFiles, RotatedOnesSortByTheirTime) {
  EXPECT_EQ(rotated_name("/l/0.log", kNow), "/l/0.log.1767323045000006");
  EXPECT_LT(rotated_name("/l/0.log", kNow), rotated_name("/l/0.log", kNow + std::chrono::microseconds(1)));
  EXPECT_LT(rotated_name("/l/0.log", kNow), rotated_name("/l/0.log", kNow + hours(24 * 365)));
}

TEST(LogFiles, TheOldestAreTooMany) {
  const std::vector<std::string> files{"/l/1.log",   "/l/1.log.3",  "/l/1.log.1",
                                       "/l/1.log.2", "/l/11.log.0", "/l/0.log.0"};
  EXPECT_EQ(surplus_files("/l/1.log", files, 3), std::vector<std::string>{"/l/1.log.1"});
  EXPECT_EQ(surplus_files("/l/1.log", files, 4), std::vector<std::string>{});
  EXPECT_EQ(surplus_files("/l/1.log", files, 1).size(), 3U);
}

TEST(LogFiles, StayForAWeekAfterThePodIsGone) {
  const std::vector<LogFolder> folders{
      {"/l/a", "a", kNow - hours(24 * 8)}, {"/l/b", "b", kNow - hours(24 * 6)}, {"/l/c", "c", kNow - hours(24 * 8)}};
  EXPECT_EQ(expired(folders, {"c"}, kNow, hours(24 * 7)), std::vector<std::string>{"/l/a"});
}

TEST(LogFiles, OldRunsOfAPodThatIsHereGoToo) {
  const WallTime old = kNow - hours(24 * 8);
  const std::vector<LogFile> files{{"/l/9.log", old},  {"/l/10.log", old},        {"/l/11.log", old},
                                   {"/l/8.log", kNow}, {"/l/8.log.1767323", old}, {"/l/other", old}};
  EXPECT_EQ(expired_runs(files, kNow, hours(24 * 7)), (std::vector<std::string>{"/l/8.log.1767323", "/l/9.log"}));
}

TEST(LogFiles, AreKeptFromTheMomentThePodIsGone) {
  TestFolder folder;
  const std::string silent = folder.path() + "/team-a_silent_uid-1";
  const std::string gone = folder.path() + "/team-a_gone_uid-2";
  for (const auto& pod : {silent, gone}) {
    ASSERT_TRUE(make_folders(pod + "/main"));
    for (const auto* file : {"/pod.json", "/main/0.log"}) ASSERT_TRUE(replace_file(pod + file, "x"));
    for (const auto* file : {"/pod.json", "/main/0.log", "/main"}) set_written_at(pod + file, kNow - hours(24 * 30));
  }
  mark_gone(folder.path(), "uid-1", kNow);
  ASSERT_TRUE(tidy_logs(folder.path(), {}, kNow, hours(24 * 7)));
  EXPECT_TRUE(std::filesystem::exists(silent + "/main/0.log"));
  EXPECT_FALSE(std::filesystem::exists(gone));
  ASSERT_TRUE(tidy_logs(folder.path(), {}, kNow + hours(24 * 7 + 1), hours(24 * 7)));
  EXPECT_FALSE(std::filesystem::exists(silent));
}

TEST(LogFiles, SayWhoseTheyAre) {
  SandboxSpec spec;
  spec.pod = {.uid = "u", .ns = "team-a", .name = "job-0", .node = "n"};
  spec.owner = {.kind = "Job", .name = "job"};
  spec.labels = {{"job-name", "job"}, {"attempt", "2"}};
  const auto text = json::parse(describe_pod(spec));
  ASSERT_TRUE(text);
  EXPECT_EQ(json::string_at(*text, {"namespace"}), "team-a");
  EXPECT_EQ(json::string_at(*text, {"owner", "kind"}), "Job");
  EXPECT_EQ(json::string_at(*text, {"owner", "name"}), "job");
  EXPECT_EQ(json::string_at(*text, {"labels", "job-name"}), "job");
  EXPECT_EQ(json::string_at(*text, {"labels", "attempt"}), "2");
}

}  // namespace
}  // namespace gangway::agent::oci
