#include "client/event_writer.h"

#include <gtest/gtest.h>

#include <string>

#include "client/resource.h"
#include "testing/builders.h"
#include "testing/fake_api.h"
#include "testing/manual_loop.h"

namespace gangway::client {
namespace {

using namespace std::chrono_literals;
using resources::kEvents;
using testing::an_error;

struct EventWriterTest : ::testing::Test {
  testing::ManualLoop loop;
  testing::FakeApi api{loop};
  EventWriter writer{api, loop, "tester"};

  void write(const std::string& message, const std::string& object = "web") {
    writer.write({.about = {.api_version = "v1", .kind = "Pod", .object = {"default", object}, .uid = "u"},
                  .type = EventType::kNormal,
                  .reason = "Made",
                  .message = message});
  }
  // "message x count" of every Event, in the order of names, which is no order.
  std::string only() {
    loop.run_until_idle();
    if (api.objects(kEvents).size() != 1) return std::to_string(api.objects(kEvents).size()) + " events";
    const json::Value event = api.tree(kEvents, api.objects(kEvents).begin()->first);
    return std::string(json::string_at(event, {"message"})) + " x " + json::serialize(*json::find(event, {"count"}));
  }
};

TEST_F(EventWriterTest, CountsInOneObject) {
  write("a");
  EXPECT_EQ(only(), "a x 1");
  loop.advance(3s);
  write("a");
  EXPECT_EQ(only(), "a x 2");
  const json::Value event = api.tree(kEvents, api.objects(kEvents).begin()->first);
  EXPECT_EQ(json::string_at(event, {"firstTimestamp"}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(json::string_at(event, {"lastTimestamp"}), "2026-01-01T00:00:03Z");
  EXPECT_EQ(api.writes().back().field_manager, "tester");
}

TEST_F(EventWriterTest, WritesTheNewestStateOfWhatIsUnderWay) {
  api.set_answer_lag(1s);
  for (int i = 0; i < 5; ++i) write("a");
  loop.advance(5s);
  EXPECT_EQ(only(), "a x 5");
  EXPECT_EQ(api.writes().size(), 2u) << "the first, and the four that came while it was under way";
}

TEST_F(EventWriterTest, WritesAnewWhatHasExpired) {
  write("a");
  ASSERT_EQ(only(), "a x 1");
  api.remove(kEvents, api.objects(kEvents).begin()->first);
  write("a");
  EXPECT_EQ(only(), "a x 2");
}

TEST_F(EventWriterTest, AFailureLosesTheEventOnly) {
  api.inject({.when = nullptr, .error = an_error(Reason::kInternalError), .after_commit = false, .times = 1});
  write("a");
  EXPECT_EQ(only(), "0 events");
  EXPECT_EQ(writer.pending(), 0u);
  write("a");
  EXPECT_EQ(only(), "a x 2");
}

TEST_F(EventWriterTest, ALostAnswerDoesNotMakeASecondObject) {
  api.inject({.when = nullptr, .error = an_error(Reason::kTimeout), .after_commit = true, .times = 1});
  write("a");
  EXPECT_EQ(only(), "a x 1");
  write("a");
  EXPECT_EQ(only(), "a x 2");
}

TEST_F(EventWriterTest, FloodsAreBounded) {
  api.set_answer_lag(1s);
  for (int i = 0; i < 5000; ++i) write("a", "pod-" + std::to_string(i));
  EXPECT_LE(writer.pending(), 16u + 1024u);
  loop.run_until_idle();
  EXPECT_LE(api.writes().size(), 16u) << "the rest waits for answers";
  loop.advance(10min);
  EXPECT_EQ(writer.pending(), 0u);
  EXPECT_EQ(api.objects(kEvents).size(), 16u + 1024u);
}

}  // namespace
}  // namespace gangway::client
