#include "store/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "store/data_file.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "store/store_contract.h"

namespace gangway::store {
namespace {

using ::testing::HasSubstr;

class BackupTest : public ::testing::Test {
 protected:
  BackupTest() {
    std::string directory = std::filesystem::temp_directory_path() / "gangway-backup-XXXXXX";
    directory_ = ::mkdtemp(directory.data());
    path_ = directory_ + "/store.db";
    backup_ = directory_ + "/backup";
  }
  ~BackupTest() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<SqliteStore> open() {
    auto store = SqliteStore::open(loop_, {.path = path_, .vfs = {}, .watch = {}});
    EXPECT_TRUE(store.has_value()) << store.error().message;
    return *std::move(store);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) names.push_back(entry.path().filename());
    return names;
  }

  testing::ManualLoop loop_;
  std::string directory_;
  std::string path_;
  std::string backup_;
};

TEST_F(BackupTest, ContentsComeBackAndRevisionsGoOn) {
  auto store = open();
  ASSERT_TRUE(commit(loop_, *store, {a_put(a_key("a"), "old"), a_put(a_key("b", "x", "secrets"), "old")}).has_value());
  const auto kept = *store->root()->get(a_key("a")).json;
  ASSERT_TRUE(store->backup(backup_).has_value());
  ASSERT_TRUE(commit(loop_, *store, {a_put(a_key("a"), "new"), a_put(a_key("c"), "new")}).has_value());
  const auto last = store->root()->revision();
  store.reset();

  const auto restored = SqliteStore::restore(backup_, path_);
  ASSERT_TRUE(restored.has_value()) << restored.error().message;
  store = open();
  EXPECT_EQ(*store->root()->get(a_key("a")).json, kept);
  EXPECT_TRUE(store->root()->get(a_key("b", "x", "secrets")));
  EXPECT_FALSE(store->root()->get(a_key("c")));
  EXPECT_GT(store->root()->revision(), last);
  EXPECT_EQ(store->watch("pods", last).error().reason, Reason::kExpired);
  EXPECT_GT(commit(loop_, *store, {a_put(a_key("d"), "x")})->revision, last);
  store.reset();
  EXPECT_THAT(files(), ::testing::UnorderedElementsAre("backup", "store.db", "store.db.lock"));
}

TEST_F(BackupTest, ABackupIsPrivateCompleteAndNeverOverwritten) {
  auto store = open();
  ASSERT_TRUE(commit(loop_, *store, {a_put(a_key("a"), "x")}).has_value());
  ASSERT_TRUE(store->backup(backup_).has_value());
  struct stat file{};
  ASSERT_EQ(::stat(backup_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  const auto again = store->backup(backup_);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().reason, Reason::kAlreadyExists);
  EXPECT_THAT(again.error().message, HasSubstr(backup_ + " exists already"));
  const auto nowhere = store->backup(directory_ + "/missing/backup");
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_THAT(nowhere.error().message, HasSubstr("No such file or directory"));
  EXPECT_THAT(files(), ::testing::UnorderedElementsAre("backup", "store.db", "store.db-wal", "store.db.lock"));
}

TEST_F(BackupTest, ABackupHoldsWhatIsPublishedWhileWritesGoOn) {
  auto store = open();
  ASSERT_TRUE(commit(loop_, *store, {a_put(a_key("a"), "x")}).has_value());
  auto pending = begin_commit(*store, {a_put(a_key("pending"), "x")});
  ASSERT_TRUE(store->backup(backup_).has_value());
  ASSERT_TRUE(loop_.wait_for([&] { return pending->is_in(); }));
  store.reset();
  ASSERT_TRUE(SqliteStore::restore(backup_, path_).has_value());
  store = open();
  EXPECT_TRUE(store->root()->get(a_key("a")));
  EXPECT_FALSE(store->root()->get(a_key("pending")));
}

TEST_F(BackupTest, AMemoryStoreCanBeTakenOver) {
  MemoryStore memory(loop_);
  ASSERT_TRUE(commit(loop_, memory, {a_put(a_key("a"), "x")}).has_value());
  ASSERT_TRUE(memory.backup(backup_).has_value());
  ASSERT_TRUE(SqliteStore::restore(backup_, path_).has_value());
  EXPECT_TRUE(open()->root()->get(a_key("a")));
}

TEST_F(BackupTest, ABadBackupChangesNothing) {
  auto store = open();
  ASSERT_TRUE(commit(loop_, *store, {a_put(a_key("a"), "x")}).has_value());
  store.reset();
  const auto missing = SqliteStore::restore(backup_, path_);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().reason, Reason::kNotFound);
  std::ofstream(backup_) << std::string(9000, 'x');
  const auto junk = SqliteStore::restore(backup_, path_);
  ASSERT_FALSE(junk.has_value());
  EXPECT_THAT(junk.error().message, HasSubstr(backup_ + " is damaged"));
  std::ofstream(backup_, std::ios::trunc).flush();
  EXPECT_THAT(SqliteStore::restore(backup_, path_).error().message, HasSubstr("it is empty"));
  EXPECT_TRUE(open()->root()->get(a_key("a")));
}

TEST_F(BackupTest, NothingIsRestoredUnderARunningStore) {
  auto store = open();
  ASSERT_TRUE(store->backup(backup_).has_value());
  const auto restored = SqliteStore::restore(backup_, path_);
  ASSERT_FALSE(restored.has_value());
  EXPECT_THAT(restored.error().message, HasSubstr("is in use by process"));
}

TEST_F(BackupTest, ADamagedDatabaseIsKeptBesideTheRestoredOne) {
  auto store = open();
  const auto last = commit(loop_, *store, {a_put(a_key("a"), "x")})->revision;
  ASSERT_TRUE(store->backup(backup_).has_value());
  store.reset();
  std::ofstream(path_, std::ios::trunc) << "rubble";
  std::ofstream(path_ + "-wal") << "old log";
  const auto restored = SqliteStore::restore(backup_, path_);
  ASSERT_TRUE(restored.has_value()) << restored.error().message;
  store = open();
  EXPECT_TRUE(store->root()->get(a_key("a")));
  // Nobody knows how far the damaged one had come.
  EXPECT_GT(store->root()->revision(), last + 1'000'000'000);
  const auto aside = path_ + ".damaged-" + std::to_string(store->root()->revision());
  EXPECT_EQ(std::filesystem::file_size(aside), 6u);
  EXPECT_EQ(std::filesystem::file_size(aside + "-wal"), 7u);
}

TEST_F(BackupTest, WhatACrashedRestoreLeftBehindIsNoObstacle) {
  auto store = open();
  ASSERT_TRUE(commit(loop_, *store, {a_put(a_key("a"), "x")}).has_value());
  ASSERT_TRUE(store->backup(backup_).has_value());
  store.reset();
  // It had kept the old database and not yet replaced it.
  std::ofstream(path_ + ".restoring") << "half";
  std::filesystem::create_hard_link(path_, path_ + ".replaced");
  EXPECT_TRUE(open()->root()->get(a_key("a")));
  const auto restored = SqliteStore::restore(backup_, path_);
  ASSERT_TRUE(restored.has_value()) << restored.error().message;
  EXPECT_TRUE(open()->root()->get(a_key("a")));
  EXPECT_THAT(files(), ::testing::UnorderedElementsAre("backup", "store.db", "store.db.lock"));
}

// As after a crash of the store: its last commits are in the log only.
TEST_F(BackupTest, ALogThatWasLeftBehindDoesNotReachTheRestoredDatabase) {
  auto store = open();
  ASSERT_TRUE(commit(loop_, *store, {a_put(a_key("a"), "old")}).has_value());
  ASSERT_TRUE(store->backup(backup_).has_value());
  ASSERT_TRUE(commit(loop_, *store, {a_put(a_key("a"), "new")}).has_value());
  const auto crashed = directory_ + "/crashed.db";
  std::filesystem::copy_file(path_, crashed);
  std::filesystem::copy_file(path_ + "-wal", crashed + "-wal");
  const auto last = store->root()->revision();
  store.reset();

  path_ = crashed;
  ASSERT_TRUE(SqliteStore::restore(backup_, crashed).has_value());
  store = open();
  EXPECT_EQ(store->root()->get(a_key("a")).header->label("text"), "old");
  // The crashed store might have handed out more than it wrote: the ceiling in its log counts.
  EXPECT_GT(store->root()->revision(), last + 100'000);
}

}  // namespace
}  // namespace gangway::store
