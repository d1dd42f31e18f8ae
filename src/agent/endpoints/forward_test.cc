// Port-forward, over SPDY and over WebSocket channels, to sockets that the test holds the other ends of.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "agent/endpoints/forward_channels.h"
#include "agent/endpoints/forward_streams.h"
#include "agent/endpoints/test_runtime.h"
#include "agent/streams/test_channels.h"
#include "testing/manual_loop.h"

namespace gangway::agent {
namespace {

struct ForwardTest : ::testing::Test {
  testing::ManualLoop loop;
  TestRuntime runtime{loop};
  std::shared_ptr<Forwarding> forwarding =
      std::make_shared<Forwarding>(runtime, loop, PodIdentity{"u1", "default", "web", "n0"});

  // The pod's end of a connection to `port`.
  sys::FileDescriptor listen(std::uint16_t port) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    runtime.sockets[port] = ends[0];
    return sys::FileDescriptor(ends[1]);
  }
  std::string received(const sys::FileDescriptor& socket, std::size_t size) {
    std::string all;
    EXPECT_TRUE(loop.wait_for([&] {
      char block[65536];
      const ssize_t got = ::recv(socket.get(), block, sizeof block, MSG_DONTWAIT);
      if (got > 0) all.append(block, static_cast<std::size_t>(got));
      return all.size() >= size;
    }));
    return all;
  }
  static void send(const sys::FileDescriptor& socket, std::string_view bytes) {
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  bool ended(const sys::FileDescriptor& socket) {
    return loop.wait_for([&] {
      char byte = 0;
      return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT) == 0;
    });
  }
};

struct ForwardStreamsTest : ForwardTest {
  ForwardStreamsTest() : session(std::make_unique<ForwardStreams>(forwarding)), peer(session) {
    session.on_open(channel);
  }
  // The data stream of a new pair.
  std::uint32_t open(const char* port, const char* request) {
    peer.open({{"streamtype", "error"}, {"port", port}, {"requestid", request}});
    return peer.open({{"streamtype", "data"}, {"port", port}, {"requestid", request}});
  }
  // Waits until `story` has come, as one.
  std::string story_until(std::string_view end) {
    std::string story;
    EXPECT_TRUE(loop.wait_for([&] {
      story += peer.story(channel.sent);
      return story.find(end) != std::string::npos;
    })) << story;
    return story;
  }
  RecordedBytes channel;
  SpdySession session;
  SpdyPeer peer;
};

TEST_F(ForwardStreamsTest, ConnectsAPairOfStreamsToThePort) {
  const auto pod = listen(80);
  const auto data = open("80", "7");
  peer.data(data, "early");
  EXPECT_EQ(received(pod, 5), "early");
  peer.data(data, " late");
  EXPECT_EQ(received(pod, 5), " late");
  send(pod, "answer");
  EXPECT_EQ(story_until("answer"), "reply 1\nreply 3\ndata 3 answer\n");
  peer.data(data, "bye", true);
  EXPECT_EQ(received(pod, 3), "bye");
  EXPECT_TRUE(ended(pod));
  ::shutdown(pod.get(), SHUT_WR);
  // The end of the error stream says that nothing went wrong.
  EXPECT_EQ(story_until("end 1"), "end 3\nend 1\n");
}

TEST_F(ForwardStreamsTest, ConnectionsDoNotMix) {
  const auto first = listen(80);
  const auto one = open("80", "0");
  loop.run_until_idle();
  const auto second = listen(80);
  const auto two = open("80", "1");
  peer.data(two, "two");
  peer.data(one, "one");
  EXPECT_EQ(received(first, 3), "one");
  EXPECT_EQ(received(second, 3), "two");
}

TEST_F(ForwardStreamsTest, ThePairMayComeInAnyOrderAndWithoutItsName) {
  const auto pod = listen(80);
  peer.open({{"streamtype", "error"}, {"port", "80"}});
  const auto data = peer.open({{"streamtype", "data"}, {"port", "80"}});
  peer.data(data, "x");
  EXPECT_EQ(received(pod, 1), "x");
  const auto other = listen(81);
  const auto first = peer.open({{"streamtype", "data"}, {"port", "81"}, {"requestid", "9"}});
  peer.data(first, "before its other half, ");
  peer.open({{"streamtype", "error"}, {"port", "81"}, {"requestid", "9"}});
  peer.data(first, "and after");
  EXPECT_EQ(received(other, 32), "before its other half, and after");
}

TEST_F(ForwardStreamsTest, APortNobodyListensOnIsReported) {
  open("81", "0");
  EXPECT_EQ(story_until("end 1"),
            "reply 1\nreply 3\ndata 1 error forwarding port 81 to pod web, uid u1: connection refused\nend 3\nend 1\n");
}

TEST_F(ForwardStreamsTest, RefusesWhatIsNoPort) {
  for (const char* port : {"", "0", "65536", "http"}) peer.open({{"streamtype", "data"}, {"port", port}});
  peer.open({{"streamtype", "stdin"}, {"port", "80"}});
  EXPECT_EQ(peer.story(channel.sent),
            "reply 1\nreset 1\nreply 3\nreset 3\nreply 5\nreset 5\nreply 7\nreset 7\nreply 9\nreset 9\n");
}

TEST_F(ForwardStreamsTest, AResetClosesTheConnection) {
  const auto pod = listen(80);
  const auto data = open("80", "0");
  loop.run_until_idle();
  peer.reset(data);
  EXPECT_TRUE(ended(pod));
  EXPECT_EQ(peer.story(channel.sent), "reply 1\nreply 3\nend 1\n");
}

TEST_F(ForwardStreamsTest, ALostClientClosesItsConnections) {
  const auto pod = listen(80);
  open("80", "0");
  loop.run_until_idle();
  session.on_close();
  EXPECT_TRUE(ended(pod));
}

TEST_F(ForwardStreamsTest, APortThatDoesNotReadStopsTheClient) {
  const auto pod = listen(80);
  const auto data = open("80", "0");
  loop.run_until_idle();
  const std::string block(64 * 1024, 'x');
  std::size_t sent = 0;
  while (!channel.paused && sent < 64 * 1024 * 1024) {
    peer.data(data, block);
    sent += block.size();
    loop.run_until_idle();
  }
  EXPECT_TRUE(channel.paused);
  EXPECT_LT(sent, 16U * 1024 * 1024);
  EXPECT_EQ(received(pod, sent).size(), sent);
  EXPECT_TRUE(loop.wait_for([&] { return !channel.paused; }));
}

TEST_F(ForwardStreamsTest, AClientThatDoesNotReadStopsThePod) {
  const auto pod = listen(80);
  open("80", "0");
  loop.run_until_idle();
  channel.backlog = 1024 * 1024;
  send(pod, "one");
  story_until("one");
  loop.run_until_idle();
  send(pod, "two");
  loop.run_until_idle();
  EXPECT_EQ(peer.story(channel.sent), "");
  channel.backlog = 0;
  session.on_drained();
  EXPECT_EQ(story_until("two"), "data 3 two\n");
}

TEST_F(ForwardTest, ChannelsCarryOneConnectionAPort) {
  const auto pod = listen(80);
  ForwardChannels session(forwarding, {80, 8081}, choose_channel_protocol("v4.channel.k8s.io").value());
  RecordedMessages socket;
  session.on_open(socket);
  // Each channel begins with its port, low byte first.
  ASSERT_EQ(socket.sent.size(), 4U);
  EXPECT_EQ(socket.sent[0].data, std::string("\0P\0", 3));
  EXPECT_EQ(socket.sent[1].data, std::string("\1P\0", 3));
  EXPECT_EQ(socket.sent[3].data, std::string("\3\x91\x1f", 3));
  socket.sent.clear();
  session.on_message({true, std::string("\0hello", 6)});
  EXPECT_EQ(received(pod, 5), "hello");
  send(pod, "world");
  EXPECT_TRUE(loop.wait_for([&] { return socket.on(0) == "world"; }));
  EXPECT_EQ(socket.on(3), "error forwarding port 8081 to pod web, uid u1: connection refused");
  EXPECT_EQ(socket.closed, 0);
  ::shutdown(pod.get(), SHUT_WR);
  EXPECT_TRUE(loop.wait_for([&] { return socket.closed == 1000; }));
  session.on_close();
}

}  // namespace
}  // namespace gangway::agent
