// HTTP/1.1 messages from bytes, pushed in as they arrive. Requests for the server, responses for the client.
//
// No sockets and no waiting: this is what the fuzzer feeds. The grammar is Boost.Beast's; the limits are ours.
// A parser belongs to one connection and its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sys/http.h"

namespace gangway::net {

struct HttpLimits {
  std::size_t header_bytes = 64 * 1024;  // request line and all header fields
  std::size_t target_bytes = 16 * 1024;  // path and query
  std::uint64_t body_bytes = 3 * 1024 * 1024;
};

enum class ParseState : std::uint8_t { kNeedMore, kDone, kBad };

struct ParseProgress {
  ParseState state = ParseState::kNeedMore;
  std::size_t used = 0;  // bytes that need not be given again
};

class RequestParser {
 public:
  explicit RequestParser(const HttpLimits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Bytes that were not used come again, in front of the next ones. After kDone or kBad: reset() first.
  ParseProgress feed(std::string_view bytes);
  void reset();

  // Valid once the header is complete.
  bool header_done() const;
  bool expects_continue() const;
  bool keep_alive() const;
  bool http_1_0() const;
  // Valid after kDone, once.
  sys::HttpRequest take();
  // Valid after kBad: the status to answer with, and why.
  int error_status() const;
  const std::string& error_message() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

class ResponseParser {
 public:
  // Called with pieces of the body, without the transfer encoding.
  using OnBody = std::function<void(std::string_view)>;
  explicit ResponseParser(OnBody on_body);
  ~ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  ParseProgress feed(std::string_view bytes);
  // The connection ended: a response without a length is complete now, any other is cut short.
  ParseState end_of_input();
  // `no_body`: the response to a HEAD request.
  void reset(bool no_body);

  bool header_done() const;
  bool keep_alive() const;
  int status() const;
  sys::HttpHeaders& headers();
  const std::string& error_message() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gangway::net
