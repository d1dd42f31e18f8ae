// Transport: HTTP as a client sees it, to one server. It knows bytes and time-outs, not resources; src/net has the real
// one. All calls are made on, and all callbacks arrive on, the transport's loop, never from inside the call itself.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "sys/completion.h"
#include "sys/event_loop.h"
#include "sys/http.h"

namespace gangway::client {

struct HttpClientRequest {
  std::string method = "GET";
  std::string target;        // path and query, encoded
  sys::HttpHeaders headers;  // without Host, Content-Length and Authorization
  std::string body;
  // Until the whole answer is there; for a stream, until its header is there. Zero: no limit.
  Duration timeout = std::chrono::seconds(30);
};

struct HttpClientResponse {
  int status = 0;
  sys::HttpHeaders headers;
  std::string body;  // empty in the head of a stream
};

struct StreamCallbacks {
  std::function<void(HttpClientResponse head)> on_head;
  std::function<void(std::string_view bytes)> on_data;
  // Last of all: the body is complete, or why it never will be.
  std::function<void(Result<void>)> on_end;
};

// A stream that is under way. Destroying it ends the stream; no callback comes after that.
class BodySource : public sys::Subscription {
 public:
  // While paused nothing is read, so that the server has to wait.
  virtual void pause(bool paused) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Any status is an answer; an Error means that there was none: kServiceUnavailable when the server cannot be
  // reached or the connection broke, kTimeout when the time was up.
  virtual void send(HttpClientRequest request, sys::Completion<HttpClientResponse> done) = 0;
  // The body as it comes.
  [[nodiscard]] virtual std::unique_ptr<BodySource> stream(HttpClientRequest request, StreamCallbacks callbacks) = 0;
  // Asks to leave HTTP behind. When the answer is 101, `session` has the connection from then on: it is opened right
  // after `done`, and closed at the latest with the transport. Any other answer comes whole, and ends it unopened.
  virtual void upgrade(HttpClientRequest request, std::unique_ptr<sys::ByteSession> session,
                       sys::Completion<HttpClientResponse> done) = 0;
};

}  // namespace gangway::client
