// Clock: the only way to learn the time. Implementations may be called from any thread.
#pragma once

#include "base/time.h"

namespace gangway::sys {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonoTime mono() const = 0;
  virtual WallTime wall() const = 0;
};

// The machine's clocks.
const Clock& system_clock();

}  // namespace gangway::sys
