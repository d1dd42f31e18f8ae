#include "store/store_contract.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <thread>

#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "testing/forgetful_vfs.h"

namespace gangway::store {
namespace {

class MemoryStoreMaker final : public StoreMaker {
 public:
  std::unique_ptr<Store> make(testing::ManualLoop& loop, const WatchLimits& limits) override {
    return std::make_unique<MemoryStore>(loop, limits);
  }
};

// What the store stands on, and who does the disk's work.
enum class Disk : std::uint8_t { kReal, kInMemory, kInMemoryWithoutThread };

class SqliteStoreMaker final : public StoreMaker {
 public:
  explicit SqliteStoreMaker(Disk kind) : kind_(kind) {
    std::string directory = std::filesystem::temp_directory_path() / "gangway-store-XXXXXX";
    directory_ = ::mkdtemp(directory.data());
  }
  ~SqliteStoreMaker() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<Store> make(testing::ManualLoop& loop, const WatchLimits& limits) override {
    SqliteOptions options{.path = directory_ + "/store.db", .vfs = {}, .watch = limits};
    if (kind_ != Disk::kReal) options.vfs = disk_.vfs();
    if (kind_ == Disk::kInMemoryWithoutThread) options.disk = &loop;
    auto store = SqliteStore::open(loop, std::move(options));
    EXPECT_TRUE(store.has_value()) << store.error().message;
    return *std::move(store);
  }

 private:
  Disk kind_;
  std::string directory_;
  testing::ForgetfulDisk disk_;
};

INSTANTIATE_TEST_SUITE_P(
    Stores, StoreContract,
    ::testing::Values(StoreCase{"Memory", [] { return std::make_unique<MemoryStoreMaker>(); }},
                      StoreCase{"SqliteOnDisk", [] { return std::make_unique<SqliteStoreMaker>(Disk::kReal); }},
                      StoreCase{"SqliteInMemory", [] { return std::make_unique<SqliteStoreMaker>(Disk::kInMemory); }},
                      StoreCase{"SqliteOnALoop",
                                [] { return std::make_unique<SqliteStoreMaker>(Disk::kInMemoryWithoutThread); }}),
    [](const auto& store_case) { return store_case.param.name; });

TEST(MemoryStoreTest, GoesOnFromTheRootOfAnEarlierOne) {
  testing::ManualLoop loop;
  std::shared_ptr<const Root> kept;
  {
    MemoryStore first(loop);
    ASSERT_TRUE(commit(loop, first, {a_put(a_key("a"), "kept")}).has_value());
    kept = first.root();
    ASSERT_TRUE(commit(loop, first, {a_put(a_key("b"), "forgotten")}).has_value());
  }
  MemoryStore second(loop, {}, kept);
  EXPECT_EQ(second.root()->revision(), kept->revision());
  EXPECT_TRUE(second.root()->get(a_key("a")));
  EXPECT_FALSE(second.root()->get(a_key("b")));
  EXPECT_EQ(second.watch("pods", kept->revision() - 1).error().reason, Reason::kExpired);
  EXPECT_EQ(commit(loop, second, {a_put(a_key("c"), "x")})->revision, kept->revision() + 1);
}

// The changes a cursor has now, as "type name@revision".
std::vector<std::string> read_all(Cursor& cursor) {
  std::vector<std::string> seen;
  for (;;) {
    auto change = cursor.next();
    EXPECT_TRUE(change.has_value()) << change.error().message;
    if (!change || !*change) return seen;
    const char* types[] = {"added", "modified", "deleted"};
    seen.push_back(std::string(types[static_cast<int>((*change)->type)]) + " " + (*change)->now.header->name.name +
                   "@" + std::to_string((*change)->revision()));
  }
}

std::string entry(const std::string& what, Revision revision) {
  return what + "@" + std::to_string(revision);
}

TEST_P(StoreContract, StartsEmptyAboveRevisionZero) {
  EXPECT_GT(store().root()->revision(), 0u);
  EXPECT_EQ(store().head()->revision(), store().root()->revision());
  EXPECT_TRUE(store().root()->resources().empty());
  EXPECT_TRUE(store().root()->objects("pods").empty());
  EXPECT_FALSE(store().root()->get(a_key("a")));
}

TEST_P(StoreContract, StampsTheRevisionIntoHeaderAndJson) {
  auto result = commit({a_put(a_key("a"), "one", 0)});
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->versions.size(), 1u);
  const auto stored = store().root()->get(a_key("a"));
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored.header, result->versions[0].header);
  EXPECT_EQ(stored.header->revision, result->revision);
  EXPECT_EQ(stored.header->label("text"), "one");
  EXPECT_EQ(*stored.json, json_of("one", result->revision));
  EXPECT_EQ(store().root()->revision(), result->revision);
  EXPECT_THAT(store().root()->resources(), ::testing::ElementsAre("pods"));
}

