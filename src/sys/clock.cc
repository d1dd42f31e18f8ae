#include "sys/clock.h"

namespace gangway::sys {
namespace {

class SystemClock final : public Clock {
 public:
  MonoTime mono() const override { return MonoTime(std::chrono::steady_clock::now().time_since_epoch()); }
  WallTime wall() const override { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }
};

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace gangway::sys
