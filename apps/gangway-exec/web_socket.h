// WebSocket: a client's end of RFC 6455 on a SecureStream. Messages of the server only: all that this end says is that
// it is there. Blocking.
#pragma once

#include <string>

#include "secure_stream.h"

namespace gangway::exec {

class WebSocket {
 public:
  explicit WebSocket(SecureStream& stream) : stream_(stream) {}

  // Asks for `target` with a bearer token and a subprotocol. False, with the reason in error(), when that is refused.
  bool open(const std::string& host, const std::string& target, const std::string& token, const std::string& protocol);
  // The next message; false when there will be none.
  bool next(std::string& message);

  const std::string& error() const { return error_; }
  // Of the answer to open(); 0 when there was none.
  int status() const { return status_; }

 private:
  bool read_more();
  // Takes a whole frame off what has come; false when it is not all there.
  bool take_frame(int& opcode, bool& is_last, std::string& payload);
  bool send_control(int opcode, const std::string& payload);

  SecureStream& stream_;
  std::string received_;
  std::string error_;
  int status_ = 0;
};

}  // namespace gangway::exec
