#include "client/backoff.h"

#include <algorithm>

#include "base/split_mix.h"

namespace gangway::client {

Duration doubled(Duration first, Duration longest, unsigned failures) {
  Duration delay = first;
  while (failures-- > 0 && delay < longest) delay *= 2;
  return std::min(delay, longest);
}

Duration Backoff::next() {
  const Duration whole = doubled(limits_.first, limits_.longest, failures_++);
  const Duration half = whole / 2;
  return half + Duration(static_cast<Duration::rep>(split_mix(state_) % (half.count() + 1)));
}

}  // namespace gangway::client
