// Exchange: one request of a client and what becomes of it. ClientConnection: one connection, one exchange at a time.
// Internal to HttpTransport; everything here runs on its loop.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "client/transport.h"
#include "net/http_parser.h"
#include "net/output_queue.h"
#include "net/raw_connection.h"
#include "net/socket.h"
#include "sys/event_loop.h"

namespace gangway::net {

struct Exchange {
  client::HttpClientRequest request;
  std::string head;  // request line and header, ready to be sent
  bool streaming = false;
  sys::Completion<client::HttpClientResponse> done;
  client::StreamCallbacks callbacks;
  std::unique_ptr<sys::ByteSession> session;  // of an upgrade

  client::HttpClientResponse response;
  sys::EventLoop* loop = nullptr;
  sys::TimerId timer = sys::TimerId::kNone;
  std::size_t failed_connects = 0;
  bool head_reported = false;
  bool retried = false;
  bool paused = false;
  bool over = false;

  // Each tells the caller, unless it was told, or has cancelled.
  void report_head();
  void finish();
  void fail(Error error);
  // The caller wants to hear no more.
  void cancel();

 private:
  void stop_timer();
};

struct SocketAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
};

class ClientConnection final : public std::enable_shared_from_this<ClientConnection> {
 public:
  // What the pool hears. Each is called at most once for an exchange.
  struct Events {
    // The exchange is complete; the connection may take another one.
    std::function<void(const std::shared_ptr<ClientConnection>&)> on_free;
    // The connection is gone. The exchange that it served, if any, has not been told.
    std::function<void(const std::shared_ptr<ClientConnection>&, const std::shared_ptr<Exchange>&, Error)> on_lost;
  };

  ClientConnection(sys::EventLoop& loop, Socket socket, std::size_t max_response_bytes, Events events);

  // Requires: no exchange is under way.
  void begin(std::shared_ptr<Exchange> exchange);
  // Starts to connect; the socket is already connecting.
  void open(Duration timeout);
  void close();
  // Whether the exchange's body is to be read has changed.
  void on_pause();
  // How many exchanges it has completed.
  std::size_t served() const { return served_; }
  const std::shared_ptr<Exchange>& exchange() const { return exchange_; }
  MonoTime free_since() const { return free_since_; }
  bool connected() const { return connected_; }
  // Whether no byte of an answer to the last exchange has come.
  bool untouched() const { return untouched_; }

  bool for_stream = false;  // the pool's mark

 private:
  enum class State : std::uint8_t { kConnecting, kHandshake, kReady, kUpgraded, kClosed };

  void on_readable();
  void on_writable();
  void shake_hands();
  void flush();
  void watch_writable();
  void take_input(std::string_view bytes);
  void take_body(std::string_view bytes);
  void on_input_end();
  void complete();
  void upgrade();
  void lose(std::string why);

  sys::EventLoop& loop_;
  Socket socket_;
  std::size_t max_response_bytes_;
  Events events_;
  State state_ = State::kConnecting;
  std::unique_ptr<sys::Subscription> read_watch_;
  std::unique_ptr<sys::Subscription> write_watch_;
  sys::TimerId connect_timer_ = sys::TimerId::kNone;
  ResponseParser parser_;
  OutputQueue out_;
  std::string input_;
  std::shared_ptr<Exchange> exchange_;
  std::shared_ptr<RawConnection> raw_;
  bool connected_ = false;
  bool untouched_ = true;
  bool too_large_ = false;
  std::size_t served_ = 0;
  MonoTime free_since_{};
};

}  // namespace gangway::net
