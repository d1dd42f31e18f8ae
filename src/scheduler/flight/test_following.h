// A CycleSink for tests: follows every cycle by its changes alone, as a flight log does, and says when what it knows is
// not what the snapshot is, or when what was planned is not planned again from it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "scheduler/cycle_sink.h"
#include "scheduler/flight/flight_recorder.h"
#include "scheduler/flight/record.h"
#include "scheduler/flight/replay.h"

namespace gangway::scheduler::flight::testing {

class FollowingSink final : public CycleSink {
 public:
  // Which cycles are skipped, so that changes add up: every `pace`th is recorded.
  explicit FollowingSink(std::uint64_t pace = 1) : pace_(pace) {}

  bool wants(const Cycle&) override { return ++seen_ % pace_ == 0; }

  void record(const Cycle& cycle, const Changes& changes) override {
    const bool is_first = written_.frame.empty();
    const std::string body = advance(written_, maker_.make(cycle, changes));
    EXPECT_EQ(written_.snapshot, lines_of(cycle.snapshot)) << "what has changed is not all that has changed";
    // What a reader has who only has the bytes.
    const auto applied = apply(read_, {seen_, is_first, body});
    ASSERT_TRUE(applied) << applied.error().message;
    EXPECT_EQ(read_.snapshot, written_.snapshot);
    EXPECT_EQ(read_.plan, written_.plan);
    const auto again = replay(read_);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(again->is_same()) << report(*again);
    ++recorded_;
  }

  std::uint64_t recorded() const { return recorded_; }
  const CycleRecord& last() const { return read_; }

 private:
  std::uint64_t pace_;
  std::uint64_t seen_ = 0;
  std::uint64_t recorded_ = 0;
  EntryMaker maker_;
  CycleRecord written_;
  CycleRecord read_;
};

}  // namespace gangway::scheduler::flight::testing
