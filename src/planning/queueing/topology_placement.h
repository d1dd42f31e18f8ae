// Where the pods of a podset go in a topology: as near to each other as they ask to be, in as few domains as possible.
//
// A topology has levels (block, rack, host); a domain is all that has the same values down to some level. Pure counting
// on what is free in the lowest domains; it does not know who uses the rest, and does not make room.
//
//   required       one domain of the asked level takes all, the tightest that does, or nobody goes anywhere
//   preferred      the same, else one of the next level up, and at the top as few as possible, the largest first
//   unconstrained  the fullest lowest domain that takes all, else the fullest ones first
// Then level by level downwards, each time as few domains as possible, the last one the tightest that takes the rest.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "planning/resources.h"

namespace gangway::planning::queueing {

struct LowestDomain {
  std::vector<std::string> values = {};  // one for each level, the widest first
  Amounts free = {};
};

struct Topology {
  std::string name;
  std::size_t levels = 0;
  std::vector<LowestDomain> domains = {};
};

struct PodsToPlace {
  enum class How : std::uint8_t { kRequired, kPreferred, kUnconstrained };
  std::int64_t count = 1;
  Request request = {};  // of one pod
  How how = How::kUnconstrained;
  std::size_t level = 0;  // that is required or preferred, 0 for the widest
  // So many pods each stay within one domain of `slice_level`.
  std::int64_t slice_size = 1;
  std::size_t slice_level = 0;  // counts only with slices of more than one
};

struct DomainShare {
  std::vector<std::string> values = {};  // down to the lowest level
  std::int64_t count = 0;
  bool operator==(const DomainShare&) const = default;
};

// So few of so many: pods, or slices.
struct Misfit {
  std::int64_t fitting = 0;
  std::int64_t wanted = 0;
  bool is_slices = false;
  bool operator==(const Misfit&) const = default;
};
std::string text_of(const Topology& topology, const Misfit& misfit);

// Shares are in the order of their values.
std::variant<std::vector<DomainShare>, Misfit> place(const Topology& topology, const PodsToPlace& pods);

}  // namespace gangway::planning::queueing
