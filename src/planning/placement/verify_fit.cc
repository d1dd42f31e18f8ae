#include "planning/placement/verify_fit.h"

#include <algorithm>
#include <limits>

namespace gangway::planning::verifying {
namespace {

// Pods may still be bound to a node that has gone: it has no labels.
const std::string* label_of(const Node& node, const std::string& key) {
  if (node.name.empty()) return nullptr;
  if (key == kHostnameLabel) return node.hostname.empty() ? nullptr : &node.hostname;
  return find_label(node.traits->labels, key);
}

bool tolerates(const PodShape& shape, const Taint& taint) {
  return std::any_of(shape.tolerations.begin(), shape.tolerations.end(),
                     [&](const Toleration& toleration) { return toleration.tolerates(taint); });
}

const Taint* first_untolerated(const PodShape& shape, const Node& node) {
  for (const Taint& taint : node.traits->taints)
    if (taint.effect != Taint::Effect::kPreferNoSchedule && !tolerates(shape, taint)) return &taint;
  return nullptr;
}

bool takes(const NodeTerm& term, const Node& node) {
  // Kubernetes: "a null or empty node selector term matches no objects".
  if (term.labels.empty() && term.names.empty()) return false;
  for (const Requirement& requirement : term.labels)
    if (!requirement.matches(label_of(node, requirement.key))) return false;
  for (const Requirement& requirement : term.names)
    if (!requirement.matches(&node.name)) return false;
  return true;
}

bool takes(const NodeSelector& selector, const Node& node) {
  return std::any_of(selector.terms.begin(), selector.terms.end(),
                     [&](const NodeTerm& term) { return takes(term, node); });
}

bool selects(const PodShape& shape, const Node& node) {
  return std::all_of(shape.required.begin(), shape.required.end(),
                     [&](const NodeSelector& selector) { return takes(selector, node); });
}

// A node counts for a constraint if it has the keys of all the pod's constraints, and as its policies say.
bool counts_for(const PodShape& shape, const SpreadConstraint& constraint, const Node& node) {
  if (node.name.empty()) return false;
  for (const SpreadConstraint& other : shape.spread)
    if (other.is_required && !label_of(node, other.topology_key)) return false;
  if (constraint.honors_node_affinity && !selects(shape, node)) return false;
  return !constraint.honors_taints || !first_untolerated(shape, node);
}

bool selected_by_all(const std::vector<AffinityTerm>& terms, const Someone& who) {
  return std::all_of(terms.begin(), terms.end(),
                     [&](const AffinityTerm& term) { return term.selects(who.shape->ns, *who.labels); });
}

}  // namespace

std::string node_objection(const PodShape& shape, const Node& node) {
  if (node.traits->is_unschedulable && !tolerates(shape, {"node.kubernetes.io/unschedulable"})) return "it is cordoned";
  if (const Taint* taint = first_untolerated(shape, node)) return "taint " + taint->key;
  if (!selects(shape, node)) return "node selector or affinity";
  for (const PlaceLimit& limit : shape.limits)
    if (!takes(limit.nodes, node)) return limit.reason;
  return {};
}

void Crowd::move(const Someone& who, std::int64_t sign) {
  moves_.emplace_back(who, sign);
  for (auto& [key, counted] : tallies_) count(key, counted, who, sign);
  if (!who.shape->anti_affinity.empty()) holders_.insert(who.shape);
  for (const HostPort& port : who.shape->ports) {
    std::vector<HostPort>& taken = ports_[who.node];
    if (sign > 0) {
      taken.push_back(port);
    } else if (const auto at = std::find(taken.begin(), taken.end(), port); at != taken.end()) {
      taken.erase(at);
    }
  }
}

void Crowd::count(const Key& key, Tally& tally, const Someone& who, std::int64_t sign) const {
  const auto add_to = [&](const std::string& topology_key) {
    if (const std::string* domain = label_of(snapshot_.nodes[who.node], topology_key)) {
      tally.domains[*domain] += sign;
      tally.all += sign;
    }
  };
  switch (key.what) {
    case What::kAffinity:
      // Only pods that are what all terms ask for count for any of them.
      if (selected_by_all(key.shape->affinity, who)) add_to(key.shape->affinity[key.index].topology_key);
      return;
    case What::kAntiAffinity: {
      const AffinityTerm& term = key.shape->anti_affinity[key.index];
      if (term.selects(who.shape->ns, *who.labels)) add_to(term.topology_key);
      return;
    }
    case What::kHolders:
      if (who.shape == key.shape) add_to(key.shape->anti_affinity[key.index].topology_key);
      return;
    case What::kSpread: {
      const SpreadConstraint& constraint = key.shape->spread[key.index];
      if (!who.is_terminating && tally.eligible[who.node] && who.shape->ns == key.shape->ns &&
          constraint.pods.matches(*who.labels))
        add_to(constraint.topology_key);
      return;
    }
  }
}

const Crowd::Tally& Crowd::tally(const PodShape& shape, What what, std::size_t index) {
  const Key key{&shape, what, index};
  const auto [at, is_new] = tallies_.try_emplace(key);
  Tally& tally = at->second;
  if (!is_new) return tally;
  if (what == What::kSpread) {
    const SpreadConstraint& constraint = shape.spread[index];
    for (const Node& node : snapshot_.nodes) {
      tally.eligible.push_back(counts_for(shape, constraint, node));
      if (tally.eligible.back()) tally.domains[*label_of(node, constraint.topology_key)];
    }
  }
  for (const auto& [who, sign] : moves_) count(key, tally, who, sign);
  return tally;
}

// Requires: the node has a label of this key.
std::int64_t Crowd::near(const PodShape& shape, What what, std::size_t index, const std::string& key, NodeId node) {
  const Tally& counted = tally(shape, what, index);
  const auto at = counted.domains.find(*label_of(snapshot_.nodes[node], key));
  return at == counted.domains.end() ? 0 : at->second;
}

std::string Crowd::port_objection(const Someone& who) const {
  const auto at = ports_.find(who.node);
  if (who.shape->ports.empty() || at == ports_.end()) return {};
  for (const HostPort& port : who.shape->ports)
    for (const HostPort& taken : at->second)
      if (port.collides_with(taken)) return "port " + std::to_string(port.port) + " is taken";
  return {};
}

std::string Crowd::affinity_objection(const Someone& who) {
  const auto& terms = who.shape->affinity;
  bool has_company = true;
  bool has_any = false;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (!label_of(snapshot_.nodes[who.node], terms[i].topology_key)) return "affinity: no " + terms[i].topology_key;
    has_company = has_company && near(*who.shape, What::kAffinity, i, terms[i].topology_key, who.node) > 0;
    has_any = has_any || tally(*who.shape, What::kAffinity, i).all > 0;
  }
  // The first of those who want to be together cannot find anybody.
  if (has_company || (!has_any && selected_by_all(terms, who))) return {};
  return "affinity";
}

