#include "agent/logs/cri_line.h"

#include <gtest/gtest.h>

namespace gangway::agent {
namespace {

constexpr std::string_view kTime = "2026-01-02T03:04:05.678901234Z";

TEST(CriLine, ReadsItsParts) {
  const auto line = parse_cri_line("2026-01-02T03:04:05.678901234Z stderr P a  b ");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->time, kTime);
  EXPECT_EQ(line->stream, 2);
  EXPECT_TRUE(line->partial);
  EXPECT_EQ(line->content, "a  b ");
}

TEST(CriLine, TakesEmptyLinesAndMoreTags) {
  const auto empty = parse_cri_line("2026-01-02T03:04:05Z stdout F ");
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->content, "");
  EXPECT_FALSE(empty->partial);
  ASSERT_TRUE(parse_cri_line("2026-01-02T03:04:05Z stdout F"));
  const auto tagged = parse_cri_line("2026-01-02T03:04:05+01:00 stdout P:x x");
  ASSERT_TRUE(tagged);
  EXPECT_TRUE(tagged->partial);
  EXPECT_EQ(tagged->content, "x");
}

TEST(CriLine, RefusesWhatIsNoLogLine) {
  for (const char* text : {"", "hello", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z stdin F x",
                           "2026-01-02T03:04:05Z stdout X x", "short stdout F x", "2026-01-02T03:04:05Z stdout  x"})
    EXPECT_FALSE(parse_cri_line(text)) << text;
}

struct Assembled {
  LineAssembler assembler;
  std::string out;  // "|" marks a beginning

  LineAssembler::Emit emit() {
    return [this](std::string_view, bool begins, std::string_view text) { (out += begins ? "|" : "") += text; };
  }
  void take(std::uint8_t stream, bool partial, std::string_view text) {
    assembler.take({.time = kTime, .stream = stream, .partial = partial, .content = text}, emit());
  }
};

TEST(LineAssembler, PutsPartsTogetherStreamByStream) {
  Assembled log;
  log.take(1, true, "one ");
  log.take(2, false, "err");
  log.take(1, true, "two ");
  log.take(1, false, "three");
  log.take(1, false, "next");
  EXPECT_EQ(log.out, "|err\n|one two three\n|next\n");
}

TEST(LineAssembler, ALineWithoutEndIsGivenAwayInTime) {
  Assembled log;
  const std::string part(LineAssembler::kMaxHeld / 2, 'x');
  log.take(1, true, part);
  EXPECT_EQ(log.out, "");
  log.take(1, true, part);
  EXPECT_EQ(log.out, "|" + part + part);
  log.out.clear();
  log.take(1, false, "end");
  EXPECT_EQ(log.out, "end\n");
}

TEST(LineAssembler, WhatNeverEndsIsShownAtLast) {
  Assembled log;
  log.take(1, true, "cut");
  log.assembler.finish(log.emit());
  EXPECT_EQ(log.out, "|cut");
  log.assembler.finish(log.emit());
  EXPECT_EQ(log.out, "|cut");
}

TEST(LineAssembler, KeepsTheTimeOfTheFirstPart) {
  LineAssembler assembler;
  std::string seen;
  const LineAssembler::Emit emit = [&](std::string_view time, bool, std::string_view) { seen = time; };
  assembler.take({.time = "first", .stream = 1, .partial = true, .content = "a"}, emit);
  assembler.take({.time = "second", .stream = 1, .partial = false, .content = "b"}, emit);
  EXPECT_EQ(seen, "first");
}

}  // namespace
}  // namespace gangway::agent
