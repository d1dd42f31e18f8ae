// Exec and attach, over WebSocket channels and over SPDY streams, with a process that the test plays.
#include <gtest/gtest.h>

#include "agent/endpoints/exec_channels.h"
#include "agent/endpoints/exec_streams.h"
#include "agent/endpoints/test_runtime.h"
#include "agent/streams/test_channels.h"
#include "testing/manual_loop.h"

namespace gangway::agent {
namespace {

ExecSpec exec_spec(bool terminal = false) {
  return {.container = {"u1", "main", 0},
          .command = {"sh"},
          .stdin_open = true,
          .out = true,
          .err = !terminal,
          .terminal = terminal};
}

constexpr std::string_view kSuccess = R"({"metadata":{},"status":"Success"})";
constexpr std::string_view kExit3 =
    R"({"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: exit status 3",)"
    R"("reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}})";

struct ExecTest : ::testing::Test {
  testing::ManualLoop loop;
  TestRuntime runtime{loop};
  TestProcess& process() { return *runtime.processes.at(0); }
};

struct ExecChannelsTest : ExecTest {
  ExecChannels open(std::string_view offered, ExecSpec spec = exec_spec()) {
    return {runtime, std::move(spec), choose_channel_protocol(offered).value()};
  }
  RecordedMessages socket;
};

TEST_F(ExecChannelsTest, CarriesStreamsAndTheEnd) {
  auto session = open("v5.channel.k8s.io");
  session.on_open(socket);
  // A first message, so that the client knows that it is connected.
  ASSERT_EQ(socket.sent.size(), 1U);
  EXPECT_EQ(socket.sent[0].data, "\x01");
  EXPECT_EQ(process().spec.command, std::vector<std::string>{"sh"});
  session.on_message({true, std::string("\0ls\n", 4)});
  EXPECT_EQ(process().input, "ls\n");
  process().callbacks.on_output(1, "out");
  process().callbacks.on_output(2, "err");
  EXPECT_EQ(socket.on(1), "out");
  EXPECT_EQ(socket.on(2), "err");
  session.on_message({true, std::string("\xff\0", 2)});
  EXPECT_TRUE(process().input_ended);
  process().callbacks.on_exit(3);
  EXPECT_EQ(socket.on(3), kExit3);
  EXPECT_EQ(socket.closed, 1000);
}

TEST_F(ExecChannelsTest, AnEndWithoutFaultIsASuccess) {
  auto session = open("v4.channel.k8s.io");
  session.on_open(socket);
  process().callbacks.on_exit(0);
  EXPECT_EQ(socket.on(3), kSuccess);
}

TEST_F(ExecChannelsTest, AFailureSaysWhy) {
  auto session = open("v5.channel.k8s.io");
  session.on_open(socket);
  process().callbacks.on_failure("no such file");
  EXPECT_EQ(socket.on(3),
            R"({"metadata":{},"status":"Failure","message":"Internal error occurred: error executing command in )"
            R"(container: no such file","reason":"InternalError","details":{"causes":[{"message":"error executing )"
            R"(command in container: no such file"}]},"code":500})");
}

TEST_F(ExecChannelsTest, OnlyV5MayCloseStdin) {
  auto session = open("v4.channel.k8s.io");
  session.on_open(socket);
  session.on_message({true, std::string("\xff\0", 2)});
  EXPECT_FALSE(process().input_ended);
}

TEST_F(ExecChannelsTest, BrowsersMayUseBase64) {
  auto session = open("base64.channel.k8s.io");
  session.on_open(socket);
  session.on_message({false, "0aGk="});
  EXPECT_EQ(process().input, "hi");
  session.on_message({false, "0not base64"});
  process().callbacks.on_output(1, "ok");
  EXPECT_EQ(socket.on('1'), "b2s=");
  EXPECT_FALSE(socket.sent.back().binary);
  // The oldest dialect has a message instead of an object, and none for success.
  process().callbacks.on_exit(2);
  EXPECT_EQ(socket.on('3'), "Y29tbWFuZCB0ZXJtaW5hdGVkIHdpdGggbm9uLXplcm8gZXhpdCBjb2RlOiBleGl0IHN0YXR1cyAy");
}

TEST_F(ExecChannelsTest, ResizesTerminals) {
  auto session = open("v5.channel.k8s.io", exec_spec(true));
  session.on_open(socket);
  session.on_message({true, "\x04{\"Width\":120,\"Height\":40}"});
  EXPECT_EQ(process().size, std::make_pair(120U, 40U));
  for (const char* junk :
       {"\x04{\"Width\":-1,\"Height\":40}", "\x04{\"Width\":70000,\"Height\":1}", "\x04nonsense", "\x04{}"})
    session.on_message({true, junk});
  EXPECT_EQ(process().size, std::make_pair(120U, 40U));
}

TEST_F(ExecChannelsTest, ASlowClientStopsTheOutput) {
  auto session = open("v5.channel.k8s.io");
  session.on_open(socket);
  socket.backlog = 1024 * 1024;
  process().callbacks.on_output(1, "much");
  EXPECT_TRUE(process().paused);
  session.on_drained();
  EXPECT_FALSE(process().paused);
}

