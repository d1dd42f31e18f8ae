#include "agent/logs/log_stream.h"

#include <gtest/gtest.h>

#include "agent/logs/test_log.h"
#include "testing/manual_loop.h"

namespace gangway::agent {
namespace {

using State = sys::BodyStream::State;

// A connection that pulls.
struct Puller {
  Puller(testing::ManualLoop& loop, const TestLog& log, LogOptions options, const bool& ended)
      : stream(loop, log.path(), options, [&ended] { return ended; }) {
    stream.set_waker([this] { pull(); });
    pull();
  }
  void pull() {
    std::vector<sys::Buffer> out;
    do {
      state = stream.read(out, 65536);
    } while (state == State::kMore);
    for (const auto& piece : out) text += *piece;
  }
  LogStream stream;
  std::string text;
  State state = State::kMore;
};

TEST(LogStream, EndsWithTheFileWhenItIsNotFollowed) {
  testing::ManualLoop loop;
  TestLog log;
  log.line("one");
  const bool ended = false;
  const Puller puller(loop, log, {}, ended);
  EXPECT_EQ(puller.text, "one\n");
  EXPECT_EQ(puller.state, State::kEnd);
}

TEST(LogStream, ShowsWhatIsWrittenLater) {
  testing::ManualLoop loop;
  TestLog log;
  log.line("one");
  bool ended = false;
  const Puller puller(loop, log, {.follow = true}, ended);
  EXPECT_EQ(puller.state, State::kWait);
  // The clock stands still: it is inotify that tells.
  log.line("two");
  EXPECT_TRUE(loop.wait_for([&] { return puller.text == "one\ntwo\n"; })) << puller.text;
  log.rotate(1);
  log.line("three");
  EXPECT_TRUE(loop.wait_for([&] { return puller.text == "one\ntwo\nthree\n"; })) << puller.text;
}

TEST(LogStream, EndsWithTheContainerButAfterItsLastWord) {
  testing::ManualLoop loop;
  TestLog log;
  bool ended = false;
  Puller puller(loop, log, {.follow = true}, ended);
  EXPECT_EQ(puller.state, State::kWait);
  log.line("last words", "P");
  ended = true;
  loop.advance(std::chrono::seconds(1));
  EXPECT_EQ(puller.text, "last words");
  EXPECT_EQ(puller.state, State::kEnd);
}

TEST(LogStream, IsEndedByItsLimit) {
  testing::ManualLoop loop;
  TestLog log;
  log.line("one");
  const bool ended = false;
  const Puller puller(loop, log, {.follow = true, .limit_bytes = 2}, ended);
  EXPECT_EQ(puller.text, "on");
  EXPECT_EQ(puller.state, State::kEnd);
}

}  // namespace
}  // namespace gangway::agent
