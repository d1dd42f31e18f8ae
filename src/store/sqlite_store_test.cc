// SqliteStore beyond the contract: other lives of the file, files that are not ours, disks that fail.
#include "store/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/store_contract.h"
#include "testing/forgetful_vfs.h"

namespace gangway::store {
namespace {

using ::testing::HasSubstr;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

mode_t mode_of(const std::string& path) {
  struct stat file{};
  EXPECT_EQ(::stat(path.c_str(), &file), 0) << path;
  return file.st_mode & 0777;
}

class SqliteStoreTest : public ::testing::Test {
 protected:
  SqliteStoreTest() {
    std::string directory = std::filesystem::temp_directory_path() / "gangway-sqlite-XXXXXX";
    directory_ = ::mkdtemp(directory.data());
    path_ = directory_ + "/store.db";
  }
  ~SqliteStoreTest() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<SqliteStore> open() {
    auto store = SqliteStore::open(loop_, {.path = path_, .vfs = {}, .watch = {}});
    EXPECT_TRUE(store.has_value()) << store.error().message;
    return *std::move(store);
  }
  // The error of opening; the file must be what it was.
  Error refusal() {
    const auto before = read_file(path_);
    auto store = SqliteStore::open(loop_, {.path = path_, .vfs = {}, .watch = {}});
    EXPECT_FALSE(store.has_value());
    EXPECT_TRUE(read_file(path_) == before) << "the file was changed";
    return store ? Error{} : store.error();
  }
  void execute(const std::string& sql) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  testing::ManualLoop loop_;
  std::string directory_;
  std::string path_;
};

TEST_F(SqliteStoreTest, ObjectsComeBackWithAllOfTheirHeader) {
  const auto key = a_key("a", "ns", "jobs.batch");
  auto write = a_put(key, "text with \"quotes\"", 0);
  write.draft.header.generation = 7;
  write.draft.header.fields = {{"status.phase", "Running"}};
  write.draft.header.owners = {{"v1", "Pod", "owner", "uid-2", true, false}};
  write.draft.header.finalizers = {"gangway.dev/keep"};
  write.draft.header.created = WallTime(std::chrono::seconds(1234));
  write.draft.header.deleting_since = WallTime(std::chrono::seconds(2345));
  api::Version before;
  {
    auto store = open();
    ASSERT_TRUE(commit(loop_, *store, {write}).has_value());
    ASSERT_TRUE(commit(loop_, *store, {a_put(a_key("gone"), "x")}).has_value());
    ASSERT_TRUE(commit(loop_, *store, {a_delete(a_key("gone"))}).has_value());
    before = store->root()->get(key);
  }
  auto store = open();
  const auto after = store->root()->get(key);
  ASSERT_TRUE(after);
  EXPECT_EQ(*after.json, *before.json);
  EXPECT_EQ(after.header->name, key.object);
  EXPECT_EQ(after.header->uid, "uid-of-a");
  EXPECT_EQ(after.header->revision, before.header->revision);
  EXPECT_EQ(after.header->generation, 7);
  EXPECT_EQ(after.header->field("status.phase"), "Running");
  ASSERT_EQ(after.header->owners.size(), 1u);
  EXPECT_EQ(after.header->owners[0].uid, "uid-2");
  EXPECT_TRUE(after.header->owners[0].controller);
  EXPECT_EQ(after.header->finalizers, std::vector<std::string>{"gangway.dev/keep"});
  EXPECT_EQ(after.header->created, before.header->created);
  EXPECT_EQ(after.header->deleting_since, before.header->deleting_since);
  EXPECT_EQ(store->status().objects, 1u);
}

TEST_F(SqliteStoreTest, ACleanRestartGoesOnAtTheSameRevision) {
  auto store = open();
  const auto last = commit(loop_, *store, {a_put(a_key("a"), "x")})->revision;
  store.reset();
  store = open();
  EXPECT_EQ(store->root()->revision(), last);
  EXPECT_TRUE(store->watch("pods", last).has_value());
  EXPECT_EQ(store->watch("pods", last - 1).error().reason, Reason::kExpired);
  EXPECT_EQ(commit(loop_, *store, {a_put(a_key("b"), "x")})->revision, last + 1);
}

TEST_F(SqliteStoreTest, FilesAreForTheirOwnerOnly) {
  auto store = open();
  ASSERT_TRUE(commit(loop_, *store, {a_put(a_key("a"), "x")}).has_value());
  EXPECT_EQ(mode_of(path_), 0600u);
  EXPECT_EQ(mode_of(path_ + "-wal"), 0600u);
  EXPECT_GT(store->status().disk_bytes, 0u);
  store.reset();
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  store = open();
  EXPECT_EQ(mode_of(path_), 0600u);
}

TEST_F(SqliteStoreTest, ASecondOneOnTheSameDirectoryIsToldWhoHasIt) {
  auto store = open();
  const auto second = SqliteStore::open(loop_, {.path = path_, .vfs = {}, .watch = {}});
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message,
              HasSubstr("data directory " + directory_ + " is in use by process " + std::to_string(::getpid())));
  store.reset();
  open();
}

TEST_F(SqliteStoreTest, FilesThatAreNotOursAreRefusedAndNotTouched) {
  struct Case {
    const char* name;
    std::function<void()> prepare;
    std::string want;
  };
  const std::vector<Case> cases = {
      {"not a database", [&] { write_file(path_, std::string(20'000, 'x')); },
       path_ + " is damaged: file is not a database"},
      {"a short one", [&] { write_file(path_, "hello"); }, path_ + " is damaged: file is not a database"},
      {"newer", [&] { execute("PRAGMA user_version = 2"); }, path_ + " has format 2, newer than the format 1"},
      {"another program's",
       [&] {
         std::filesystem::remove(path_);
         execute("CREATE TABLE bookmarks(url)");
       },
       path_ + " is a database of another program"},
      {"without its tables", [&] { execute("DROP TABLE objects"); }, path_ + " is damaged: no such table: objects"},
      {"a revision that cannot be", [&] { execute("UPDATE meta SET value = 1"); },
       path_ + " is damaged: a revision is above the ceiling"},
      {"a changed value", [&] { execute("UPDATE objects SET json = replace(json, 'text', 'test') WHERE name = 'p3'"); },
       path_ + " is damaged: pods \"p3\": its checksum is wrong"},
      {"a log without its file", [&] { std::filesystem::rename(path_, path_ + "-wal"); },
       path_ + " is damaged: it is missing or empty, but its log"},
  };
  for (const auto& [name, prepare, want] : cases) {
    SCOPED_TRACE(name);
    for (const auto* suffix : {"", "-wal"}) std::filesystem::remove(path_ + suffix);
    {
      auto store = open();
      for (int i = 0; i < 10; ++i) begin_commit(*store, {a_put(a_key("p" + std::to_string(i)), "x")});
    }
    prepare();
    const auto error = refusal();
    EXPECT_THAT(error.message, HasSubstr(want));
    EXPECT_THAT(error.message, HasSubstr("The file has not been changed"));
  }
}

// Whatever bytes of the file are hit: the store opens with every object as it was, or says that the file is damaged.
TEST_F(SqliteStoreTest, DamageIsNeverTakenForContents) {
  {
    auto store = open();
    for (int i = 0; i < 60; ++i) {
      begin_commit(*store, {a_put(a_key("p" + std::to_string(i)), std::string(static_cast<std::size_t>(i * 40), 'x'))});
    }
  }
  const auto good = read_file(path_);
  int refused = 0;
  for (std::size_t at = 50; at < good.size(); at += 997) {
    auto bad = good;
    for (std::size_t i = at; i < std::min(at + 40, bad.size()); ++i) bad[i] = static_cast<char>(~bad[i]);
    write_file(path_, bad);
    auto store = SqliteStore::open(loop_, {.path = path_, .vfs = {}, .watch = {}});
    if (!store) {
      ++refused;
      EXPECT_THAT(store.error().message, ::testing::AnyOf(HasSubstr("damaged"), HasSubstr("another program"),
                                                          HasSubstr("newer"), HasSubstr("cannot open")));
      EXPECT_TRUE(read_file(path_) == bad);
      continue;
    }
    ASSERT_EQ((*store)->root()->objects("pods").size(), 60u);
    for (int i = 0; i < 60; ++i) {
      const auto version = (*store)->root()->get(a_key("p" + std::to_string(i)));
      ASSERT_TRUE(version);
      EXPECT_EQ(*version.json, json_of(std::string(static_cast<std::size_t>(i * 40), 'x'), version.header->revision));
    }
  }
  EXPECT_GT(refused, 50);
}

TEST_F(SqliteStoreTest, CommitsThatWaitShareOneSync) {
  auto store = open();
  const auto before = store->status();
  std::vector<std::shared_ptr<Answer>> answers;
  for (int i = 0; i < 500; ++i) {
    answers.push_back(begin_commit(*store, {a_put(a_key("p" + std::to_string(i)), "x")}));
  }
  ASSERT_TRUE(loop_.wait_for([&] { return answers.back()->is_in(); }));
  EXPECT_EQ(store->status().commits - before.commits, 500u);
  EXPECT_LT(store->status().syncs - before.syncs, 250u);
}

// On the disk of the tests, whose clock and failures are ours.
class SqliteOnForgetfulDiskTest : public SqliteStoreTest {
 protected:
  std::unique_ptr<SqliteStore> open_on_disk(std::size_t relaxed_bytes = 4096) {
    auto store =
        SqliteStore::open(loop_, {.path = path_, .vfs = disk_.vfs(), .watch = {}, .max_relaxed_bytes = relaxed_bytes});
    EXPECT_TRUE(store.has_value()) << store.error().message;
    return *std::move(store);
  }

  testing::ForgetfulDisk disk_;
};

TEST_F(SqliteOnForgetfulDiskTest, RelaxedWritesWaitForCompanyAndThenShareASync) {
  auto store = open_on_disk();
  const auto syncs = disk_.syncs();
  auto first = begin_commit(*store, {a_put(a_key("e1"), "x")}, Durability::kRelaxed);
  auto second = begin_commit(*store, {a_put(a_key("e2"), "x")}, Durability::kRelaxed);
  EXPECT_FALSE(first->is_in());
  loop_.run_until_idle();
  EXPECT_TRUE(first->is_in() && second->is_in());
  EXPECT_EQ(disk_.syncs(), syncs);
  EXPECT_TRUE(store->root()->get(a_key("e1"))) << "who was answered must find it in the next read";
  loop_.advance(std::chrono::milliseconds(100));
  ASSERT_TRUE(loop_.wait_for([&] { return store->status().syncs == 1; }));
  EXPECT_GT(disk_.syncs(), syncs);
}

TEST_F(SqliteOnForgetfulDiskTest, ADurableWriteTakesRelaxedOnesAlong) {
  auto store = open_on_disk();
  auto relaxed = begin_commit(*store, {a_put(a_key("e"), "x")}, Durability::kRelaxed);
  ASSERT_TRUE(commit(loop_, *store, {a_put(a_key("p"), "x")}).has_value());
  EXPECT_TRUE(store->root()->get(a_key("e")));
  EXPECT_EQ(store->status().syncs, 1u);
  // The timer has nothing left to do.
  loop_.advance(std::chrono::seconds(1));
  EXPECT_EQ(store->status().syncs, 1u);
}

TEST_F(SqliteOnForgetfulDiskTest, RelaxedWritesBeyondTheBudgetWait) {
  auto store = open_on_disk(1000);
  auto small = begin_commit(*store, {a_put(a_key("small"), std::string(600, 'x'))}, Durability::kRelaxed);
  auto large = begin_commit(*store, {a_put(a_key("large"), std::string(600, 'x'))}, Durability::kRelaxed);
  bool durable_when_answered = false;
  ASSERT_TRUE(loop_.wait_for([&] {
    if (!large->is_in()) return false;
    durable_when_answered = static_cast<bool>(store->root()->get(a_key("large")));
    return true;
  }));
  EXPECT_TRUE(durable_when_answered);
  EXPECT_TRUE(small->result->has_value() && large->result->has_value());
  // The budget is free again.
  auto next = begin_commit(*store, {a_put(a_key("small"), std::string(600, 'y'))}, Durability::kRelaxed);
  loop_.run_until_idle();
  EXPECT_TRUE(next->is_in());
  EXPECT_EQ(store->root()->get(a_key("small")).header->label("text"), std::string(600, 'y'));
}

TEST_F(SqliteOnForgetfulDiskTest, AFullDiskFailsWritesUntilThereIsRoom) {
  auto store = open_on_disk();
  ASSERT_TRUE(commit(loop_, *store, {a_put(a_key("kept"), "x")}).has_value());
  auto cursor = *store->watch("pods", store->root()->revision());
  const auto before = store->root();
  disk_.fail_writes_with(SQLITE_FULL);
  auto one = begin_commit(*store, {a_put(a_key("a"), "1", 0)});
  auto two = begin_commit(*store, {a_put(a_key("a"), "2", store->head()->revision())});
  auto relaxed = begin_commit(*store, {a_put(a_key("e"), "x", 0)}, Durability::kRelaxed);
  const auto handed_out = store->head()->revision();
  ASSERT_TRUE(loop_.wait_for([&] { return one->is_in() && two->is_in() && relaxed->is_in(); }));
  for (const auto& answer : {one, two}) {
    ASSERT_FALSE(answer->result->has_value());
    EXPECT_EQ(answer->result->error().reason, Reason::kInternalError);
    EXPECT_THAT(answer->result->error().message,
                HasSubstr("the store cannot write to " + path_ + ": database or disk is full; nothing was changed"));
  }
  EXPECT_EQ(store->head(), before);
  EXPECT_EQ(store->root(), before);
  EXPECT_TRUE(store->root()->get(a_key("kept")));

  // While the disk is known to be full, nothing is promised that is not kept.
  auto doubtful = begin_commit(*store, {a_put(a_key("e"), "x", 0)}, Durability::kRelaxed);
  ASSERT_TRUE(loop_.wait_for([&] { return doubtful->is_in(); }));
  EXPECT_FALSE(doubtful->result->has_value());

  disk_.fail_writes_with(0);
  const auto after = commit(loop_, *store, {a_put(a_key("a"), "3", 0)});
  ASSERT_TRUE(after.has_value()) << after.error().message;
  EXPECT_GT(after->revision, handed_out);
  const Change* change = *cursor->next();
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->now.header->label("text"), "3");
  EXPECT_EQ(*cursor->next(), nullptr);
  store.reset();
  store = open_on_disk();
  EXPECT_EQ(store->root()->objects("pods").size(), 2u);
}

// Whoever looked at a head that a full disk took back is told so, however late it asks.
TEST_F(SqliteOnForgetfulDiskTest, AHeadThatWasTakenBackIsNeverPublished) {
  auto store = open_on_disk();
  const auto published = [&](Revision revision) {
    std::optional<Result<void>> told;
    store->when_published(revision, [&](Result<void> result) { told = std::move(result); });
    EXPECT_TRUE(loop_.wait_for([&] { return told.has_value(); }));
    return told && told->has_value();
  };
  const auto before = store->root()->revision();
  disk_.fail_writes_with(SQLITE_FULL);
  auto lost = begin_commit(*store, {a_put(a_key("a"), "1")});
  const auto seen = store->head()->revision();
  EXPECT_FALSE(published(seen)) << "while it is under way";
  EXPECT_TRUE(lost->is_in());
  EXPECT_FALSE(published(seen)) << "once it has failed";
  EXPECT_FALSE(commit(loop_, *store, {a_put(a_key("a"), "2")}).has_value());
  disk_.fail_writes_with(0);
  const auto after = commit(loop_, *store, {a_put(a_key("b"), "1")});
  ASSERT_TRUE(after.has_value());
  EXPECT_FALSE(published(seen)) << "later revisions are published";
  EXPECT_TRUE(published(before));
  EXPECT_TRUE(published(after->revision));
}

TEST_F(SqliteOnForgetfulDiskTest, AFailedDiskRefusesWritesAndServesReads) {
  auto store = open_on_disk();
  ASSERT_TRUE(commit(loop_, *store, {a_put(a_key("kept"), "x")}).has_value());
  disk_.fail_writes_with(SQLITE_IOERR_FSYNC);
  auto failed = commit(loop_, *store, {a_put(a_key("a"), "1")});
  ASSERT_FALSE(failed.has_value());
  EXPECT_THAT(failed.error().message, HasSubstr("disk I/O error; nothing can be changed until"));
  disk_.fail_writes_with(0);
  // What a failed sync left on the disk is not known: only opening the file again tells.
  EXPECT_FALSE(commit(loop_, *store, {a_put(a_key("b"), "1")}).has_value());
  auto relaxed = begin_commit(*store, {a_put(a_key("b"), "1")}, Durability::kRelaxed);
  loop_.run_until_idle();
  ASSERT_TRUE(relaxed->is_in());
  EXPECT_FALSE(relaxed->result->has_value());
  EXPECT_TRUE(store->root()->get(a_key("kept")));
  EXPECT_FALSE(store->head()->get(a_key("a")));
  const auto last = store->head()->revision();
  store.reset();
  store = open_on_disk();
  EXPECT_TRUE(store->root()->get(a_key("kept")));
  EXPECT_GT(store->root()->revision(), last);
  EXPECT_TRUE(commit(loop_, *store, {a_put(a_key("b"), "1")}).has_value());
}

TEST_F(SqliteOnForgetfulDiskTest, LongLogsAreMovedIntoTheFile) {
  auto store = open_on_disk();
  // 4,096 pages of 8 KiB and more.
  const std::string text(64'000, 'x');
  for (int i = 0; i < 700; ++i) {
    auto answer = begin_commit(*store, {a_put(a_key("p" + std::to_string(i % 100)), text)});
    ASSERT_TRUE(loop_.wait_for([&] { return answer->is_in(); }));
  }
  EXPECT_GT(disk_.contents(path_).size(), 100 * text.size());
  EXPECT_LT(disk_.contents(path_ + "-wal").size(), std::size_t{700} * text.size());
}

}  // namespace
}  // namespace gangway::store
