// RawConnection: a connection after its upgrade, at either end: bytes between a socket and a ByteSession.
//
// Reading stops while the session says so; what it sends waits in memory, up to a bound. Internal to HttpServer and
// HttpTransport; runs on the loop of its socket. Its owner keeps it until `on_closed`, or ends it with abort().
//
//   kOpen ── close(), or the peer ends ──► kClosing (sends what is left, waits for the peer's end) ──► kClosed
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/output_queue.h"
#include "net/socket.h"
#include "sys/event_loop.h"
#include "sys/http.h"

namespace gangway::net {

class RawConnection final : public sys::ByteChannel, public std::enable_shared_from_this<RawConnection> {
 public:
  struct Options {
    std::size_t max_unsent = 16 * 1024 * 1024;  // a session that sends on regardless is cut off
    Duration linger = std::chrono::seconds(2);
  };
  // `out` may hold what is to be sent first (the header of a response).
  RawConnection(sys::EventLoop& loop, Socket socket, OutputQueue out, std::unique_ptr<sys::ByteSession> session,
                Options options, sys::Task on_closed);
  ~RawConnection() override;
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  // Opens the session. `early` is what the peer sent along with the upgrade.
  void start(std::string_view early);
  void shut_down();
  // At once, without a word to the owner.
  void abort();

  void send(std::string_view bytes) override;
  std::size_t unsent() const override { return out_.pending(); }
  void pause(bool paused) override;
  void close() override;

 private:
  enum class State : std::uint8_t { kOpen, kClosing, kClosed };

  void on_readable();
  bool read_once();
  void deliver(std::string_view bytes);
  void on_input_end();
  void wake();
  void on_wake();
  void flush();
  void linger();
  void update_read_watch();
  void finish();
  void end_session();

  sys::EventLoop& loop_;
  Socket socket_;
  OutputQueue out_;
  std::unique_ptr<sys::ByteSession> session_;
  const Options options_;
  sys::Task on_closed_;
  State state_ = State::kOpen;
  std::unique_ptr<sys::Subscription> read_watch_;
  std::unique_ptr<sys::Subscription> write_watch_;
  sys::TimerId deadline_ = sys::TimerId::kNone;
  bool opened_ = false;
  bool paused_ = false;
  bool draining_ = false;  // the session is owed an on_drained
  bool input_ended_ = false;
  bool write_ended_ = false;
  bool wake_pending_ = false;
  std::size_t discarded_ = 0;
};

}  // namespace gangway::net
