#include "agent/streams/spdy_frames.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>

namespace gangway::agent {
namespace {

std::vector<SpdyFrame> read_all(SpdyReader& reader, std::string_view bytes, std::size_t piece = 1 << 20) {
  std::vector<SpdyFrame> frames;
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    const auto read = reader.feed(part, frames);
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
  }
  return frames;
}

TEST(SpdyFrames, TheDictionaryIsTheProtocols) {
  // Its length, and the checksum that every SPDY/3 header block names.
  EXPECT_EQ(spdy_dictionary().size(), 1423U);
  EXPECT_EQ(::adler32(1, reinterpret_cast<const Bytef*>(spdy_dictionary().data()), 1423), 0xe3c6a7c2U);
}

TEST(SpdyFrames, AreWrittenAsTheProtocolSays) {
  std::string out;
  SpdyWriter::data(out, 5, "abc", true);
  EXPECT_EQ(out, std::string("\0\0\0\x05\x01\0\0\x03"
                             "abc",
                             11));
  out.clear();
  SpdyWriter::ping(out, 7);
  EXPECT_EQ(out, std::string("\x80\x03\0\x06\0\0\0\x04\0\0\0\x07", 12));
  out.clear();
  SpdyWriter::rst_stream(out, 3, kSpdyCancel);
  EXPECT_EQ(out, std::string("\x80\x03\0\x03\0\0\0\x08\0\0\0\x03\0\0\0\x05", 16));
  out.clear();
  SpdyWriter::go_away(out, 9, 0);
  EXPECT_EQ(out, std::string("\x80\x03\0\x07\0\0\0\x08\0\0\0\x09\0\0\0\0", 16));
}

TEST(SpdyFrames, AHeaderBlockNamesTheDictionary) {
  SpdyWriter writer;
  std::string out;
  writer.syn_reply(out, 1, {});
  // Version 3, SYN_REPLY; behind the stream's id the zlib header with the dictionary's checksum.
  EXPECT_EQ(out.substr(0, 5), std::string("\x80\x03\0\x02\0", 5));
  EXPECT_EQ(out.substr(8, 4), std::string("\0\0\0\x01", 4));
  EXPECT_EQ(out.substr(14, 4), "\xe3\xc6\xa7\xc2");
}

TEST(SpdyFrames, HeadersOfManyStreamsShareOneCompressor) {
  SpdyWriter writer;
  SpdyReader reader;
  std::string wire;
  for (std::uint32_t stream = 1; stream < 20; stream += 2)
    writer.syn_stream(wire, stream, {{"streamtype", "data"}, {"port", "8080"}, {"requestid", std::to_string(stream)}});
  for (const std::size_t piece : {std::size_t(1 << 20), std::size_t(7)}) {
    SpdyReader fresh;
    const auto frames = read_all(fresh, wire, piece);
    ASSERT_EQ(frames.size(), 10U);
    EXPECT_EQ(frames[9].type, SpdyType::kSynStream);
    EXPECT_EQ(frames[9].stream, 19U);
    EXPECT_EQ(spdy_header(frames[9].headers, "requestid"), "19");
    EXPECT_EQ(spdy_header(frames[9].headers, "port"), "8080");
    EXPECT_EQ(spdy_header(frames[9].headers, "other"), "");
  }
}

// What Go's spdystream wrote for a stream with the header "streamtype: error": a reader must not depend on our writer.
TEST(SpdyFrames, ReadsWhatGoWrites) {
  const unsigned char wire[] = {0x80, 0x03, 0x00, 0x01, 0x00, 0x00, 0x00, 0x29, 0x00, 0x00, 0x00, 0x01, 0x00,
                                0x00, 0x00, 0x00, 0x00, 0x00, 0x78, 0xf9, 0xe3, 0xc6, 0xa7, 0xc2, 0x62, 0x60,
                                0x60, 0x60, 0x04, 0xa7, 0xb3, 0x92, 0xa2, 0xd4, 0xc4, 0x5c, 0x68, 0x51, 0xc2,
                                0x9a, 0x0a, 0x0a, 0x68, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff};
  SpdyReader reader;
  const auto frames = read_all(reader, {reinterpret_cast<const char*>(wire), sizeof wire}, 3);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].type, SpdyType::kSynStream);
  EXPECT_EQ(frames[0].stream, 1U);
  EXPECT_EQ(spdy_header(frames[0].headers, "streamtype"), "error");
}

