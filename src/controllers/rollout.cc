#include "controllers/rollout.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace gangway::controllers {
namespace {

Sizes sizes_of(const std::vector<RolloutSet>& sets) {
  Sizes sizes;
  for (const RolloutSet& set : sets) sizes.push_back(set.size);
  return sizes;
}

std::int64_t sum(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

std::optional<std::size_t> new_set(const std::vector<RolloutSet>& sets) {
  const auto at = std::find_if(sets.begin(), sets.end(), [](const RolloutSet& set) { return set.is_new; });
  return at == sets.end() ? std::nullopt : std::optional<std::size_t>(at - sets.begin());
}

bool is_older(const RolloutSet& a, const RolloutSet& b) {
  return a.created != b.created ? a.created < b.created : a.name < b.name;
}

// The old sets, the oldest first.
std::vector<std::size_t> old_sets(const std::vector<RolloutSet>& sets) {
  std::vector<std::size_t> old;
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (!sets[i].is_new) old.push_back(i);
  std::sort(old.begin(), old.end(), [&](std::size_t a, std::size_t b) { return is_older(sets[a], sets[b]); });
  return old;
}

std::vector<std::size_t> active_sets(const std::vector<RolloutSet>& sets) {
  std::vector<std::size_t> active;
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (sets[i].is_active()) active.push_back(i);
  return active;
}

// The set that is to take the whole size: the only active one, or the newest when none is.
std::optional<std::size_t> active_or_latest(const std::vector<RolloutSet>& sets) {
  const auto active = active_sets(sets);
  if (active.size() == 1) return active.front();
  if (!active.empty() || sets.empty()) return std::nullopt;
  if (const auto newest = new_set(sets)) return newest;
  return old_sets(sets).back();
}

bool is_saturated(const RolloutSpec& spec, const RolloutSet& set) {
  return set.size == spec.replicas && set.desired == spec.replicas && set.available == spec.replicas;
}

// By how much a set changes in proportion to the Deployment.
std::int64_t fraction(const RolloutSpec& spec, const RolloutSet& set, std::int64_t status_replicas) {
  if (spec.replicas == 0) return -set.size;
  const std::int64_t before = set.most.value_or(0) != 0 ? *set.most : status_replicas;
  if (before == 0) return 0;
  const double share = static_cast<double>(set.size * spec.most()) / static_cast<double>(before);
  return std::lround(share) - set.size;
}

void share_out(const RolloutSpec& spec, const std::vector<RolloutSet>& sets, std::int64_t status_replicas,
               Sizes& sizes) {
  auto active = active_sets(sets);
  const std::int64_t allowed = spec.replicas > 0 ? spec.most() : 0;
  const std::int64_t to_add = allowed - sum(sizes);
  if (to_add == 0) return;
  // The largest first; of equal ones the newest grows first, and the oldest shrinks first.
  std::sort(active.begin(), active.end(), [&](std::size_t a, std::size_t b) {
    if (sets[a].size != sets[b].size) return sets[a].size > sets[b].size;
    return to_add > 0 ? is_older(sets[b], sets[a]) : is_older(sets[a], sets[b]);
  });
  std::int64_t added = 0;
  for (const std::size_t i : active) {
    const std::int64_t left = to_add - added;
    const std::int64_t wish = fraction(spec, sets[i], status_replicas);
    const std::int64_t part = left == 0 ? 0 : to_add > 0 ? std::min(wish, left) : std::max(wish, left);
    sizes[i] += part;
    added += part;
  }
  std::int64_t& largest = sizes[active.front()];
  largest = std::max<std::int64_t>(0, largest + to_add - added);
}

// How far the new set may grow; its present size when there is no room that is known to be free.
std::int64_t grown(const RolloutSpec& spec, const std::vector<RolloutSet>& sets, std::int64_t size) {
  std::int64_t taken = 0;
  for (const RolloutSet& set : sets) {
    if (!set.observed) return size;
    taken += std::max(set.size, set.actual);
  }
  const std::int64_t room = spec.most() - taken;
  return room <= 0 ? size : size + std::min(room, spec.replicas - size);
}

void shrink_old(const RolloutSpec& spec, const std::vector<RolloutSet>& sets, std::size_t newest, Sizes& sizes) {
  const auto old = old_sets(sets);
  const std::int64_t least = spec.replicas - spec.max_unavailable;
  const std::int64_t new_unavailable = sizes[newest] - sets[newest].available;
  std::int64_t spare = sum(sizes) - least - new_unavailable;
  if (spare <= 0) return;
  // What is not available is no loss.
  for (const std::size_t i : old) {
    const std::int64_t broken = std::max<std::int64_t>(0, sizes[i] - sets[i].available);
    const std::int64_t taken = std::min(spare, broken);
    sizes[i] -= taken;
    spare -= taken;
  }
  // What a set has above its new size is about to go, and no longer counts.
  std::int64_t available = 0;
  for (const RolloutSet& set : sets) available += std::min(set.size, set.available);
  std::int64_t surplus = available - least;
  for (const std::size_t i : old) {
    const std::int64_t taken = std::clamp<std::int64_t>(surplus, 0, sizes[i]);
    sizes[i] -= taken;
    surplus -= taken;
  }
}

}  // namespace

RolloutSpec resolve(std::int64_t replicas, std::int64_t surge, std::int64_t unavailable) {
  RolloutSpec spec{.replicas = replicas, .max_surge = surge, .max_unavailable = unavailable};
  if (spec.max_surge == 0 && spec.max_unavailable == 0) spec.max_unavailable = 1;
  spec.max_unavailable = std::min(spec.max_unavailable, replicas);
  return spec;
}

bool is_scaling(const RolloutSpec& spec, const std::vector<RolloutSet>& sets) {
  // Without a rolling update there are no shares: first the old sets have to go.
  if (!spec.rolling && active_sets(sets).size() > 1) return false;
  return std::any_of(sets.begin(), sets.end(), [&](const RolloutSet& set) {
    return set.is_active() && set.desired && *set.desired != spec.replicas;
  });
}

Sizes scale(const RolloutSpec& spec, const std::vector<RolloutSet>& sets, std::int64_t status_replicas) {
  Sizes sizes = sizes_of(sets);
  if (const auto whole = active_or_latest(sets)) {
    sizes[*whole] = spec.replicas;
    return sizes;
  }
  const auto newest = new_set(sets);
  if (newest && is_saturated(spec, sets[*newest])) {
    for (const std::size_t i : old_sets(sets)) sizes[i] = 0;
  } else if (spec.rolling && !sets.empty()) {
    share_out(spec, sets, status_replicas, sizes);
  }
  return sizes;
}

Sizes roll(const RolloutSpec& spec, const std::vector<RolloutSet>& sets) {
  Sizes sizes = sizes_of(sets);
  const auto newest = new_set(sets);
  if (!newest) return sizes;
  std::int64_t& size = sizes[*newest];
  if (size > spec.replicas) {
    size = spec.replicas;
    return sizes;
  }
  const std::int64_t before = size;
  if (size < spec.replicas) size = grown(spec, sets, size);
  if (size == before) shrink_old(spec, sets, *newest, sizes);
  return sizes;
}

std::int64_t first_size(const RolloutSpec& spec, const std::vector<RolloutSet>& sets) {
  return spec.rolling ? grown(spec, sets, 0) : spec.replicas;
}

}  // namespace gangway::controllers
