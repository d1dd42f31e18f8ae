#include "client/backoff.h"

#include <algorithm>

namespace gangway::client {
namespace {

// SplitMix64: one addition and three mixes, good enough to spread retries.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Duration doubled(Duration first, Duration longest, unsigned failures) {
  Duration delay = first;
  while (failures-- > 0 && delay < longest) delay *= 2;
  return std::min(delay, longest);
}

Duration Backoff::next() {
  const Duration whole = doubled(limits_.first, limits_.longest, failures_++);
  const Duration half = whole / 2;
  return half + Duration(static_cast<Duration::rep>(next_random(state_) % (half.count() + 1)));
}

}  // namespace gangway::client
