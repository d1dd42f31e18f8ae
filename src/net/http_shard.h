// HttpShard: the connections of one loop, and what they share: options, scratch memory, the clock's tick.
// HttpConnection: one client. Internal to HttpServer; everything here runs on the shard's loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "net/http_parser.h"
#include "net/http_server.h"
#include "net/output_queue.h"
#include "net/raw_connection.h"
#include "net/socket.h"
#include "sys/event_loop.h"
#include "sys/http.h"

namespace gangway::net {

class HttpConnection;

// What all shards of a server share; immutable but for the count.
struct HttpServerContext {
  HttpServerOptions options;
  sys::HttpHandler& handler;
  std::atomic<std::size_t> connections{0};
};

class HttpShard {
 public:
  // `tls` is null for plain TCP.
  HttpShard(HttpServerContext& context, sys::EventLoop& loop, std::shared_ptr<const TlsContext> tls);
  ~HttpShard();
  HttpShard(const HttpShard&) = delete;
  HttpShard& operator=(const HttpShard&) = delete;

  void adopt(FileDescriptor fd, std::string peer_address);
  // For connections from now on.
  void use_tls(std::shared_ptr<const TlsContext> tls) { tls_ = std::move(tls); }
  // Ends what can end now. `on_empty` runs when the last connection is gone.
  void drain(sys::Task on_empty);
  void close_all();

  // For connections.
  sys::EventLoop& loop() { return loop_; }
  const HttpServerOptions& options() const { return context_.options; }
  sys::HttpHandler& handler() { return context_.handler; }
  MonoTime now() const { return loop_.clock().mono(); }
  bool draining() const { return draining_; }
  std::span<char> read_scratch() { return read_scratch_; }
  std::string& text_scratch() { return text_scratch_; }
  std::vector<sys::Buffer>& chunk_scratch() { return chunk_scratch_; }
  // "Mon, 02 Jan 2006 15:04:05 GMT"
  std::string_view date();
  // Calls `connection`'s on_wake() soon. Wakes of one turn of the loop share a task.
  void wake(std::shared_ptr<HttpConnection> connection);
  void forget(HttpConnection& connection);

 private:
  void run_wakes();
  void report_empty();
  void tick();
  void schedule_tick();

  HttpServerContext& context_;
  sys::EventLoop& loop_;
  std::shared_ptr<const TlsContext> tls_;
  std::unordered_set<std::shared_ptr<HttpConnection>> connections_;
  std::vector<char> read_scratch_;
  std::string text_scratch_;
  std::vector<sys::Buffer> chunk_scratch_;
  std::vector<std::shared_ptr<HttpConnection>> woken_;
  std::int64_t date_second_ = 0;
  std::string date_;
  Duration tick_period_;
  sys::TimerId tick_ = sys::TimerId::kNone;
  bool draining_ = false;
  sys::Task on_empty_;
};

//            ┌──────────────────────────── answer sent, connection kept ───────────────────────────┐
//            ▼                                                                                      │
// kHandshake → kReading → kHandling (the handler has the request) → kWriting → or kStreaming ────────┤
//                 │ broken request                    │ 101                                          │ connection not
//                 kept └────────► kWriting                 └────► kUpgraded         kLingering ◄───────────┘
//                                                                                  │
//                                  from anywhere, on errors and time-outs: ────► kClosed
class HttpConnection final : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(HttpShard& shard, Socket socket, std::string peer_address);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void start();
  void check_deadlines(MonoTime now);
  // The server shuts down.
  void drain();
  void close();
  // What request_wake() asked for.
  void on_wake();

 private:
  enum class State : std::uint8_t {
    kHandshake,
    kReading,
    kHandling,
    kWriting,
    kStreaming,
    kUpgraded,  // a RawConnection has the socket
    kLingering,
    kClosed,
  };
  struct Ticket;

  // Input (http_connection.cc).
  void on_readable();
  void on_writable();
  void shake_hands();
  bool read_once();
  void take_input(std::string_view bytes);
  void on_input_end();
  std::size_t advance(std::string_view bytes);
  void advance_buffered();
  void note_header();
  void dispatch();
  void update_read_watch();

  // Output (http_answer.cc).
  void answer(std::uint64_t request, sys::HttpResponse&& response);
  void answer_error(int status, std::string_view reason, std::string_view message);
  static void append_headers(std::string& head, const sys::HttpHeaders& headers);
  void append_head(const sys::HttpResponse& response, std::uint64_t length);
  void append_chunk();
  void start_stream(std::unique_ptr<sys::BodyStream> stream);
  void pull_stream();
  void request_wake();
  void end_stream();
  bool flush();
  void finish_answer();
  void linger();

  // Upgrades (http_upgrade.cc).
  void start_websocket(sys::HttpResponse&& response);
  void start_upgrade(sys::HttpResponse&& response);
  void hand_over(std::unique_ptr<sys::ByteSession> session);

  HttpShard& shard_;
  Socket socket_;
  State state_ = State::kHandshake;
  sys::HttpPeer peer_;
  std::unique_ptr<sys::Subscription> read_watch_;
  std::unique_ptr<sys::Subscription> write_watch_;
  MonoTime deadline_ = MonoTime::max();
  MonoTime last_progress_;

  RequestParser parser_;
  std::string input_;  // read, but not yet parsed
  bool advancing_ = false;
  bool input_ended_ = false;
  bool request_begun_ = false;
  bool continue_sent_ = false;

  std::uint64_t request_ = 0;  // counts, so that a late answer finds out that it is late
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool http_1_0_ = false;
  std::string websocket_key_;

  OutputQueue out_;
  std::unique_ptr<sys::BodyStream> stream_;
  bool stream_ready_ = false;
  bool wake_pending_ = false;
  std::size_t lingered_ = 0;

  std::shared_ptr<RawConnection> raw_;
};

}  // namespace gangway::net
