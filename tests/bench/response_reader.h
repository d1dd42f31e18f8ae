// ResponseReader: takes one HTTP/1.1 response apart as its bytes come in. It keeps no body, only counts it: the load
// client must not spend the time that it measures.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gangway::bench {

class ResponseReader {
 public:
  // Takes the next bytes. False: this is not HTTP as the servers here speak it.
  bool feed(std::string_view bytes);
  // Gets ready for the next response on the connection.
  void reset() { *this = ResponseReader(); }

  bool has_head() const { return part_ != Part::kHead; }
  bool complete() const { return part_ == Part::kDone; }
  int status() const { return status_; }
  std::size_t body_bytes() const { return body_bytes_; }
  // Line ends in the body so far: a watch has one an event.
  std::size_t lines() const { return lines_; }
  // The first bytes of the body, for messages and for the resourceVersion of a list.
  const std::string& opening() const { return opening_; }

 private:
  enum class Part { kHead, kBody, kChunkSize, kChunk, kChunkEnd, kTrailer, kDone };

  bool read_head(std::string_view head);
  void take_body(std::string_view bytes);
  // The next whole line without its end, across calls; false while it is not there yet.
  bool take_line(std::string_view& bytes);

  Part part_ = Part::kHead;
  std::string line_;  // what is there of the head or of a chunk's size
  int status_ = 0;
  std::size_t left_ = 0;  // of the body or the chunk
  std::size_t body_bytes_ = 0;
  std::size_t lines_ = 0;
  std::string opening_;
};

}  // namespace gangway::bench