TEST_F(ExecChannelsTest, ASlowProcessStopsTheInput) {
  auto session = open("v5.channel.k8s.io");
  session.on_open(socket);
  process().unsent = 1024 * 1024;
  session.on_message({true, std::string("\0much", 5)});
  EXPECT_TRUE(socket.paused);
  process().callbacks.on_drained();
  EXPECT_FALSE(socket.paused);
}

TEST_F(ExecChannelsTest, ALostClientEndsNothing) {
  auto session = open("v5.channel.k8s.io");
  session.on_open(socket);
  session.on_close();
  EXPECT_TRUE(process().dropped);
  EXPECT_FALSE(process().killed);
  socket.sent.clear();
  process().callbacks.on_output(1, "into the void");
  process().callbacks.on_exit(0);
  EXPECT_TRUE(socket.sent.empty());
}

TEST(ChannelProtocol, TheFirstThatIsSpokenIsChosen) {
  const auto chosen = [](std::string_view offered) {
    const auto protocol = choose_channel_protocol(offered);
    return protocol ? std::string(protocol->name) : "refused";
  };
  EXPECT_EQ(chosen("v5.channel.k8s.io, v4.channel.k8s.io"), "v5.channel.k8s.io");
  EXPECT_EQ(chosen("v9.channel.k8s.io,v4.channel.k8s.io"), "v4.channel.k8s.io");
  EXPECT_EQ(chosen("v9.channel.k8s.io"), "refused");
  EXPECT_EQ(chosen(""), "");
}

struct ExecStreamsTest : ExecTest {
  ExecStreamsTest() { begin(exec_spec()); }
  void begin(ExecSpec spec) {
    session.emplace(std::make_unique<ExecStreams>(runtime, std::move(spec), loop));
    session->on_open(channel);
    peer.emplace(*session);
  }
  std::uint32_t open(const char* type) { return peer->open({{"streamtype", type}}); }
  RecordedBytes channel;
  std::optional<SpdySession> session;
  std::optional<SpdyPeer> peer;
};

TEST_F(ExecStreamsTest, StartsWhenAllStreamsAreThere) {
  const auto error = open("error");
  const auto in = open("stdin");
  peer->data(in, "early ");
  const auto out = open("stdout");
  EXPECT_TRUE(runtime.processes.empty());
  const auto err = open("stderr");
  ASSERT_EQ(runtime.processes.size(), 1U);
  peer->data(in, "late", true);
  EXPECT_EQ(process().input, "early late");
  EXPECT_TRUE(process().input_ended);
  EXPECT_EQ(peer->story(channel.sent), "reply 1\nreply 3\nreply 5\nreply 7\n");
  process().callbacks.on_output(1, "o");
  process().callbacks.on_output(2, "e");
  process().callbacks.on_exit(3);
  EXPECT_EQ(peer->story(channel.sent), "data " + std::to_string(out) + " o\ndata " + std::to_string(err) + " e\ndata " +
                                           std::to_string(error) + " " + std::string(kExit3) +
                                           "\nend 1\nend 7\nend 3\nend 5\ngoaway 0\n");
  EXPECT_TRUE(channel.closed);
}

TEST_F(ExecStreamsTest, RefusesStreamsItKnowsNothingOf) {
  open("other");
  open("error");
  open("error");
  EXPECT_EQ(peer->story(channel.sent), "reply 1\nreset 1\nreply 3\nreply 5\nreset 5\n");
}

TEST_F(ExecStreamsTest, GivesUpOnAClientThatOpensTooFew) {
  open("error");
  loop.advance(std::chrono::seconds(29));
  EXPECT_FALSE(channel.closed);
  loop.advance(std::chrono::seconds(1));
  EXPECT_TRUE(channel.closed);
}

TEST_F(ExecStreamsTest, ATerminalHasAStreamForItsSize) {
  begin(exec_spec(true));
  open("error");
  open("stdin");
  open("stdout");
  const auto size = open("resize");
  ASSERT_EQ(runtime.processes.size(), 1U);
  peer->data(size, R"({"Width":80,"Height":24}{"Width":1)");
  EXPECT_EQ(process().size, std::make_pair(80U, 24U));
  peer->data(size, R"(00,"Height":30})");
  EXPECT_EQ(process().size, std::make_pair(100U, 30U));
}

TEST_F(ExecStreamsTest, EachSideMakesTheOtherWait) {
  for (const char* type : {"error", "stdin", "stdout", "stderr"}) open(type);
  channel.backlog = 1024 * 1024;
  process().callbacks.on_output(1, "much");
  EXPECT_TRUE(process().paused);
  session->on_drained();
  EXPECT_FALSE(process().paused);
  process().unsent = 1024 * 1024;
  peer->data(3, "much");
  EXPECT_TRUE(channel.paused);
  process().callbacks.on_drained();
  EXPECT_FALSE(channel.paused);
}

TEST_F(ExecStreamsTest, ALostClientEndsNothing) {
  for (const char* type : {"error", "stdin", "stdout", "stderr"}) open(type);
  session->on_close();
  EXPECT_TRUE(process().dropped);
  EXPECT_FALSE(process().killed);
}

}  // namespace
}  // namespace gangway::agent