TEST(SpdyFrames, DataComesInPiecesAndEndsOnce) {
  SpdyReader reader;
  std::string wire;
  SpdyWriter::data(wire, 1, "hello world", true);
  SpdyWriter::data(wire, 3, "");
  const auto frames = read_all(reader, wire, 5);
  std::string text;
  int ends = 0;
  for (const auto& frame : frames) {
    if (frame.stream != 1) continue;
    text += frame.data;
    ends += frame.fin ? 1 : 0;
  }
  EXPECT_EQ(text, "hello world");
  EXPECT_EQ(ends, 1);
  EXPECT_TRUE(frames.back().stream == 3 && !frames.back().fin && frames.back().data.empty());
}

TEST(SpdyFrames, PassesOverWhatItDoesNotKnow) {
  SpdyReader reader;
  // A frame of type 11, a SETTINGS, a WINDOW_UPDATE of 256 for stream 1, then a ping.
  std::string wire("\x80\x03\0\x0b\0\0\0\x02xx", 10);
  wire += std::string("\x80\x03\0\x04\0\0\0\x04\0\0\0\0", 12);
  wire += std::string("\x80\x03\0\x09\0\0\0\x08\0\0\0\x01\0\0\x01\0", 16);
  SpdyWriter::ping(wire, 1);
  const auto frames = read_all(reader, wire);
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0].type, SpdyType::kSettings);
  EXPECT_EQ(frames[1].type, SpdyType::kWindowUpdate);
  EXPECT_EQ(frames[1].value, 256U);
  EXPECT_EQ(frames[2].type, SpdyType::kPing);
}

TEST(SpdyFrames, RefusesWhatIsBroken) {
  struct Case {
    const char* name;
    std::string wire;
  };
  const Case cases[] = {
      {"another version", std::string("\x80\x02\0\x06\0\0\0\x04\0\0\0\x01", 12)},
      {"a short ping", std::string("\x80\x03\0\x06\0\0\0\x02\0\x01", 10)},
      {"an empty reset", std::string("\x80\x03\0\x03\0\0\0\0", 8)},
      {"data of no stream", std::string("\0\0\0\0\0\0\0\x01x", 9)},
      {"a huge control frame", std::string("\x80\x03\0\x04\0\xff\xff\xff", 8)},
      {"headers that are not zlib", std::string("\x80\x03\0\x02\0\0\0\x08\0\0\0\x01junk", 16)},
  };
  for (const auto& c : cases) {
    SpdyReader reader;
    std::vector<SpdyFrame> frames;
    EXPECT_FALSE(reader.feed(c.wire, frames)) << c.name;
  }
}

TEST(SpdyFrames, HeadersMayNotUnfoldWithoutBound) {
  SpdyWriter writer;
  std::string wire;
  writer.syn_stream(wire, 1, {{"streamtype", std::string(1'000'000, 'x')}});
  ASSERT_LT(wire.size(), 10'000U);
  SpdyReader reader;
  std::vector<SpdyFrame> frames;
  EXPECT_FALSE(reader.feed(wire, frames));
}

RC_GTEST_PROP(SpdyFrames, WhatIsWrittenIsRead, ()) {
  const auto texts = *rc::gen::container<std::vector<std::string>>(rc::gen::string<std::string>());
  const auto piece = *rc::gen::inRange<std::size_t>(1, 40);
  SpdyWriter writer;
  std::string wire;
  std::uint32_t stream = 1;
  for (const auto& text : texts) {
    writer.syn_stream(wire, stream, {{"name", text}, {text, ""}});
    SpdyWriter::data(wire, stream, text, true);
    stream += 2;
  }
  SpdyReader reader;
  std::map<std::uint32_t, std::string> data;
  std::map<std::uint32_t, SpdyHeaders> headers;
  std::map<std::uint32_t, int> ends;
  for (const auto& frame : read_all(reader, wire, piece)) {
    if (frame.type == SpdyType::kSynStream) headers[frame.stream] = frame.headers;
    data[frame.stream] += frame.data;
    ends[frame.stream] += frame.fin ? 1 : 0;
  }
  stream = 1;
  for (const auto& text : texts) {
    RC_ASSERT(data[stream] == text);
    RC_ASSERT(ends[stream] == 1);
    RC_ASSERT(headers[stream] == (SpdyHeaders{{"name", text}, {text, ""}}));
    stream += 2;
  }
}

}  // namespace
}  // namespace gangway::agent
