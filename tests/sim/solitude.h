// Solitude: for how long an agent has lived without a word from anybody. A law that machines see to: by then others may
// have been given the names and the work of its pods, so nothing of them may run any more.
#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"

namespace gangway::sim {

class Solitude {
 public:
  // After five minutes pods are stopped, and whoever gives their work away waits two more.
  static constexpr Duration kLongest = std::chrono::minutes(7);

  // Told between steps. `alone`: an agent lives, and nothing goes to it or comes from it.
  void observe(bool alone, MonoTime now) {
    if (!alone) {
      since_.reset();
    } else if (!since_) {
      since_ = now;
    }
  }
  // It had no chance to act in time: it stood still until then, or its clock was set.
  void excuse(MonoTime until) {
    if (since_) since_ = std::max(*since_, until);
  }
  bool is_too_long(MonoTime now) const { return since_ && now - *since_ > kLongest; }

 private:
  std::optional<MonoTime> since_;
};

}  // namespace gangway::sim
