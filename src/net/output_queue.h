// OutputQueue: the bytes a connection still has to send. Small pieces are gathered into one record, large shared
// buffers are sent from where they are, so a long list needs no second copy. Belongs to one connection.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "net/socket.h"
#include "sys/http.h"

namespace gangway::net {

class OutputQueue {
 public:
  // A TLS record holds this much; more in one piece would be cut anyway.
  static constexpr std::size_t kRecord = 16 * 1024;

  void append(std::string_view bytes);
  void append(sys::Buffer buffer);
  std::size_t pending() const { return pending_; }

  // Writes until nothing is pending (kOk), or the socket takes no more.
  Socket::Io flush(Socket& socket);
  // Gives back the staging memory of a connection that rests.
  void release_memory();

 private:
  void stage();
  std::string_view next_piece();
  void sent(std::size_t bytes);
  bool queue_empty() const { return next_ == queue_.size(); }

  std::string staged_;  // sent before the queue
  std::size_t staged_sent_ = 0;
  std::vector<sys::Buffer> queue_;  // [next_, end) is waiting
  std::size_t next_ = 0;
  std::size_t front_sent_ = 0;  // of queue_[next_]
  std::size_t pending_ = 0;
};

}  // namespace gangway::net
