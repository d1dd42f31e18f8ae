// WatchFrames: the events of watches as bytes, kept for a while, so that a change is encoded once for all who watch.
//
// Thread-safe. It holds a bounded number of frames, and one that was pushed out is simply encoded again: watchers of
// one kind read the log at nearly the same place, so few are needed.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "sys/http.h"

namespace gangway::apiserver {

class WatchFrames {
 public:
  // `opening`, the object without its first brace, and the end of the event: `{"type":"ADDED","object":{"kind":"Pod",`
  // … Requires: `object` is a JSON object that is not empty.
  sys::Buffer frame(std::string_view opening, const std::shared_ptr<const std::string>& object);

 private:
  struct Entry {
    std::shared_ptr<const std::string> object;  // held, so that no other object can come to have its address
    sys::Buffer frame;
  };
  static constexpr std::size_t kFrames = 256;

  Entry& entry_for(std::string_view opening, const std::string* object);

  std::mutex mutex_;
  std::array<Entry, kFrames> entries_;
};

}  // namespace gangway::apiserver
