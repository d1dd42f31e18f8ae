#include "planning/placement/ledger.h"

#include <algorithm>

namespace gangway::planning {
namespace {

constexpr int kShareBits = 12;  // amounts are below 2^50

std::int64_t share(std::int64_t used, std::int64_t whole) {
  if (whole <= 0) return std::int64_t{1} << kShareBits;
  return (used << kShareBits) / whole;
}

}  // namespace

Ledger::Ledger(const Snapshot& snapshot)
    : snapshot_(snapshot),
      width_(snapshot.resources.size()),
      stride_(width_ + 2),
      left_(snapshot.nodes.size() * stride_) {
  for (NodeId id = 0; id < snapshot.nodes.size(); ++id) {
    const Amounts& allocatable = snapshot.nodes[id].allocatable;
    std::copy_n(allocatable.begin(), std::min(allocatable.size(), width_), row(id));
  }
  for (const Pod& pod : snapshot.pods)
    if (!pod.name.empty() && pod.node != kNone) take(pod.node, *pod.shape);
}

void Ledger::change(NodeId node, const PodShape& shape, std::int64_t sign) {
  std::int64_t* const left = row(node);
  for (const auto& [id, amount] : shape.request) left[id] += sign * amount;
  left[width_] += sign * shape.load_cpu;
  left[width_ + 1] += sign * shape.load_memory;
}

void Ledger::take(NodeId node, const Amounts& amounts) {
  for (std::size_t id = 0; id < amounts.size(); ++id) row(node)[id] -= amounts[id];
}

void Ledger::give(NodeId node, const Amounts& amounts) {
  for (std::size_t id = 0; id < amounts.size(); ++id) row(node)[id] += amounts[id];
}

bool Ledger::is_sound(NodeId node) const {
  return std::all_of(row(node), row(node) + width_, [](std::int64_t left) { return left >= 0; });
}

const Ledger::Kept* Ledger::kept_on(NodeId node) const {
  if (kept_index_.empty() || kept_index_[node] == kNone) return nullptr;
  return &kept_[kept_index_[node]];
}

void Ledger::keep(NodeId node, const Amounts& amounts, const Amounts& leaving, std::optional<WallTime> starts) {
  if (kept_index_.empty()) kept_index_.assign(snapshot_.nodes.size(), kNone);
  kept_index_[node] = static_cast<std::uint32_t>(kept_.size());
  Kept kept{Amounts(width_), starts};
  std::copy_n(row(node), width_, kept.spare.begin());
  for (std::size_t id = 0; id < leaving.size(); ++id) kept.spare[id] += leaving[id];
  for (std::size_t id = 0; id < amounts.size(); ++id) kept.spare[id] -= amounts[id];
  kept_.push_back(std::move(kept));
}

void Ledger::come(NodeId node, const PodShape& shape, const std::optional<WallTime>& ends, std::int64_t sign) {
  if (kept_index_.empty() || kept_index_[node] == kNone) return;
  Kept& kept = kept_[kept_index_[node]];
  if (kept.is_over_by(ends)) return;
  for (const auto& [id, amount] : shape.request) kept.spare[id] -= sign * amount;
}

// Once those that are leaving have left, both must fit; or the pod has ended by then.
bool Ledger::respects(const Kept& kept, const PodShape& shape, const std::optional<WallTime>& ends,
                      std::int64_t count) {
  return kept.is_over_by(ends) || std::all_of(shape.request.begin(), shape.request.end(), [&](const auto& wanted) {
           return kept.spare[wanted.first] >= wanted.second * count;
         });
}

bool Ledger::fits(NodeId node, const PodShape& shape, const std::optional<WallTime>& ends) const {
  const std::int64_t* const left = row(node);
  for (const auto& [id, amount] : shape.request)
    if (left[id] < amount) return false;
  const Kept* const kept = kept_on(node);
  return !kept || respects(*kept, shape, ends, 1);
}

std::int64_t Ledger::count_fits(NodeId node, const PodShape& shape, const std::optional<WallTime>& ends,
                                std::int64_t limit) const {
  const std::int64_t* const left = row(node);
  std::int64_t count = limit;
  for (const auto& [id, amount] : shape.request) count = std::min(count, left[id] / amount);
  if (count <= 0) return 0;
  const Kept* const kept = kept_on(node);
  while (kept && count > 0 && !respects(*kept, shape, ends, count)) --count;
  return count;
}

std::int64_t Ledger::load(NodeId node) const {
  const Amounts& whole = snapshot_.nodes[node].allocatable;
  return share(-row(node)[width_], amount_of(whole, kCpu)) + share(-row(node)[width_ + 1], amount_of(whole, kMemory));
}

std::int64_t Ledger::load_with(NodeId node, const PodShape& shape) const {
  const Amounts& whole = snapshot_.nodes[node].allocatable;
  return share(shape.load_cpu - row(node)[width_], amount_of(whole, kCpu)) +
         share(shape.load_memory - row(node)[width_ + 1], amount_of(whole, kMemory));
}

std::vector<NetHold> beyond_victims(const Snapshot& snapshot, std::map<NodeId, Amounts> wanted,
                                    const std::vector<PodId>& victims) {
  for (const PodId victim : victims) {
    const Pod& pod = snapshot.pods[victim];
    if (const auto at = wanted.find(pod.node); at != wanted.end()) subtract(at->second, pod.shape->request);
  }
  std::vector<NetHold> holds;
  for (auto& [node, amounts] : wanted) {
    for (std::int64_t& amount : amounts) amount = std::max<std::int64_t>(amount, 0);
    holds.push_back({node, std::move(amounts)});
  }
  return holds;
}

std::vector<NetHold> net_holds(const Snapshot& snapshot, const OpenTicket& ticket) {
  std::map<NodeId, Amounts> wanted;
  for (const OpenTicket::Place& place : ticket.places) add(wanted[place.node], snapshot.pods[place.pod].shape->request);
  for (const OpenTicket::Hold& hold : ticket.holds) add(wanted[hold.node], hold.shape->request);
  return beyond_victims(snapshot, std::move(wanted), ticket.victims);
}

}  // namespace gangway::planning
