#include "response_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace gangway::bench {
namespace {

struct Case {
  const char* name;
  std::string bytes;
  int status;
  std::size_t body_bytes;
  std::size_t lines;
};

const Case kCases[] = {
    {"a body of known length", "HTTP/1.1 201 Created\r\nContent-Length: 6\r\nX: y\r\n\r\n{\"a\"}\n", 201, 6, 1},
    {"no body", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 200, 0, 0},
    {"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na\nb\r\nA;x=1\r\n\n123456789\r\n0\r\n\r\n",
     200, 13, 2},
    {"chunks and a trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n\n\r\n0\r\nA: b\r\n\r\n", 200,
     1, 1},
};

// However the bytes are cut, the outcome is the same.
TEST(ResponseReader, ReadsResponsesInPiecesOfAnySize) {
  for (const auto& c : kCases) {
    for (std::size_t piece = 1; piece <= c.bytes.size(); ++piece) {
      SCOPED_TRACE(std::string(c.name) + " in pieces of " + std::to_string(piece));
      ResponseReader reader;
      for (std::size_t at = 0; at < c.bytes.size(); at += piece) {
        ASSERT_FALSE(reader.complete());
        ASSERT_TRUE(reader.feed(std::string_view(c.bytes).substr(at, piece)));
      }
      EXPECT_TRUE(reader.complete());
      EXPECT_EQ(reader.status(), c.status);
      EXPECT_EQ(reader.body_bytes(), c.body_bytes);
      EXPECT_EQ(reader.lines(), c.lines);
    }
  }
}

TEST(ResponseReader, RefusesWhatIsNotHttp) {
  EXPECT_FALSE(ResponseReader().feed("SSH-2.0-x y z w\r\n\r\n"));
  EXPECT_FALSE(ResponseReader().feed("HTTP/1.1 200 OK\r\n\r\n")) << "neither a length nor chunks";
  EXPECT_FALSE(ResponseReader().feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"));
}

TEST(ResponseReader, RefusesMoreThanOneResponse) {
  EXPECT_FALSE(ResponseReader().feed("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"));
}

}  // namespace
}  // namespace gangway::bench
