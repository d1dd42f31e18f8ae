// What survives: random commits on a disk that loses power at a random moment and forgets what was not synced.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "store/sqlite_store.h"
#include "store/store_contract.h"
#include "testing/forgetful_vfs.h"

namespace gangway::store {
namespace {

constexpr int kPairs = 20;

// Both halves of a pair are always written together, with the same text: a half-done transaction shows.
struct Attempt {
  int pair;
  std::string text;
  Revision revision;
  std::shared_ptr<Answer> answer;
  Durability durability;

  bool acknowledged() const { return answer->is_in() && answer->result->has_value(); }
};

api::ObjectKey half(int pair, const char* resource) {
  return a_key("pair-" + std::to_string(pair), "ns", resource);
}

class World {
 public:
  explicit World(std::uint64_t seed) : disk_(seed) {
    std::string directory = std::filesystem::temp_directory_path() / "gangway-durability-XXXXXX";
    directory_ = ::mkdtemp(directory.data());
  }
  ~World() {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  // False: the power went while it opened.
  bool open() {
    auto opened = SqliteStore::open(loop_, {.path = directory_ + "/store.db", .vfs = disk_.vfs(), .watch = {}});
    if (!opened) RC_ASSERT(!disk_.has_power());
    if (opened) store_ = *std::move(opened);
    return store_ != nullptr;
  }

  // Several commits may be on their way at once; the loop turns now and then.
  void commit_until_power_fails(int commits) {
    for (int i = 0; i < commits && disk_.has_power(); ++i) {
      const int pair = *rc::gen::inRange(0, kPairs);
      const auto text = std::to_string(++serial_) + std::string(*rc::gen::inRange<std::size_t>(0, 9000), 'x');
      const auto durability =
          *rc::gen::weightedElement<Durability>({{3, Durability::kFull}, {1, Durability::kRelaxed}});
      const bool erase = *rc::gen::inRange(0, 5) == 0 && store_->head()->get(half(pair, "a"));
      auto write = [&](const char* resource) {
        return erase ? a_delete(half(pair, resource)) : a_put(half(pair, resource), text);
      };
      auto answer = begin_commit(*store_, {write("a"), write("b")}, durability);
      attempts_.push_back({pair, erase ? "" : text, store_->head()->revision(), std::move(answer), durability});
      highest_ = std::max(highest_, store_->head()->revision());
      const auto turn = *rc::gen::inRange(0, 8);
      if (turn == 0) {
        RC_ASSERT(loop_.wait_for([this] { return attempts_.back().answer->is_in(); }));
      } else if (turn == 1) {
        loop_.advance(std::chrono::milliseconds(100));
      }
    }
  }

  void lose_power() {
    // Answers that came before the loss, and those of the failures it caused.
    store_.reset();
    loop_.run_until_idle();
    disk_.restore_power();
  }

  std::string text_of(const Root& root, int pair, const char* resource) const {
    const auto version = root.get(half(pair, resource));
    return version ? std::string(version.header->label("text")) : std::string();
  }

  // Of each pair there is a state that was committed, no older than the last acknowledged durable one.
  void check() {
    const auto root = store_->root();
    RC_ASSERT(root->revision() >= highest_acknowledged());
    for (int pair = 0; pair < kPairs; ++pair) {
      const auto found = text_of(*root, pair, "a");
      RC_ASSERT(found == text_of(*root, pair, "b"));
      std::size_t oldest = 0;
      std::vector<std::string> states = {settled_[pair]};
      for (const auto& attempt : attempts_) {
        if (attempt.pair != pair) continue;
        states.push_back(attempt.text);
        if (attempt.acknowledged() && attempt.durability == Durability::kFull) oldest = states.size() - 1;
      }
      const auto at = std::find(states.begin() + static_cast<std::ptrdiff_t>(oldest), states.end(), found);
      RC_ASSERT(at != states.end());
      settled_[pair] = found;
    }
    RC_ASSERT(static_cast<std::size_t>(root->objects("a").size()) == root->objects("b").size());
    attempts_.clear();
  }

  testing::ForgetfulDisk& disk() { return disk_; }
  // Whether acknowledged or not, nothing may be handed out twice.
  bool next_revision_is_new() {
    auto result = commit(loop_, *store_, {a_put(a_key("probe"), "x")});
    if (!result) return !disk_.has_power();
    const bool is_new = result->revision > highest_;
    highest_ = result->revision;
    return is_new;
  }

 private:
  Revision highest_acknowledged() const {
    Revision highest = 0;
    for (const auto& attempt : attempts_) {
      if (attempt.acknowledged()) highest = std::max(highest, attempt.revision);
    }
    return highest;
  }

  testing::ManualLoop loop_;
  testing::ForgetfulDisk disk_;
  std::string directory_;
  std::unique_ptr<SqliteStore> store_;
  std::vector<Attempt> attempts_;
  std::map<int, std::string> settled_;
  std::uint64_t serial_ = 0;
  Revision highest_ = 0;
};

RC_GTEST_PROP(DurabilityProperty, AcknowledgedWritesSurviveAnyLossOfPower, ()) {
  World world(*rc::gen::arbitrary<std::uint64_t>());
  const int lives = *rc::gen::inRange(2, 6);
  for (int life = 0; life < lives; ++life) {
    // Sometimes so early that the file is not even made, sometimes so late that it does not happen.
    world.disk().lose_power_after(*rc::gen::inRange<std::size_t>(1, 400));
    if (world.open()) {
      world.check();
      RC_ASSERT(world.next_revision_is_new());
      world.commit_until_power_fails(*rc::gen::inRange(0, 120));
    }
    world.lose_power();
  }
  RC_ASSERT(world.open());
  world.check();
  RC_ASSERT(world.next_revision_is_new());
}

// Commits rows with and without a sync, on a disk of its own.
class ForgetfulDiskTest : public ::testing::Test {
 protected:
  ~ForgetfulDiskTest() override { sqlite3_close(db_); }

