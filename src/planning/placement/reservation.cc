#include "planning/placement/reservation.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace gangway::planning {
namespace {

// A pod that is in the way, in the order in which they may be expected to go.
struct Leaver {
  PodId pod = kNone;
  std::optional<WallTime> ends;
};

std::vector<Leaver> expected_to_go(const Snapshot& snapshot, const Victims& victims) {
  std::vector<Leaver> leavers;
  for (PodId id = 0; id < snapshot.pods.size(); ++id) {
    const Pod& pod = snapshot.pods[id];
    // Whose room is promised to a ticket leaves none to others.
    if (pod.name.empty() || pod.node == kNone || victims.is_claimed(id)) continue;
    leavers.push_back({id, pod.is_terminating ? std::optional(snapshot.now) : pod.ends});
  }
  std::sort(leavers.begin(), leavers.end(), [&](const Leaver& a, const Leaver& b) {
    const Pod& first = snapshot.pods[a.pod];
    const Pod& second = snapshot.pods[b.pod];
    // Of those whose ends nobody knows, the least important, and then the longest running: names last.
    const auto key = [](const Leaver& leaver, const Pod& pod) {
      return std::make_tuple(!leaver.ends, leaver.ends.value_or(WallTime()), leaver.ends ? 0 : pod.priority, pod.since);
    };
    const auto left = key(a, first);
    const auto right = key(b, second);
    if (left != right) return left < right;
    return std::tie(first.ns, first.name) < std::tie(second.ns, second.name);
  });
  return leavers;
}

class Search {
 public:
  Search(Board& board, const Victims& victims, const std::vector<Seeker>& seekers)
      : board_(board), seekers_(seekers), leavers_(expected_to_go(board.snapshot(), victims)) {}

  // The least number of leavers after whom there is room, and where.
  bool run() {
    seated_ = try_after(leavers_.size());
    if (!seated_) return false;
    std::size_t low = 0;
    count_ = leavers_.size();
    while (low < count_) {
      const std::size_t middle = low + (count_ - low) / 2;
      if (auto found = try_after(middle)) {
        seated_ = std::move(found);
        count_ = middle;
      } else {
        low = middle + 1;
      }
    }
    return true;
  }

  const std::vector<Seated>& seated() const { return *seated_; }

  // When the last of them has gone; nothing when nobody knows.
  std::optional<WallTime> starts() const {
    if (count_ == 0) return board_.snapshot().now;
    return leavers_[count_ - 1].ends;
  }

  Amounts leaving(NodeId node) const {
    Amounts amounts;
    for (std::size_t i = 0; i < count_; ++i) {
      const Pod& pod = board_.snapshot().pods[leavers_[i].pod];
      if (pod.node == node) add(amounts, pod.shape->request);
    }
    return amounts;
  }

 private:
  std::optional<std::vector<Seated>> try_after(std::size_t count) {
    const Board::Trial trial(board_);
    for (std::size_t i = 0; i < count; ++i) board_.remove(leavers_[i].pod);
    return GangPlacer(board_).place(seekers_);
  }

  Board& board_;
  const std::vector<Seeker>& seekers_;
  std::vector<Leaver> leavers_;
  std::optional<std::vector<Seated>> seated_;
  std::size_t count_ = 0;
};

// Nobody knows when: what the node lacks now is all that may be counted on.
Amounts lacking(const Ledger& ledger, NodeId node, const Amounts& kept) {
  Amounts lacks(kept.size());
  for (ResourceId id = 0; id < kept.size(); ++id)
    lacks[id] = std::max<std::int64_t>(0, kept[id] - ledger.left(node, id));
  return lacks;
}

}  // namespace

std::optional<Reservation> reserve(Board& board, const Victims& victims, GangId gang,
                                   const std::vector<Seeker>& seekers) {
  Search search(board, victims, seekers);
  if (!search.run()) return std::nullopt;
  Reservation reservation{.gang = gang, .starts = search.starts()};
  std::map<NodeId, Amounts> kept;
  for (const Seated& seat : search.seated()) {
    if (seat.seeker.pod != kNone) {
      reservation.places.push_back({seat.seeker.pod, seat.node});
    } else {
      reservation.holds.push_back({seat.seeker.late, seat.node});
    }
    add(kept[seat.node], seat.seeker.claimant.shape->request);
  }
  for (const auto& [node, amounts] : kept) {
    const Amounts leaving = reservation.starts ? search.leaving(node) : lacking(board.ledger(), node, amounts);
    board.ledger().keep(node, amounts, leaving, reservation.starts);
  }
  return reservation;
}

}  // namespace gangway::planning