std::string Crowd::anti_affinity_objection(const Someone& who) {
  const Node& node = snapshot_.nodes[who.node];
  const auto& terms = who.shape->anti_affinity;
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (label_of(node, terms[i].topology_key) &&
        near(*who.shape, What::kAntiAffinity, i, terms[i].topology_key, who.node) > 0)
      return "anti-affinity";
  for (const PodShape* const holder : holders_)
    for (std::size_t i = 0; i < holder->anti_affinity.size(); ++i) {
      const AffinityTerm& term = holder->anti_affinity[i];
      if (term.selects(who.shape->ns, *who.labels) && label_of(node, term.topology_key) &&
          near(*holder, What::kHolders, i, term.topology_key, who.node) > 0)
        return "anti-affinity of somebody there";
    }
  return {};
}

std::string Crowd::spread_objection(const Someone& who) {
  for (std::size_t i = 0; i < who.shape->spread.size(); ++i) {
    const SpreadConstraint& constraint = who.shape->spread[i];
    if (!constraint.is_required) continue;
    if (!label_of(snapshot_.nodes[who.node], constraint.topology_key)) return "spread: no " + constraint.topology_key;
    const Tally& counted = tally(*who.shape, What::kSpread, i);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const auto& [domain, number] : counted.domains) least = std::min(least, number);
    if (counted.domains.empty() || static_cast<std::int64_t>(counted.domains.size()) < constraint.min_domains)
      least = 0;
    const std::int64_t itself = constraint.pods.matches(*who.labels) ? 1 : 0;
    if (near(*who.shape, What::kSpread, i, constraint.topology_key, who.node) + itself - least > constraint.max_skew)
      return "spread over " + constraint.topology_key;
  }
  return {};
}

std::string Crowd::objection(const Someone& who) {
  std::string objection = port_objection(who);
  if (objection.empty() && !who.shape->affinity.empty()) objection = affinity_objection(who);
  if (objection.empty()) objection = anti_affinity_objection(who);
  if (objection.empty()) objection = spread_objection(who);
  return objection;
}

}  // namespace gangway::planning::verifying
