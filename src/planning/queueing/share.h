// Share: how much of what others could lend a queue or cohort has borrowed, by its weight. What fair sharing compares.
//
// Whole numbers, compared exactly and never divided, so that equal shares are equal on any machine.
#pragma once

#include <compare>
#include <cstdint>

namespace gangway::planning::queueing {

class Share {
 public:
  Share() = default;  // borrows nothing
  // `borrowed` of `lendable`, of the resource where that is most.
  Share(std::int64_t borrowed, std::int64_t lendable, std::int64_t weight);

  bool is_zero() const { return borrowed_ == 0; }
  // Borrows, and its weight says that it should not.
  bool is_infinite() const { return borrowed_ > 0 && weight_ == 0; }
  // In thousandths, rounded up, as statuses show it.
  std::int64_t rounded() const;
  // Takes the larger part; both have the weight of one node.
  void raise_to(const Share& other) {
    if (other.compares_unweighted(*this) > 0) *this = other;
  }

  // Of two that are infinite, the one that has borrowed the smaller part is less.
  std::weak_ordering operator<=>(const Share& other) const;
  bool operator==(const Share& other) const { return (*this <=> other) == 0; }

 private:
  std::weak_ordering compares_unweighted(const Share& other) const;

  std::int64_t borrowed_ = 0;
  std::int64_t lendable_ = 1;
  std::int64_t weight_ = 1;
};

}  // namespace gangway::planning::queueing
