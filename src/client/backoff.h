// Exponential back-off with jitter. A value with its own small generator, so that the same seed gives the same delays.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace gangway::client {

class Backoff {
 public:
  struct Limits {
    Duration first = std::chrono::milliseconds(200);
    Duration longest = std::chrono::seconds(30);
  };

  Backoff(Limits limits, std::uint64_t seed) : limits_(limits), state_(seed) {}

  // The delay before the next attempt: doubles each time, between half of it and the whole of it.
  Duration next();
  void reset() { failures_ = 0; }

 private:
  Limits limits_;
  std::uint64_t state_;
  unsigned failures_ = 0;
};

// `first` doubled `failures` times, at most `longest`.
Duration doubled(Duration first, Duration longest, unsigned failures);

}  // namespace gangway::client