TEST_P(StoreContract, RevisionsOnlyGrowAndFailuresChangeNothing) {
  auto last = store().root()->revision();
  for (int i = 0; i < 20; ++i) {
    const auto revision = committed(a_put(a_key("a"), std::to_string(i)));
    EXPECT_GT(revision, last);
    last = revision;
    EXPECT_FALSE(commit({a_put(a_key("a"), "no", 0)}).has_value());
    EXPECT_EQ(store().head()->revision(), last);
  }
}

TEST_P(StoreContract, ExpectationsAreChecked) {
  const auto revision = committed(a_put(a_key("there"), "v"));
  struct Case {
    const char* name;
    Write write;
    std::optional<Reason> want;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"create what exists", a_put(a_key("there"), "x", 0), Reason::kAlreadyExists, R"(pods "there" already exists)"},
      {"update what does not exist", a_put(a_key("gone"), "x", 7), Reason::kNotFound, R"(pods "gone" not found)"},
      {"update a stale version", a_put(a_key("there"), "x", revision - 1), Reason::kConflict,
       "Operation cannot be fulfilled on pods \"there\": the object has been modified; please apply your changes to "
       "the "
       "latest version and try again"},
      {"update a version of the future", a_put(a_key("there"), "x", revision + 1), Reason::kConflict, nullptr},
      {"delete what does not exist", a_delete(a_key("gone")), Reason::kNotFound, R"(pods "gone" not found)"},
      {"delete a stale version", a_delete(a_key("there"), revision - 1), Reason::kConflict, nullptr},
      {"same name, other namespace", a_put(a_key("there", "other"), "x", 0), std::nullopt, nullptr},
      {"same name, other resource", a_put(a_key("there", "default", "secrets"), "x", 0), std::nullopt, nullptr},
      {"update the right version", a_put(a_key("there"), "x", revision), std::nullopt, nullptr},
      {"put whatever there is", a_put(a_key("there"), "y"), std::nullopt, nullptr},
      {"put where there is nothing", a_put(a_key("new"), "y"), std::nullopt, nullptr},
  };
  for (const auto& [name, write, want, message] : cases) {
    SCOPED_TRACE(name);
    const auto before = store().head();
    auto result = commit({write});
    EXPECT_EQ(result.has_value(), !want.has_value());
    if (result.has_value() || !want) continue;
    EXPECT_EQ(result.error().reason, *want);
    EXPECT_EQ(result.error().subject.name, write.key.object.name);
    EXPECT_EQ(result.error().subject.kind, "pods");
    if (message) {
      EXPECT_EQ(result.error().message, message);
    }
    EXPECT_EQ(store().head(), before);
  }
}

TEST_P(StoreContract, ErrorsNameResourceAndGroup) {
  auto result = commit({a_delete(a_key("web", "default", "deployments.apps"))});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, R"(deployments.apps "web" not found)");
  EXPECT_EQ(result.error().subject.kind, "deployments");
  EXPECT_EQ(result.error().subject.group, "apps");
}

