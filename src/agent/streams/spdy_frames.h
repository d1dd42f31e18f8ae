// SPDY/3.1 frames to and from bytes: what kube-apiserver and kubectl speak to a kubelet for exec, attach and
// port-forward. No connection and no waiting: this is what the fuzzer feeds.
//
// Header blocks are compressed with one zlib stream for each direction of a connection, so a reader or writer belongs
// to one connection, and frames must be read and written in order. WINDOW_UPDATE is understood, and means nothing: the
// peers do not count windows, and TCP holds them back instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace gangway::agent {

using SpdyHeaders = std::vector<std::pair<std::string, std::string>>;
// The value of a header, or "".
std::string_view spdy_header(const SpdyHeaders& headers, std::string_view name);

enum class SpdyType : std::uint8_t {
  kData = 0,
  kSynStream = 1,
  kSynReply = 2,
  kRstStream = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7,
  kHeaders = 8,
  kWindowUpdate = 9,
};

// Reasons of RST_STREAM.
constexpr std::uint32_t kSpdyProtocolError = 1;
constexpr std::uint32_t kSpdyRefusedStream = 3;
constexpr std::uint32_t kSpdyCancel = 5;

struct SpdyFrame {
  SpdyType type = SpdyType::kData;
  std::uint32_t stream = 0;  // of GOAWAY: the last one that was served
  bool fin = false;          // the sender's half of the stream ends with it
  SpdyHeaders headers = {};  // SYN_STREAM, SYN_REPLY, HEADERS
  std::string data = {};     // DATA: a part of a frame counts as a frame, so that long ones need no memory
  std::uint32_t value = 0;   // RST_STREAM, GOAWAY: the reason; PING: its id; WINDOW_UPDATE: the growth
};

class SpdyReader {
 public:
  SpdyReader();
  ~SpdyReader();
  SpdyReader(const SpdyReader&) = delete;
  SpdyReader& operator=(const SpdyReader&) = delete;

  // Takes all of `bytes` and appends what became complete. After an error nothing more may be fed.
  Result<void> feed(std::string_view bytes, std::vector<SpdyFrame>& frames);

 private:
  class Inflater;
  Result<void> take_control(std::vector<SpdyFrame>& frames);
  Result<void> read_headers(std::string_view block, SpdyHeaders& headers);

  std::string buffer_;           // of a frame's header, or of a control frame
  std::size_t wanted_ = 8;       // bytes of buffer_ before it means something
  std::uint32_t data_left_ = 0;  // of the data frame that is being read
  SpdyFrame data_frame_;
  std::unique_ptr<Inflater> inflater_;
};

class SpdyWriter {
 public:
  SpdyWriter();
  ~SpdyWriter();
  SpdyWriter(const SpdyWriter&) = delete;
  SpdyWriter& operator=(const SpdyWriter&) = delete;

  // Each appends one frame (data: as many as it takes).
  void syn_stream(std::string& out, std::uint32_t stream, const SpdyHeaders& headers, bool fin = false);
  void syn_reply(std::string& out, std::uint32_t stream, const SpdyHeaders& headers, bool fin = false);
  static void data(std::string& out, std::uint32_t stream, std::string_view bytes, bool fin = false);
  static void rst_stream(std::string& out, std::uint32_t stream, std::uint32_t reason);
  static void ping(std::string& out, std::uint32_t id);
  static void go_away(std::string& out, std::uint32_t last_stream, std::uint32_t reason);

 private:
  class Deflater;
  std::string header_block(const SpdyHeaders& headers);
  std::unique_ptr<Deflater> deflater_;
};

// The text that both ends' compressors start from: SPDY/3, section 2.6.10.1.
const std::string& spdy_dictionary();

}  // namespace gangway::agent