  void open() {
    ASSERT_EQ(sqlite3_open_v2("db", &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, disk_.vfs().c_str()), SQLITE_OK);
    execute("PRAGMA locking_mode=EXCLUSIVE;PRAGMA journal_mode=WAL");
  }
  void execute(const char* sql) {
    ASSERT_EQ(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db_);
  }
  int count() {
    auto rows = -1;
    auto note = [](void* to, int, char** values, char**) { return *static_cast<int*>(to) = std::stoi(values[0]), 0; };
    EXPECT_EQ(sqlite3_exec(db_, "SELECT count(*) FROM t", note, &rows, nullptr), SQLITE_OK) << sqlite3_errmsg(db_);
    return rows;
  }
  void open_with_one_row_synced_and_one_not() {
    open();
    execute("PRAGMA synchronous=FULL;CREATE TABLE t(x);INSERT INTO t VALUES(1)");
    execute("PRAGMA synchronous=OFF;INSERT INTO t VALUES(2)");
    EXPECT_EQ(count(), 2);
  }

  testing::ForgetfulDisk disk_;
  sqlite3* db_ = nullptr;
};

// The property above would hold of a disk that forgets nothing, too. This one does forget.
TEST_F(ForgetfulDiskTest, WithoutSyncsAcknowledgedWritesAreLost) {
  open_with_one_row_synced_and_one_not();
  disk_.restore_power();
  sqlite3_close(db_);
  open();
  EXPECT_EQ(count(), 1);
}

TEST_F(ForgetfulDiskTest, AKilledProcessLeavesWhatItWroteAndCanWriteNoMore) {
  open_with_one_row_synced_and_one_not();
  disk_.kill_process();
  EXPECT_NE(sqlite3_exec(db_, "INSERT INTO t VALUES(3)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db_);
  open();
  EXPECT_EQ(count(), 2);
}

}  // namespace
}  // namespace gangway::store
