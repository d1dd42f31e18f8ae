// For tests: the other end of a session's connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/streams/spdy_frames.h"
#include "sys/http.h"
#include "testing/recorded_channels.h"

namespace gangway::agent {

using testing::RecordedBytes;
using testing::RecordedMessages;

// A client that speaks SPDY to a session, and reads what it answers.
class SpdyPeer {
 public:
  explicit SpdyPeer(sys::ByteSession& session) : session_(session) {}

  std::uint32_t open(const SpdyHeaders& headers) {
    std::string wire;
    writer_.syn_stream(wire, next_ += 2, headers);
    session_.on_bytes(wire);
    return next_;
  }
  void data(std::uint32_t stream, std::string_view bytes, bool fin = false) {
    std::string wire;
    SpdyWriter::data(wire, stream, bytes, fin);
    session_.on_bytes(wire);
  }
  void reset(std::uint32_t stream) {
    std::string wire;
    SpdyWriter::rst_stream(wire, stream, kSpdyCancel);
    session_.on_bytes(wire);
  }
  // Takes what came since the last time.
  std::vector<SpdyFrame> take(std::string& wire) {
    std::vector<SpdyFrame> frames;
    static_cast<void>(reader_.feed(wire, frames));
    wire.clear();
    return frames;
  }
  // The same, as one line a frame: "reply 1", "data 3 hello", "end 3", "reset 5", "goaway 0".
  std::string story(std::string& wire) {
    std::string out;
    for (const auto& frame : take(wire)) {
      const auto stream = std::to_string(frame.stream);
      if (frame.type == SpdyType::kSynReply) out += "reply " + stream + "\n";
      if (frame.type == SpdyType::kData && !frame.data.empty()) out += "data " + stream + " " + frame.data + "\n";
      if (frame.type == SpdyType::kData && frame.fin) out += "end " + stream + "\n";
      if (frame.type == SpdyType::kRstStream) out += "reset " + stream + "\n";
      if (frame.type == SpdyType::kPing) out += "ping " + std::to_string(frame.value) + "\n";
      if (frame.type == SpdyType::kGoAway) out += "goaway " + std::to_string(frame.value) + "\n";
    }
    return out;
  }

 private:
  sys::ByteSession& session_;
  SpdyWriter writer_;
  SpdyReader reader_;
  std::uint32_t next_ = static_cast<std::uint32_t>(-1);
};

}  // namespace gangway::agent
