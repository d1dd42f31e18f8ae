#include "agent/streams/spdy_session.h"

#include <gtest/gtest.h>

#include "agent/streams/test_channels.h"
#include "agent/streams/websocket_tunnel.h"

namespace gangway::agent {
namespace {

struct Notes {
  std::string log;
  SpdySession* session = nullptr;
};

class NotingHandler final : public SpdyHandler {
 public:
  explicit NotingHandler(Notes& notes) : notes_(notes) {}
  void on_open(SpdySession& session) override { notes_.session = &session; }
  bool on_stream(std::uint32_t stream, const SpdyHeaders& headers) override {
    note("open", stream, spdy_header(headers, "streamtype"));
    return spdy_header(headers, "streamtype") != "bad";
  }
  void on_data(std::uint32_t stream, std::string_view bytes) override { note("data", stream, bytes); }
  void on_end(std::uint32_t stream) override { note("end", stream, ""); }
  void on_reset(std::uint32_t stream) override { note("reset", stream, ""); }
  void on_drained() override { notes_.log += "drained\n"; }
  void on_close() override { notes_.log += "close\n"; }

 private:
  void note(std::string_view what, std::uint32_t stream, std::string_view more) {
    ((notes_.log += what) += " " + std::to_string(stream)) += (more.empty() ? "" : " ") + std::string(more) + "\n";
  }
  Notes& notes_;
};

struct SpdySessionTest : ::testing::Test {
  SpdySessionTest() : session(std::make_unique<NotingHandler>(notes)), peer(session) { session.on_open(channel); }
  Notes notes;
  RecordedBytes channel;
  SpdySession session;
  SpdyPeer peer;
};

TEST_F(SpdySessionTest, StreamsCarryDataBothWaysUntilBothEndsAreDone) {
  const auto stream = peer.open({{"streamtype", "data"}});
  peer.data(stream, "hello");
  session.send(stream, "answer");
  session.finish(stream);
  session.send(stream, "too late");
  peer.data(stream, "more", true);
  peer.data(stream, "of a stream that is gone");
  EXPECT_EQ(notes.log, "open 1 data\ndata 1 hello\ndata 1 more\nend 1\n");
  EXPECT_EQ(peer.story(channel.sent), "reply 1\ndata 1 answer\nend 1\n");
}

TEST_F(SpdySessionTest, RefusesStreamsThatItsHandlerDoesNotWant) {
  const auto stream = peer.open({{"streamtype", "bad"}});
  peer.data(stream, "x");
  EXPECT_EQ(notes.log, "open 1 bad\n");
  EXPECT_EQ(peer.story(channel.sent), "reply 1\nreset 1\n");
}

TEST_F(SpdySessionTest, TellsOfResetsOnce) {
  const auto stream = peer.open({{"streamtype", "data"}});
  peer.reset(stream);
  peer.reset(stream);
  session.send(stream, "x");
  EXPECT_EQ(notes.log, "open 1 data\nreset 1\n");
  EXPECT_EQ(peer.story(channel.sent), "reply 1\n");
}

TEST_F(SpdySessionTest, AnswersPings) {
  std::string wire;
  SpdyWriter::ping(wire, 3);
  session.on_bytes(wire);
  EXPECT_EQ(peer.story(channel.sent), "ping 3\n");
}

TEST_F(SpdySessionTest, StreamsMustCountUp) {
  peer.open({{"streamtype", "data"}});
  peer.open({{"streamtype", "data"}});
  std::string wire;
  SpdyWriter other;
  other.syn_stream(wire, 3, {});
  // Compressed by a stream of its own, it is a violation twice over; the connection ends either way.
  session.on_bytes(wire);
  EXPECT_TRUE(channel.closed);
  EXPECT_EQ(peer.story(channel.sent), "reply 1\nreply 3\ngoaway 1\n");
}

TEST_F(SpdySessionTest, GarbageEndsIt) {
  session.on_bytes("GET / HTTP/1.1\r\n\r\n, which is data of some stream, and then \x80\x02\x00\x01");
  session.on_bytes(std::string(1 << 16, '\x80'));
  session.on_bytes(std::string(1 << 24, '\x80'));
  EXPECT_TRUE(channel.closed);
  session.on_close();
  EXPECT_EQ(notes.log, "close\n");
}

TEST_F(SpdySessionTest, SaysGoodbye) {
  const auto stream = peer.open({{"streamtype", "data"}});
  session.close();
  session.send(stream, "x");
  EXPECT_TRUE(channel.closed);
  EXPECT_EQ(peer.story(channel.sent), "reply 1\ngoaway 0\n");
}

TEST(WebSocketTunnel, CarriesBytesInMessages) {
  Notes notes;
  auto owned = std::make_unique<SpdySession>(std::make_unique<NotingHandler>(notes));
  WebSocketTunnel tunnel(std::move(owned));
  RecordedMessages socket;
  tunnel.on_open(socket);
  SpdyWriter writer;
  std::string wire;
  writer.syn_stream(wire, 1, {{"streamtype", "data"}});
  SpdyWriter::data(wire, 1, "in two messages");
  tunnel.on_message({true, wire.substr(0, 30)});
  tunnel.on_message({true, wire.substr(30)});
  EXPECT_EQ(notes.log, "open 1 data\ndata 1 in two messages\n");
  socket.sent.clear();
  notes.session->send(1, std::string(100'000, 'x'));
  std::size_t bytes = 0;
  for (const auto& message : socket.sent) {
    EXPECT_TRUE(message.binary);
    EXPECT_LE(message.data.size(), 32U * 1024);
    bytes += message.data.size();
  }
  EXPECT_EQ(bytes, 100'000U + 8);
  notes.session->pause(true);
  EXPECT_TRUE(socket.paused);
  notes.session->close();
  EXPECT_EQ(socket.closed, 1000);
  tunnel.on_close();
  EXPECT_TRUE(notes.log.ends_with("close\n"));
}

}  // namespace
}  // namespace gangway::agent
