#include "planning/placement/topology.h"

#include <algorithm>
#include <iterator>

#include "planning/placement/judge.h"

namespace gangway::planning {
namespace {

AffinityTerm without_weight(const AffinityTerm& term) {
  AffinityTerm plain = term;
  plain.weight = 0;
  return plain;
}

// Company is only who all terms ask for; each then says where.
AffinityTerm asked_for_by_all(const std::vector<AffinityTerm>& terms, std::size_t index) {
  AffinityTerm all = without_weight(terms[index]);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const AffinityTerm& other = terms[i];
    if (i == index) continue;
    all.pods.requirements.insert(all.pods.requirements.end(), other.pods.requirements.begin(),
                                 other.pods.requirements.end());
    if (other.all_namespaces) continue;
    std::vector<std::string> both;
    std::set_intersection(all.namespaces.begin(), all.namespaces.end(), other.namespaces.begin(),
                          other.namespaces.end(), std::back_inserter(both));
    all.namespaces = all.all_namespaces ? other.namespaces : both;
    all.all_namespaces = false;
  }
  return all;
}

}  // namespace

Topology::Topology(const Snapshot& snapshot) : snapshot_(snapshot) {
  for (const Pod& pod : snapshot.pods) {
    if (pod.name.empty() || pod.node == kNone) continue;
    for (const AffinityTerm& term : pod.shape->anti_affinity) {
      Counted& counted = holders_[term];
      if (const std::string* domain = domain_of(pod.node, term.topology_key)) ++counted.domains[*domain];
    }
  }
}

const std::string* Topology::domain_of(NodeId node, const std::string& key) const {
  const Node& at = snapshot_.nodes[node];
  if (at.name.empty()) return nullptr;  // it has gone, and pods are still bound to it
  if (key == kHostnameLabel) return at.hostname.empty() ? nullptr : &at.hostname;
  return find_label(at.traits->labels, key);
}

void Topology::count_one(const AffinityTerm& term, Counted& counted, const Move& move) const {
  if (term.ignores_terminating && move.is_terminating) return;
  if (!term.selects(move.shape->ns, *move.labels)) return;
  const std::string* const domain = domain_of(move.node, term.topology_key);
  if (!domain) return;
  counted.domains[*domain] += move.sign;
  counted.all += move.sign;
}

template <class Visit>
void Topology::for_each_move(Visit visit) const {
  for (const Pod& pod : snapshot_.pods)
    if (!pod.name.empty() && pod.node != kNone)
      visit(Move{pod.shape.get(), &pod.labels, pod.node, 1, pod.is_terminating});
  for (const Move& move : moves_) visit(move);
}

const Topology::Counted& Topology::count(const AffinityTerm& term) {
  const auto [at, is_new] = counted_.try_emplace(term);
  if (is_new) for_each_move([&](const Move& move) { count_one(term, at->second, move); });
  return at->second;
}

void Topology::add(const Move& move) {
  moves_.push_back(move);
  for (auto& [term, counted] : counted_) count_one(term, counted, move);
  for (auto& [key, over] : spreads_)
    if (over.eligible[move.node]) count_one(over.term, over.counted, move);
  for (const AffinityTerm& term : move.shape->anti_affinity)
    if (const std::string* domain = domain_of(move.node, term.topology_key))
      holders_[term].domains[*domain] += move.sign;
}

bool Topology::concerns(const PodShape& shape, const Labels& labels) const {
  return shape.looks_at_pods() || std::any_of(holders_.begin(), holders_.end(), [&](const auto& holder) {
           return holder.first.selects(shape.ns, labels);
         });
}

std::optional<std::int64_t> Topology::near(const Counted& counted, const std::string& key, NodeId node) const {
  const std::string* const domain = domain_of(node, key);
  if (!domain) return std::nullopt;
  const auto at = counted.domains.find(*domain);
  return at == counted.domains.end() ? 0 : at->second;
}

std::optional<std::int64_t> Topology::count_near(const AffinityTerm& term, NodeId node) {
  return near(count(without_weight(term)), term.topology_key, node);
}

bool Topology::holds(const AffinityTerm& term, const Counted& holders, NodeId node) const {
  const std::string* const domain = domain_of(node, term.topology_key);
  if (!domain) return false;
  const auto at = holders.domains.find(*domain);
  return at != holders.domains.end() && at->second > 0;
}

