#include "planning/queueing/topology_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace gangway::planning::queueing {
namespace {

// One domain of any level, with what it can take of the pods in question.
struct Domain {
  std::vector<std::string> values;
  std::int64_t pods = 0;
  std::int64_t slices = 0;
  std::vector<Domain*> below = {};
  std::int64_t given = 0;  // pods
};

class Placer {
 public:
  Placer(const Topology& topology, const PodsToPlace& pods) : pods_(pods), levels_(topology.levels) {
    slice_level_ = pods.slice_size > 1 ? std::min(pods.slice_level, topology.levels - 1) : topology.levels - 1;
    for (const LowestDomain& lowest : topology.domains) add(lowest);
    for (std::size_t level = topology.levels; level-- > 0;) sum_up(level);
  }

  std::variant<std::vector<DomainShare>, Misfit> run() {
    std::size_t level =
        pods_.how == PodsToPlace::How::kUnconstrained ? slice_level_ : std::min(pods_.level, slice_level_);
    std::vector<Domain*> chosen = choose(level);
    if (chosen.empty()) return misfit(level);
    for (; level + 1 < levels_.size(); ++level) chosen = descend(level, chosen);
    std::vector<DomainShare> shares;
    shares.reserve(chosen.size());
    for (const Domain* const domain : chosen) shares.push_back({domain->values, domain->given});
    std::sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.values < b.values; });
    return shares;
  }

 private:
  using Domains = std::map<std::vector<std::string>, Domain>;

  void add(const LowestDomain& lowest) {
    std::int64_t fitting = std::int64_t{1} << 40;  // whatever takes nothing fits, and sums do not wrap
    for (const auto& [resource, amount] : pods_.request)
      if (amount > 0) fitting = std::min(fitting, std::max<std::int64_t>(0, amount_of(lowest.free, resource)) / amount);
    Domain* below = nullptr;
    for (std::size_t depth = levels_.size(); depth-- > 0;) {
      std::vector<std::string> values(lowest.values.begin(),
                                      lowest.values.begin() + static_cast<std::ptrdiff_t>(depth) + 1);
      const auto [at, is_new] = levels_[depth].try_emplace(values, Domain{.values = values});
      Domain& domain = at->second;
      if (!below) domain.pods = fitting;
      if (below) domain.below.push_back(below);
      if (!is_new) return;
      below = &domain;
    }
  }
  void sum_up(std::size_t level) {
    for (auto& [values, domain] : levels_[level]) {
      for (const Domain* const one : domain.below) {
        domain.pods += one->pods;
        domain.slices += one->slices;
      }
      if (level == slice_level_) domain.slices = domain.pods / pods_.slice_size;
      // Below, slices mean nothing; single pods are counted.
      if (level > slice_level_) domain.slices = 0;
    }
  }

  std::int64_t wanted() const { return (pods_.count + pods_.slice_size - 1) / pods_.slice_size; }
  bool starts_with_fullest() const { return pods_.how == PodsToPlace::How::kUnconstrained; }
  static std::vector<Domain*> all(Domains& domains) {
    std::vector<Domain*> list;
    for (auto& [values, domain] : domains) list.push_back(&domain);
    return list;
  }

  // `size` tells what of a domain counts: slices, or below their level pods.
  template <class Size>
  void sort(std::vector<Domain*>& domains, Size size) const {
    std::sort(domains.begin(), domains.end(), [&](const Domain* a, const Domain* b) {
      if (size(*a) != size(*b)) return starts_with_fullest() ? size(*a) < size(*b) : size(*a) > size(*b);
      return std::tie(a->pods, a->values) < std::tie(b->pods, b->values);
    });
  }
  // The tightest of those from `first` on that takes so many; null when none does.
  template <class Size>
  static Domain* tightest(const std::vector<Domain*>& domains, std::size_t first, std::int64_t many, Size size) {
    Domain* best = nullptr;
    for (std::size_t i = first; i < domains.size(); ++i)
      if (size(*domains[i]) >= many && (!best || size(*domains[i]) < size(*best))) best = domains[i];
    return best;
  }

  // As few as possible of them that take so many together, in order; `unit` pods a piece.
  template <class Size>
  std::vector<Domain*> fill(std::vector<Domain*> domains, std::int64_t many, std::int64_t unit, Size size) const {
    sort(domains, size);
    std::vector<Domain*> used;
    for (std::size_t i = 0; i < domains.size() && many > 0; ++i) {
      Domain* domain = domains[i];
      if (size(*domain) == 0) continue;
      if (size(*domain) >= many && !starts_with_fullest()) domain = tightest(domains, i, many, size);
      const std::int64_t taken = std::min(many, size(*domain));
      domain->given = taken * unit;
      used.push_back(domain);
      many -= taken;
    }
    if (many > 0) used.clear();
    return used;
  }

  static std::int64_t slices_of(const Domain& domain) { return domain.slices; }
  static std::int64_t pods_of(const Domain& domain) { return domain.pods; }

  // Where to begin. `level` becomes the one of the domains that are chosen.
  std::vector<Domain*> choose(std::size_t& level) {
    for (;; --level) {
      std::vector<Domain*> domains = all(levels_[level]);
      sort(domains, slices_of);
      if (Domain* const one = tightest(domains, 0, wanted(), slices_of)) {
        one->given = wanted() * pods_.slice_size;
        return {one};
      }
      if (pods_.how == PodsToPlace::How::kRequired) return {};
      if (pods_.how == PodsToPlace::How::kUnconstrained || level == 0)
        return fill(domains, wanted(), pods_.slice_size, slices_of);
    }
  }

  std::vector<Domain*> descend(std::size_t level, const std::vector<Domain*>& chosen) const {
    if (level < slice_level_) {
      std::vector<Domain*> below;
      for (const Domain* const domain : chosen) below.insert(below.end(), domain->below.begin(), domain->below.end());
      return fill(below, wanted(), pods_.slice_size, slices_of);
    }
    // A slice stays in the domain that was chosen for it.
    std::vector<Domain*> used;
    for (const Domain* const domain : chosen)
      for (Domain* const one : fill(domain->below, domain->given, 1, pods_of)) used.push_back(one);
    return used;
  }

  Misfit misfit(std::size_t level) {
    Misfit misfit{.wanted = wanted(), .is_slices = pods_.slice_size > 1};
    for (const auto& [values, domain] : levels_[level])
      misfit.fitting = pods_.how == PodsToPlace::How::kRequired ? std::max(misfit.fitting, domain.slices)
                                                                : misfit.fitting + domain.slices;
    return misfit;
  }

  const PodsToPlace& pods_;
  std::vector<Domains> levels_;
  std::size_t slice_level_ = 0;
};

}  // namespace

std::string text_of(const Topology& topology, const Misfit& misfit) {
  const char* const what = misfit.is_slices ? "slice(s)" : "pod(s)";
  if (misfit.fitting == 0)
    return fmt::format("topology \"{}\" doesn't allow to fit any of {} {}", topology.name, misfit.wanted, what);
  return fmt::format("topology \"{}\" allows to fit only {} out of {} {}", topology.name, misfit.fitting, misfit.wanted,
                     what);
}

std::variant<std::vector<DomainShare>, Misfit> place(const Topology& topology, const PodsToPlace& pods) {
  return Placer(topology, pods).run();
}

}  // namespace gangway::planning::queueing
