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
#include "net/socket.h"
#include "net/websocket.h"
#include "sys/event_loop.h"
#include "sys/http.h"

namespace gangway::net {

class HttpConnection;

// What all shards of a server share; immutable but for the count.
struct HttpServerContext {
  HttpServerOptions options;
  sys::HttpHandler& handler;
  std::shared_ptr<const TlsContext> tls;
  std::atomic<std::size_t> connections{0};
};

class HttpShard {
 public:
  HttpShard(HttpServerContext& context, sys::EventLoop& loop);
  ~HttpShard();
  HttpShard(const HttpShard&) = delete;
  HttpShard& operator=(const HttpShard&) = delete;

  void adopt(FileDescriptor fd, std::string peer_address);
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
//                 kept └────────► kWriting                 └────► kWebSocket ────► kLingering ◄───────────┘
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
    kWebSocket,
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
  void append_head(const sys::HttpResponse& response, std::uint64_t length);
  void append_chunk();
  void start_stream(std::unique_ptr<sys::BodyStream> stream);
  void pull_stream();
  void request_wake();
  void end_stream();
  bool flush();
  void finish_answer();
  void linger();

  // WebSocket (http_upgrade.cc).
  void start_websocket(sys::HttpResponse&& response);
  void take_frames(std::string_view bytes);
  void send_frame(WebSocketOpcode opcode, std::string_view payload);
  void close_websocket(std::uint16_t code, std::string_view reason);
  void end_session();

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

  std::unique_ptr<sys::WebSocketSession> session_;
  std::unique_ptr<WebSocketReader> frames_;
  bool close_sent_ = false;
};

}  // namespace gangway::net