TEST_P(StoreContract, TransactionsAreAllOrNothingAtOneRevision) {
  const auto first = commit({a_put(a_key("a"), "1", 0), a_put(a_key("b", "default", "secrets"), "1", 0)});
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->versions[0].header->revision, first->revision);
  EXPECT_EQ(first->versions[1].header->revision, first->revision);

  const auto before = store().root();
  auto failed = commit({a_put(a_key("a"), "2"), a_put(a_key("new"), "2", 0), a_put(a_key("b"), "2", 99)});
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().reason, Reason::kNotFound);
  EXPECT_EQ(store().root(), before);
  EXPECT_EQ(store().head(), before);

  auto mixed = commit({a_delete(a_key("a"), first->revision), a_put(a_key("c"), "3", 0)});
  ASSERT_TRUE(mixed.has_value());
  EXPECT_FALSE(store().root()->get(a_key("a")));
  EXPECT_TRUE(store().root()->get(a_key("c")));
}

TEST_P(StoreContract, PendingWritesAreInTheHeadAndNotInTheRoot) {
  const auto before = store().root();
  auto one = begin_commit(store(), {a_put(a_key("a"), "1", 0)});
  auto two = begin_commit(store(), {a_put(a_key("a"), "2", store().head()->revision())});
  auto clash = begin_commit(store(), {a_put(a_key("a"), "3", 0)});
  EXPECT_FALSE(one->is_in() || two->is_in() || clash->is_in());
  EXPECT_EQ(store().root(), before);
  EXPECT_EQ(store().head()->get(a_key("a")).header->label("text"), "2");
  EXPECT_EQ(store().status().pending_writes, 2u);
  ASSERT_TRUE(loop_.wait_for([&] { return one->is_in() && two->is_in() && clash->is_in(); }));
  ASSERT_TRUE(one->result->has_value());
  ASSERT_TRUE(two->result->has_value());
  EXPECT_GT((*two->result)->revision, (*one->result)->revision);
  EXPECT_EQ(clash->result->error().reason, Reason::kAlreadyExists);
  EXPECT_EQ(store().root()->get(a_key("a")).header->label("text"), "2");
  EXPECT_EQ(store().status().pending_writes, 0u);
  EXPECT_EQ(one->count, 1);
}

TEST_P(StoreContract, AnAnsweredWriteIsPublished) {
  for (int i = 0; i < 30; ++i) {
    const auto key = a_key("p" + std::to_string(i));
    bool seen = false;
    store().commit({a_put(key, "x", 0)}, Durability::kFull, [&](Result<Committed> result) {
      seen = result.has_value() && store().root()->revision() >= result->revision && store().root()->get(key);
    });
    ASSERT_TRUE(loop_.wait_for([&] { return seen; }));
  }
}

TEST_P(StoreContract, TellsWhenAHeadIsPublished) {
  const auto told = [this](Revision revision) {
    auto published = std::make_shared<std::optional<Result<void>>>();
    store().when_published(revision, [published](Result<void> result) { *published = std::move(result); });
    return published;
  };
  auto now = told(store().head()->revision());
  EXPECT_FALSE(now->has_value()) << "answers come by post";
  ASSERT_TRUE(loop_.wait_for([&] { return now->has_value(); }));
  EXPECT_TRUE((*now)->has_value());

  begin_commit(store(), {a_put(a_key("a"), "1")});
  const auto first = store().head()->revision();
  begin_commit(store(), {a_put(a_key("a"), "2")});
  auto later = told(first);
  ASSERT_TRUE(loop_.wait_for([&] { return later->has_value(); }));
  EXPECT_TRUE((*later)->has_value());
  EXPECT_GE(store().root()->revision(), first);
}

