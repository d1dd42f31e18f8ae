// Records of cycles, and how they stand in a file. Pure.
//
//   {"flight":1}                                                        once, at the beginning
//   {"cycle":17,"bytes":2301,"sum":"0f3c…","full":true}                 then for every cycle how much follows,
//   {"now":"…","basis":{"pods":"4711",…}}                               when, and on what it was decided,
//   {"pod":"default/a",…}                                               what there was: all of it in a full record,
//   else
//   {"gone":{"pod":"default/b"}}                                        what has changed since the one before it;
//   {"ticket":"pod default/a",…}                                        what was given,
//   {"waits":"pod default/c",…}                                         and who waits, as far as it has changed
//
// A file begins with a full record. One that ends in the middle of a record was being written when its writer died:
// all before it counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scheduler/flight/plan_text.h"
#include "scheduler/flight/snapshot_text.h"

namespace gangway::scheduler::flight {

inline constexpr std::int64_t kFormatVersion = 1;
std::string file_header();

// One cycle, whole.
struct CycleRecord {
  std::uint64_t number = 0;
  std::string frame = {};  // the line that begins with "now"
  Lines snapshot = {};
  PlanLines plan = {};
};

// What a cycle hands over: all that may have changed.
struct Entry {
  std::string frame = {};
  std::vector<std::string> changed = {};  // lines of the snapshot
  std::vector<std::string> gone = {};     // keys of the snapshot
  PlanLines plan = {};

  std::size_t bytes() const;
};

// Brings the record up to the entry. What it returns says the same to who has the record as it was: the frame, what
// really has changed, and the plan.
std::string advance(CycleRecord& record, Entry entry);
// All of it, for who has nothing.
std::string whole(const CycleRecord& record);

struct Block {
  std::uint64_t cycle = 0;
  bool is_full = false;
  std::string_view body = {};
};
std::string block_text(const Block& block);

// Brings the record up to the block. A block that is not full needs the record of the one before it.
Result<void> apply(CycleRecord& record, const Block& block);

// Takes a file apart. Views point into its bytes.
class BlockReader {
 public:
  // Fails on what is no flight file, or one of a newer version.
  static Result<BlockReader> open(std::string_view bytes);

  // Nothing at the end, or where the file cannot be read any further.
  std::optional<Block> next();
  // What was wrong there; empty at the end of a whole file.
  const std::string& note() const { return note_; }

 private:
  explicit BlockReader(std::string_view rest) : rest_(rest) {}

  std::string_view rest_;
  std::string note_;
};

}  // namespace gangway::scheduler::flight
