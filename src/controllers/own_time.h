// OwnTime: time that passes only while our own loop keeps its tick.
//
// Whoever waits for others must not blame them for the time that it slept itself: a stopped process, a suspended
// machine, a loop that was busy for a minute, a wall clock that was set. Between two calls own time moves on by twice
// the tick at most, and never back. Whoever uses it sees to it that somebody calls at least once a tick.
#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"

namespace gangway::controllers {

class OwnTime {
 public:
  explicit OwnTime(Duration tick) : tick_(tick) {}

  // What `now` is in own time, which has no meaning but in comparison with itself.
  WallTime at(WallTime now) {
    if (last_) own_ += std::clamp<Duration>(now - *last_, Duration::zero(), 2 * tick_);
    last_ = now;
    return own_;
  }

 private:
  Duration tick_;
  std::optional<WallTime> last_;
  WallTime own_;
};

}  // namespace gangway::controllers