std::string Topology::why_not_affinity(const PodShape& shape, const Labels& labels, NodeId node) {
  bool has_company = true;
  bool begins = true;
  for (std::size_t i = 0; i < shape.affinity.size(); ++i) {
    const AffinityTerm term = asked_for_by_all(shape.affinity, i);
    const auto company = count_near(term, node);
    if (!company) return kNoCompany;
    has_company = has_company && *company > 0;
    // The first of pods that want to be together finds nobody, and may begin anywhere.
    begins = begins && count(term).all == 0 && term.selects(shape.ns, labels);
  }
  if (!has_company && !begins) return kNoCompany;
  for (const AffinityTerm& term : shape.anti_affinity) {
    if (const auto others = count_near(term, node); others && *others > 0)
      return "node(s) didn't match pod anti-affinity rules";
  }
  for (const auto& [term, holders] : holders_)
    if (holds(term, holders, node) && term.selects(shape.ns, labels))
      return "node(s) didn't satisfy existing pods anti-affinity rules";
  return {};
}

// As in Kubernetes a node must have the labels of all of the pod's constraints of one kind to count for any.
bool Topology::is_eligible(const PodShape& shape, const SpreadConstraint& constraint, NodeId id) const {
  const Node& node = snapshot_.nodes[id];
  if (node.name.empty()) return false;
  if (constraint.honors_node_affinity && !selects_node(shape, node)) return false;
  if (constraint.honors_taints && !tolerates_taints(shape, *node.traits)) return false;
  return std::all_of(shape.spread.begin(), shape.spread.end(), [&](const SpreadConstraint& other) {
    return other.is_required != constraint.is_required || domain_of(id, other.topology_key);
  });
}

const Topology::Spread& Topology::spread(const PodShape& shape, const SpreadConstraint& constraint) {
  const auto [at, is_new] = spreads_.try_emplace({&shape, &constraint});
  Spread& over = at->second;
  if (!is_new) return over;
  over.term = {.pods = constraint.pods,
               .namespaces = {shape.ns},
               .topology_key = constraint.topology_key,
               .ignores_terminating = true};
  for (NodeId id = 0; id < snapshot_.nodes.size(); ++id) {
    over.eligible.push_back(is_eligible(shape, constraint, id));
    if (over.eligible[id]) over.counted.domains.try_emplace(*domain_of(id, constraint.topology_key));
  }
  for_each_move([&](const Move& move) {
    if (over.eligible[move.node]) count_one(over.term, over.counted, move);
  });
  return over;
}

std::string Topology::why_not_spread(const PodShape& shape, const Labels& labels, NodeId node) {
  for (const SpreadConstraint& constraint : shape.spread) {
    if (!constraint.is_required) continue;
    const Counted& counted = spread(shape, constraint).counted;
    const auto here = near(counted, constraint.topology_key, node);
    if (!here) return kNoTopologyLabel;
    std::int64_t fewest = 0;
    if (!counted.domains.empty() && static_cast<std::int64_t>(counted.domains.size()) >= constraint.min_domains)
      fewest = std::min_element(counted.domains.begin(), counted.domains.end(), [](const auto& a, const auto& b) {
                 return a.second < b.second;
               })->second;
    const std::int64_t itself = constraint.pods.matches(labels) ? 1 : 0;
    if (*here + itself - fewest > constraint.max_skew) return "node(s) didn't match pod topology spread constraints";
  }
  return {};
}

std::string Topology::why_not(const PodShape& shape, const Labels& labels, NodeId node) {
  std::string reason = why_not_spread(shape, labels, node);
  if (reason.empty()) reason = why_not_affinity(shape, labels, node);
  return reason;
}

std::int64_t Topology::preference_for(const PodShape& shape, NodeId node) {
  std::int64_t preference = 0;
  for (const AffinityTerm& term : shape.preferred_affinity)
    preference += term.weight * count_near(term, node).value_or(0);
  for (const SpreadConstraint& constraint : shape.spread)
    if (!constraint.is_required)
      preference -= near(spread(shape, constraint).counted, constraint.topology_key, node).value_or(0);
  return preference;
}

}  // namespace gangway::planning
