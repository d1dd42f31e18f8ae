// HttpConnection: answers, streams and the end of a connection.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "net/http_shard.h"
#include "sys/log.h"

namespace gangway::net {
namespace {

using Status = Socket::Status;

constexpr std::size_t kStreamRead = 64 * 1024;
constexpr int kPullsPerTurn = 64;

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Request Entity Too Large";
    case 414:
      return "Request URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Status";
  }
}

// A value with a line break in it would begin a header of its own.
void append_value(std::string& out, std::string_view value) {
  const std::size_t start = out.size();
  out.append(value);
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(start), out.end(),
      [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
  }
  return out + '"';
}

bool has_no_body(int status) {
  return status < 200 || status == 204 || status == 304;
}

}  // namespace

void HttpConnection::answer(std::uint64_t request, sys::HttpResponse&& response) {
  if (state_ != State::kHandling || request != request_) return;
  const auto self = shared_from_this();
  const bool upgrades = response.websocket || response.upgrade;
  if (upgrades && input_ended_) return close();
  if (response.websocket) return start_websocket(std::move(response));
  if (response.upgrade) return start_upgrade(std::move(response));
  if (shard_.draining() || input_ended_) keep_alive_ = false;
  state_ = State::kWriting;
  const bool no_body = head_only_ || has_no_body(response.status);
  if (response.stream && http_1_0_) keep_alive_ = false;

  std::uint64_t length = 0;
  for (const auto& piece : response.body) length += piece ? piece->size() : 0;
  append_head(response, length);
  if (response.stream && !no_body) {
    shard_.chunk_scratch() = std::move(response.body);
    append_chunk();
    return start_stream(std::move(response.stream));
  }
  if (!no_body)
    for (auto& piece : response.body) out_.append(std::move(piece));
  if (flush()) finish_answer();
}

void HttpConnection::answer_error(int status, std::string_view reason, std::string_view message) {
  sys::HttpResponse response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.body.push_back(sys::make_buffer(fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":{},"reason":"{}","code":{}}})"
      "\n",
      json_text(message), reason, status)));
  state_ = State::kHandling;
  answer(request_, std::move(response));
}

void HttpConnection::append_headers(std::string& head, const sys::HttpHeaders& headers) {
  for (const auto& [name, value] : headers.entries()) {
    append_value(head, name);
    head.append(": ");
    append_value(head, value);
    head.append("\r\n");
  }
}

void HttpConnection::append_head(const sys::HttpResponse& response, std::uint64_t length) {
  std::string& head = shard_.text_scratch();
  head.clear();
  auto into = std::back_inserter(head);
  fmt::format_to(into, "HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
  append_headers(head, response.headers);
  if (response.headers.get("Date").empty()) head.append("Date: ").append(shard_.date()).append("\r\n");
  if (response.stream && !http_1_0_)
    head.append("Transfer-Encoding: chunked\r\n");
  else if (!response.stream && !has_no_body(response.status))
    fmt::format_to(into, "Content-Length: {}\r\n", length);
  if (!keep_alive_)
    head.append("Connection: close\r\n");
  else if (http_1_0_)
    head.append("Connection: keep-alive\r\n");
  head.append("\r\n");
  out_.append(head);
}

// Queues the buffers of the chunk scratch as one chunk.
void HttpConnection::append_chunk() {
  auto& buffers = shard_.chunk_scratch();
  std::size_t size = 0;
  for (const auto& buffer : buffers) size += buffer ? buffer->size() : 0;
  if (size > 0) {
    // An empty chunk would end the body.
    if (!http_1_0_) out_.append(fmt::format("{:x}\r\n", size));
    for (auto& buffer : buffers) out_.append(std::move(buffer));
    if (!http_1_0_) out_.append("\r\n");
  }
  buffers.clear();
}

void HttpConnection::start_stream(std::unique_ptr<sys::BodyStream> stream) {
  state_ = State::kStreaming;
  stream_ = std::move(stream);
  stream_ready_ = true;
  stream_->set_waker([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->stream_ready_ = true;
    self->request_wake();
  });
  // The header goes out even when the stream has nothing yet: the client waits for it.
  if (flush()) pull_stream();
}

void HttpConnection::request_wake() {
  if (!std::exchange(wake_pending_, true)) shard_.wake(shared_from_this());
}

void HttpConnection::on_wake() {
  wake_pending_ = false;
  if (state_ == State::kStreaming) pull_stream();
}

void HttpConnection::pull_stream() {
  if (write_watch_) return;
  const auto self = shared_from_this();
  if (shard_.draining()) {
    keep_alive_ = false;
    return end_stream();
  }
  auto& chunk = shard_.chunk_scratch();
  for (int turn = 0; stream_ready_ && turn < kPullsPerTurn; ++turn) {
    if (out_.pending() >= OutputQueue::kRecord && !flush()) return;
    // A wake that comes while the stream is read counts for the next read.
    stream_ready_ = false;
    auto more = sys::BodyStream::State::kEnd;
    try {
      more = stream_->read(chunk, kStreamRead);
    } catch (const std::exception& e) {
      sys::log_error("a response stream failed", {{"error", e.what()}});
      chunk.clear();
      return close();
    }
    append_chunk();
    if (more == sys::BodyStream::State::kEnd) return end_stream();
    if (more == sys::BodyStream::State::kMore) stream_ready_ = true;
  }
  if (flush() && stream_ready_) request_wake();
}

void HttpConnection::end_stream() {
  stream_.reset();
  if (!http_1_0_) out_.append("0\r\n\r\n");
  state_ = State::kWriting;
  if (flush()) finish_answer();
}

// True when everything is with the kernel. Otherwise the connection waits for room, or is closed.
bool HttpConnection::flush() {
  const Socket::Io io = out_.flush(socket_);
  switch (io.status) {
    case Status::kOk:
      write_watch_.reset();
      return true;
    case Status::kWantRead:
    case Status::kWantWrite:
      if (!write_watch_ || io.bytes > 0) last_progress_ = shard_.now();
      if (!write_watch_)
        write_watch_ =
            shard_.loop().watch_fd(socket_.fd(), sys::EventLoop::FdEvent::kWritable, [this] { on_writable(); });
      return false;
    case Status::kEnd:
    case Status::kFailed:
      close();
      return false;
  }
  return false;
}

void HttpConnection::finish_answer() {
  if (!keep_alive_ || shard_.draining()) return linger();
  state_ = State::kReading;
  parser_.reset();
  request_begun_ = continue_sent_ = false;
  deadline_ = shard_.now() + shard_.options().idle_timeout;
  if (advancing_) return;
  if (!input_.empty())
    advance_buffered();
  else
    update_read_watch();
}

// Closing with unread input would reset the connection, and the peer could lose the answer.
void HttpConnection::linger() {
  state_ = State::kLingering;
  input_.clear();
  deadline_ = shard_.now() + shard_.options().linger_timeout;
  if (!flush()) return;
  socket_.shutdown_write();
  if (input_ended_) return close();
  update_read_watch();
}

}  // namespace gangway::net