TEST_P(StoreContract, RelaxedWritesAreAnsweredAndPublishedInOrder) {
  auto cursor = *store().watch("events", store().root()->revision());
  std::vector<std::shared_ptr<Answer>> answers;
  std::vector<std::string> want;
  for (int i = 0; i < 10; ++i) {
    const auto name = "e" + std::to_string(i);
    answers.push_back(begin_commit(store(), {a_put(a_key(name, "default", "events"), "x", 0)}, Durability::kRelaxed));
    want.push_back(entry("added " + name, store().head()->revision()));
  }
  ASSERT_TRUE(loop_.wait_for(
      [&] { return std::all_of(answers.begin(), answers.end(), [](const auto& answer) { return answer->is_in(); }); }));
  for (const auto& answer : answers) EXPECT_TRUE(answer->result->has_value());
  loop_.advance(std::chrono::seconds(1));
  ASSERT_TRUE(loop_.wait_for([&] { return store().root()->revision() == store().head()->revision(); }));
  EXPECT_EQ(read_all(*cursor), want);
}

TEST_P(StoreContract, RootsNeverChangeSoPagedListsAreConsistent) {
  std::set<std::string> names;
  for (int i = 0; i < 200; ++i) {
    const auto name = "p" + std::to_string(i);
    begin_commit(store(), {a_put(a_key(name), "old", 0)});
    names.insert(name);
  }
  ASSERT_TRUE(loop_.wait_for([&] { return store().root()->objects("pods").size() == 200; }));

  // Pages of 17, with writes in between that touch what was read and what was not.
  const auto root = store().root();
  std::set<std::string> listed;
  auto at = root->objects("pods").begin();
  while (at != root->objects("pods").end()) {
    api::ObjectName last;
    for (int i = 0; i < 17 && at != root->objects("pods").end(); ++i, ++at) {
      EXPECT_EQ(at->header->label("text"), "old");
      listed.insert(at->header->name.name);
      last = at->header->name;
    }
    committed(a_delete(a_key(last.name)));
    committed(a_put(a_key("p199"), "new"));
    committed(a_put(a_key("q" + last.name), "new"));
    at = root->objects("pods").upper_bound(last);
  }
  EXPECT_EQ(listed, names);
  EXPECT_EQ(store().root()->get(a_key("p199")).header->label("text"), "new");
}

TEST_P(StoreContract, WatchGivesChangesInOrderWithBeforeAndNow) {
  auto cursor = *store().watch("pods", store().root()->revision());
  EXPECT_TRUE(read_all(*cursor).empty());
  const auto r1 = committed(a_put(a_key("a"), "one", 0));
  const auto r2 = committed(a_put(a_key("a"), "two", r1));
  committed(a_put(a_key("s", "default", "secrets"), "other resource"));
  const auto r3 = committed(a_delete(a_key("a")));

  const Change* change = *cursor->next();
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->type, ChangeType::kAdded);
  EXPECT_EQ(change->revision(), r1);
  EXPECT_FALSE(change->before);
  EXPECT_EQ(*change->now.json, json_of("one", r1));

  change = *cursor->next();
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->type, ChangeType::kModified);
  EXPECT_EQ(*change->before.json, json_of("one", r1));
  EXPECT_EQ(*change->now.json, json_of("two", r2));

  change = *cursor->next();
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->type, ChangeType::kDeleted);
  EXPECT_EQ(*change->before.json, json_of("two", r2));
  EXPECT_EQ(*change->now.json, json_of("last", r3));
  EXPECT_EQ(change->now.header->revision, r3);
  EXPECT_EQ(*cursor->next(), nullptr);
}

TEST_P(StoreContract, WatchResumesAfterAnyRevision) {
  const auto opening = store().root()->revision();
  std::vector<std::shared_ptr<Answer>> answers;
  for (int i = 0; i < 12; ++i) {
    // Some publications hold several commits.
    answers.push_back(begin_commit(store(), {a_put(a_key("p" + std::to_string(i)), "x", 0)}));
    if (i % 4 == 3) {
      ASSERT_TRUE(loop_.wait_for([&] { return answers.back()->is_in(); }));
    }
  }
  for (Revision after = opening; after <= opening + 12; ++after) {
    std::vector<std::string> want;
    for (auto revision = after + 1; revision <= opening + 12; ++revision) {
      want.push_back(entry("added p" + std::to_string(revision - opening - 1), revision));
    }
    auto cursor = store().watch("pods", after);
    ASSERT_TRUE(cursor.has_value());
    EXPECT_EQ(read_all(**cursor), want) << "after " << after - opening;
  }
}

