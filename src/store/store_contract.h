// The contract of Store as a test suite: what every implementation must do, and builders that other tests of stores
// use.
//
// To put another implementation under it, add a StoreCase to the list in store_contract_test.cc.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"
#include "store/watch_log.h"
#include "testing/manual_loop.h"

namespace gangway::store {

inline api::ObjectKey a_key(std::string name, std::string ns = "default", std::string resource = "pods") {
  return {std::move(resource), {std::move(ns), std::move(name)}};
}

// An object whose JSON holds `text`.
inline api::Draft a_draft(const api::ObjectKey& key, const std::string& text) {
  api::Draft draft;
  draft.header.name = key.object;
  draft.header.uid = "uid-of-" + key.object.name;
  draft.header.labels = {{"text", text}};
  draft.json = R"({"metadata":{"resourceVersion":""},"text":")" + text + R"("})";
  draft.revision_at = 32;
  return draft;
}

// The JSON of that draft at that revision.
inline std::string json_of(const std::string& text, Revision revision) {
  return R"({"metadata":{"resourceVersion":")" + std::to_string(revision) + R"("},"text":")" + text + R"("})";
}

inline Write a_put(const api::ObjectKey& key, const std::string& text, std::optional<Revision> expected = {}) {
  return {.key = key, .effect = Write::Effect::kPut, .expected = expected, .draft = a_draft(key, text)};
}

inline Write a_delete(const api::ObjectKey& key, std::optional<Revision> expected = {}) {
  return {.key = key, .effect = Write::Effect::kDelete, .expected = expected, .draft = a_draft(key, "last")};
}

// Where a commit's answer goes, and how often it came.
struct Answer {
  std::optional<Result<Committed>> result;
  int count = 0;

  bool is_in() const { return count > 0; }
};

inline std::shared_ptr<Answer> begin_commit(Store& store, std::vector<Write> writes,
                                            Durability durability = Durability::kFull) {
  auto answer = std::make_shared<Answer>();
  store.commit(std::move(writes), durability, [answer](Result<Committed> result) {
    answer->result = std::move(result);
    ++answer->count;
  });
  return answer;
}

// Commits and turns the loop until the answer is in.
inline Result<Committed> commit(testing::ManualLoop& loop, Store& store, std::vector<Write> writes) {
  auto answer = begin_commit(store, std::move(writes));
  if (!loop.wait_for([&] { return answer->is_in(); })) return internal_error("no answer");
  return *answer->result;
}

// Makes stores for one test, and whatever they need to stand on.
class StoreMaker {
 public:
  virtual ~StoreMaker() = default;
  virtual std::unique_ptr<Store> make(testing::ManualLoop& loop, const WatchLimits& limits) = 0;
};

struct StoreCase {
  std::string name;
  std::function<std::unique_ptr<StoreMaker>()> maker;
};

inline void PrintTo(const StoreCase& store_case, std::ostream* out) {
  *out << store_case.name;
}

class StoreContract : public ::testing::TestWithParam<StoreCase> {
 protected:
  StoreContract() : maker_(GetParam().maker()), store_(maker_->make(loop_, {})) {}

  Store& store() { return *store_; }
  // A new store, with short watch logs.
  void use_short_logs(const WatchLimits& limits) {
    store_.reset();
    maker_ = GetParam().maker();
    store_ = maker_->make(loop_, limits);
  }
  Result<Committed> commit(std::vector<Write> writes) { return store::commit(loop_, *store_, std::move(writes)); }
  // The revision of a commit that must succeed; 0 when it did not.
  Revision committed(Write write) {
    std::vector<Write> writes;
    writes.push_back(std::move(write));
    auto result = commit(std::move(writes));
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result ? result->revision : 0;
  }

  testing::ManualLoop loop_;
  std::unique_ptr<StoreMaker> maker_;
  std::unique_ptr<Store> store_;
};

}  // namespace gangway::store
