// SpdySession: the server's end of a SPDY/3.1 connection, as streams.
//
// It answers pings, keeps count of the streams and turns protocol errors into the end of the connection; what streams
// are for is its handler's business. Flow control is the connection's: a handler that cannot take more pauses all of
// it, as the Go peers do too. Belongs to the loop of its connection.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/streams/spdy_frames.h"
#include "sys/http.h"

namespace gangway::agent {

class SpdySession;

// What happens on a connection's streams. All calls come from the session it was given to.
class SpdyHandler {
 public:
  virtual ~SpdyHandler() = default;
  virtual void on_open(SpdySession& session) = 0;
  // The peer has opened a stream. False refuses it.
  virtual bool on_stream(std::uint32_t stream, const SpdyHeaders& headers) = 0;
  virtual void on_data(std::uint32_t stream, std::string_view bytes) = 0;
  // The peer sends no more on it.
  virtual void on_end(std::uint32_t stream) = 0;
  // Nobody will hear or send more on it.
  virtual void on_reset(std::uint32_t stream) = 0;
  virtual void on_drained() = 0;
  virtual void on_close() = 0;
};

class SpdySession final : public sys::ByteSession {
 public:
  explicit SpdySession(std::unique_ptr<SpdyHandler> handler) : handler_(std::move(handler)) {}

  // For the handler. What is sent on a stream that is gone is dropped.
  void send(std::uint32_t stream, std::string_view bytes);
  // We send no more on it.
  void finish(std::uint32_t stream);
  void reset(std::uint32_t stream, std::uint32_t reason);
  std::size_t unsent() const;
  void pause(bool paused);
  // Sends what is left, and says goodbye.
  void close();

  void on_open(sys::ByteChannel& channel) override;
  void on_bytes(std::string_view bytes) override;
  void on_drained() override;
  void on_shutdown() override { close(); }
  void on_close() override;

 private:
  struct Stream {
    bool we_ended = false;
    bool they_ended = false;
  };
  void take(SpdyFrame& frame);
  void take_stream(const SpdyFrame& frame);
  void end_theirs(std::uint32_t stream);
  void forget_if_over(std::uint32_t stream);
  void go_away(std::uint32_t reason);

  std::unique_ptr<SpdyHandler> handler_;
  sys::ByteChannel* channel_ = nullptr;
  SpdyReader reader_;
  SpdyWriter writer_;
  std::map<std::uint32_t, Stream> streams_;
  std::uint32_t last_stream_ = 0;
  bool closing_ = false;
};

}  // namespace gangway::agent