TEST_P(StoreContract, AllChangesOfATransactionArriveBeforeItsPosition) {
  const auto opening = store().root()->revision();
  auto cursor = *store().watch("pods", opening);
  const auto result = commit({a_put(a_key("a"), "x"), a_put(a_key("b"), "x"), a_put(a_key("c"), "x")});
  ASSERT_TRUE(result.has_value());
  ASSERT_NE(*cursor->next(), nullptr);
  EXPECT_EQ(cursor->position(), opening);
  ASSERT_NE(*cursor->next(), nullptr);
  EXPECT_EQ(cursor->position(), opening);
  ASSERT_NE(*cursor->next(), nullptr);
  EXPECT_EQ(cursor->position(), result->revision);
}

TEST_P(StoreContract, PositionGoesOnWithoutChangesOfTheResource) {
  auto cursor = *store().watch("pods", store().root()->revision());
  const auto revision = committed(a_put(a_key("s", "default", "secrets"), "x"));
  EXPECT_LT(cursor->position(), revision);
  EXPECT_EQ(*cursor->next(), nullptr);
  EXPECT_EQ(cursor->position(), revision);
}

TEST_P(StoreContract, WatchOfTheFutureWaits) {
  const auto opening = store().root()->revision();
  auto cursor = store().watch("pods", opening + 2);
  ASSERT_TRUE(cursor.has_value());
  EXPECT_EQ(*(*cursor)->next(), nullptr);
  EXPECT_EQ((*cursor)->position(), opening + 2);
  committed(a_put(a_key("a"), "1"));
  committed(a_put(a_key("a"), "2"));
  EXPECT_TRUE(read_all(**cursor).empty());
  const auto third = committed(a_put(a_key("a"), "3"));
  EXPECT_EQ(read_all(**cursor), std::vector{entry("modified a", third)});
}

TEST_P(StoreContract, WatchOfAnEarlierLifeIsExpired) {
  const auto opening = store().root()->revision();
  auto cursor = store().watch("pods", opening - 1);
  ASSERT_FALSE(cursor.has_value());
  EXPECT_EQ(cursor.error().reason, Reason::kExpired);
  EXPECT_EQ(cursor.error().message,
            "too old resource version: " + std::to_string(opening - 1) + " (" + std::to_string(opening) + ")");
  EXPECT_TRUE(store().watch("pods", opening).has_value());
}

TEST_P(StoreContract, CursorsThatFallBehindAreExpired) {
  use_short_logs({.max_changes = 5, .max_bytes = 1 << 20});
  const auto opening = store().root()->revision();
  auto slow = *store().watch("pods", opening);
  auto waiting = *store().watch("pods", opening);
  auto other = *store().watch("secrets", opening);
  committed(a_put(a_key("p"), "x"));
  // Has read all there was: forgetting it must not expire this one.
  EXPECT_EQ(read_all(*waiting).size(), 1u);
  for (int i = 0; i < 5; ++i) committed(a_put(a_key("p"), "x"));
  EXPECT_EQ(read_all(*waiting).size(), 5u);

  auto next = slow->next();
  ASSERT_FALSE(next.has_value());
  EXPECT_EQ(next.error().reason, Reason::kExpired);
  EXPECT_EQ(next.error().message,
            "too old resource version: " + std::to_string(opening) + " (" + std::to_string(opening + 1) + ")");
  EXPECT_EQ(store().watch("pods", opening).error().reason, Reason::kExpired);
  EXPECT_EQ(read_all(**store().watch("pods", opening + 1)).size(), 5u);
  EXPECT_EQ(*other->next(), nullptr);
  EXPECT_EQ(other->position(), opening + 6);
}

