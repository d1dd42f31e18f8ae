#include "agent/records.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace gangway::agent {
namespace {

namespace fs = std::filesystem;

struct FileRecordsTest : ::testing::Test {
  fs::path folder = fs::temp_directory_path() / ("gangway-records-" + std::to_string(::getpid()));
  FileRecords records{folder.string()};

  void TearDown() override { fs::remove_all(folder); }
  static PodRecord a_record(const std::string& uid) {
    PodRecord record;
    record.pod = {uid, "ns", "p", "n0"};
    record.judged = true;
    return record;
  }
};

TEST_F(FileRecordsTest, WhatIsSavedIsLoaded) {
  EXPECT_TRUE(records.load()->empty());
  ASSERT_TRUE(records.save(a_record("a")).has_value());
  PodRecord changed = a_record("a");
  changed.released = true;
  ASSERT_TRUE(records.save(changed).has_value());
  ASSERT_TRUE(records.save(a_record("b")).has_value());
  auto loaded = records.load();
  ASSERT_TRUE(loaded.has_value());
  std::sort(loaded->begin(), loaded->end(), [](const auto& a, const auto& b) { return a.pod.uid < b.pod.uid; });
  ASSERT_EQ(loaded->size(), 2U);
  EXPECT_EQ(loaded->at(0), changed);
  ASSERT_TRUE(records.erase("a").has_value());
  ASSERT_TRUE(records.erase("a").has_value()) << "what is gone is gone";
  EXPECT_EQ(records.load()->size(), 1U);
}

TEST_F(FileRecordsTest, AFileThatCannotBeReadIsNamed) {
  ASSERT_TRUE(records.save(a_record("a")).has_value());
  std::ofstream(folder / "a" / "state.json") << "{";
  const auto loaded = records.load();
  ASSERT_FALSE(loaded.has_value());
  EXPECT_NE(loaded.error().message.find("a/state.json"), std::string::npos) << loaded.error().message;
}

TEST_F(FileRecordsTest, AFolderWithoutARecordIsNone) {
  fs::create_directories(folder / "empty");
  EXPECT_TRUE(records.load()->empty());
}

}  // namespace
}  // namespace gangway::agent
