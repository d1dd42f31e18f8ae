#include "planning/queueing/share.h"

#include <algorithm>
#include <limits>

#include "planning/queueing/snapshot.h"

namespace gangway::planning::queueing {
namespace {

__extension__ using Wide = __int128;

}  // namespace

Share::Share(std::int64_t borrowed, std::int64_t lendable, std::int64_t weight) : weight_(weight) {
  if (borrowed <= 0 || lendable <= 0) return;
  borrowed_ = borrowed;
  lendable_ = lendable;
}

std::int64_t Share::rounded() const {
  if (is_zero()) return 0;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (is_infinite()) return kMost;
  const Wide divisor = Wide{lendable_} * weight_;
  const Wide share = (Wide{borrowed_} * 1000 * kWeightOne + divisor - 1) / divisor;
  return static_cast<std::int64_t>(std::min<Wide>(share, kMost));
}

std::weak_ordering Share::compares_unweighted(const Share& other) const {
  return Wide{borrowed_} * other.lendable_ <=> Wide{other.borrowed_} * lendable_;
}

std::weak_ordering Share::operator<=>(const Share& other) const {
  if (is_infinite() || other.is_infinite() || is_zero() || other.is_zero()) {
    if (is_infinite() != other.is_infinite())
      return is_infinite() ? std::weak_ordering::greater : std::weak_ordering::less;
    return compares_unweighted(other);
  }
  if (weight_ == other.weight_) return compares_unweighted(other);
  // borrowed / lendable / weight against the other's: with both weights on top the products have room, and what is left
  // after whole parts are taken off can be multiplied again.
  const Wide one = Wide{borrowed_} * other.weight_;
  const Wide two = Wide{other.borrowed_} * weight_;
  if (const auto by = one / lendable_ <=> two / other.lendable_; by != 0) return by;
  return one % lendable_ * other.lendable_ <=> two % other.lendable_ * lendable_;
}

}  // namespace gangway::planning::queueing