TEST_P(StoreContract, LogsAreBoundedByBytesToo) {
  use_short_logs({.max_changes = 1000, .max_bytes = 100'000});
  const auto opening = store().root()->revision();
  const std::string large(30'000, 'x');
  for (int i = 0; i < 4; ++i) committed(a_put(a_key("p"), large));
  EXPECT_EQ(store().watch("pods", opening).error().reason, Reason::kExpired);
  EXPECT_EQ(read_all(**store().watch("pods", opening + 1)).size(), 3u);
  // The last publication stays, however large it is.
  committed(a_put(a_key("p"), std::string(200'000, 'x')));
  EXPECT_EQ(read_all(**store().watch("pods", opening + 4)).size(), 1u);
}

TEST_P(StoreContract, WakesAfterPublicationsAndSharesWakes) {
  testing::ManualLoop other;
  int wakes = 0;
  auto subscription = store().on_publish(other, [&] { ++wakes; });
  other.run_until_idle();
  EXPECT_EQ(wakes, 0);
  committed(a_put(a_key("a"), "1"));
  committed(a_put(a_key("a"), "2"));
  other.run_until_idle();
  EXPECT_EQ(wakes, 1);
  committed(a_put(a_key("a"), "3"));
  other.run_until_idle();
  EXPECT_EQ(wakes, 2);
  committed(a_put(a_key("a"), "4"));
  subscription.reset();
  other.run_until_idle();
  committed(a_put(a_key("a"), "5"));
  other.run_until_idle();
  EXPECT_EQ(wakes, 2);
}

TEST_P(StoreContract, StatusCounts) {
  for (int i = 0; i < 3; ++i) committed(a_put(a_key("p" + std::to_string(i)), "x"));
  committed(a_put(a_key("p0"), "y"));
  committed(a_delete(a_key("p1")));
  const auto status = store().status();
  EXPECT_EQ(status.objects, 2u);
  EXPECT_EQ(status.commits, 5u);
  EXPECT_EQ(status.published, status.head);
  EXPECT_EQ(status.published, store().root()->revision());
}

TEST_P(StoreContract, AcceptedCommitsAreAnsweredWhenTheStoreEnds) {
  auto answer = begin_commit(store(), {a_put(a_key("a"), "x")});
  store_.reset();
  EXPECT_FALSE(answer->is_in());
  ASSERT_TRUE(loop_.wait_for([&] { return answer->is_in(); }));
  EXPECT_TRUE(answer->result->has_value());
}

// Readers on other threads, while the loop commits: nobody sees a change that is not in the next root, or out of order.
TEST_P(StoreContract, ReadersOnOtherThreadsSeeOrderedCompleteStates) {
  constexpr int kWrites = 300;
  const auto opening = store().root()->revision();
  std::atomic<bool> failed = false;
  auto follow = [&] {
    auto cursor = *store().watch("pods", opening);
    Revision last = opening;
    for (int seen = 0; seen < 2 * kWrites && !failed;) {
      auto change = cursor->next();
      if (!change) {
        failed = true;
      } else if (!*change) {
        std::this_thread::yield();
      } else {
        ++seen;
        const auto revision = (*change)->revision();
        const auto root = store().root();
        // Each commit writes the same text to both objects.
        const auto a = root->get(a_key("a"));
        const auto b = root->get(a_key("b"));
        if (revision < last || root->revision() < revision || a.header->label("text") != b.header->label("text")) {
          failed = true;
        }
        last = revision;
      }
    }
  };
  std::thread one(follow);
  std::thread two(follow);
  std::shared_ptr<Answer> answer;
  for (int i = 0; i < kWrites; ++i) {
    answer = begin_commit(store(), {a_put(a_key("a"), std::to_string(i)), a_put(a_key("b"), std::to_string(i))});
    loop_.run_until_idle();
  }
  EXPECT_TRUE(loop_.wait_for([&] { return answer->is_in(); }));
  one.join();
  two.join();
  EXPECT_FALSE(failed);
}

}  // namespace
}  // namespace gangway::store
