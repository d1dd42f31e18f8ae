#include "planning/placement/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "planning/placement/judge.h"

namespace gangway::planning {
namespace {

// Lists of blockers are for people.
constexpr std::size_t kBlockersNamed = 16;

constexpr const char* kNotHelpful = "Preemption is not helpful for scheduling";
constexpr const char* kNoVictims = "No preemption victims found for incoming pod";

struct Shortage {
  Request lacks;         // resources, and how much of each
  bool is_kept = false;  // it would fit, were the room not kept for a reservation
};

Shortage shortage_on(const Board& board, const Claimant& claimant, NodeId node) {
  Shortage shortage;
  for (const auto& [id, amount] : claimant.shape->request) {
    const std::int64_t left = board.ledger().left(node, id);
    if (left < amount) shortage.lacks.emplace_back(id, amount - left);
  }
  shortage.is_kept = shortage.lacks.empty() && !board.ledger().fits(node, *claimant.shape, claimant.ends);
  return shortage;
}

// The reasons of one node that admits the shape: every resource that is short, or one that is not about room. In the
// order of kube-scheduler's filters, where the first that objects is heard.
std::vector<std::string> reasons_on(Board& board, const Claimant& claimant, NodeId node, const Shortage& shortage) {
  if (!board.has_free_ports(*claimant.shape, node))
    return {"node(s) didn't have free ports for the requested pod ports"};
  std::vector<std::string> reasons;
  for (const auto& [id, amount] : shortage.lacks)
    reasons.push_back(id == kPods ? "Too many pods" : "Insufficient " + board.snapshot().resources.name_of(id));
  if (shortage.is_kept) reasons.emplace_back("node(s) had room that is kept for a gang that waits longer");
  if (!reasons.empty()) return reasons;
  std::string reason = board.topology().why_not(*claimant.shape, *claimant.labels, node);
  if (!reason.empty()) reasons.push_back(std::move(reason));
  return reasons;
}

bool nobody_can_help(const std::vector<std::string>& reasons) {
  return std::any_of(reasons.begin(), reasons.end(),
                     [](const std::string& reason) { return reason == kNoCompany || reason == kNoTopologyLabel; });
}

// Why evicting from a node that admits the shape is no way out: what is still in the way when all have gone who may be
// told to. Among them are also those whose room is promised to somebody, and not those that are protected.
std::vector<std::string> why_not_evict(Board& board, const Victims& victims, const Claimant& claimant,
                                       std::int64_t priority, NodeId node) {
  const Board::Trial trial(board);
  bool has_any = false;
  for (const PodId pod : victims.by_node()[node]) {
    if (victims.snapshot().pods[pod].priority >= priority) continue;
    const bool may_evict = victims.may_evict(pod, priority);
    has_any |= may_evict || victims.is_claimed(pod);
    if (may_evict) board.remove(pod);
  }
  std::vector<std::string> reasons;
  if (has_any) reasons = reasons_on(board, claimant, node, shortage_on(board, claimant, node));
  if (reasons.empty()) reasons.emplace_back(kNoVictims);
  return reasons;
}

std::string sentence(std::size_t nodes, const std::map<std::string, std::int64_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : counts) parts.push_back(fmt::format("{} {}", count, reason));
  std::sort(parts.begin(), parts.end());
  return fmt::format("0/{} nodes are available: {}.", nodes, fmt::join(parts, ", "));
}

// Less is nearer: few resources short, and few of them.
std::tuple<std::size_t, std::int64_t, std::uint32_t> distance(const Board& board, const Shortage& shortage,
                                                              NodeId node) {
  std::int64_t most = 0;
  for (const auto& [id, amount] : shortage.lacks) {
    const std::int64_t whole = std::max<std::int64_t>(1, amount_of(board.snapshot().nodes[node].allocatable, id));
    most = std::max(most, amount * 1000 / whole);
  }
  return {shortage.lacks.size(), most, board.order().rank(node)};
}

}  // namespace

void explain_refusal(Board& board, const Victims& victims, const Claimant& claimant,
                     const std::optional<std::int64_t>& priority, Verdict& verdict, const char* why_never) {
  const Snapshot& snapshot = board.snapshot();
  const Judgement& judgement = board.judge(*claimant.shape);
  std::map<std::string, std::int64_t> counts = judgement.refusals;
  std::map<std::string, std::int64_t> preemption;
  for (const auto& [reason, count] : judgement.refusals) preemption[kNotHelpful] += count;
  std::optional<std::tuple<std::size_t, std::int64_t, std::uint32_t>> nearest;
  for (const NodeId node : board.admitted(*claimant.shape)) {
    const Shortage shortage = shortage_on(board, claimant, node);
    const std::vector<std::string> reasons = reasons_on(board, claimant, node, shortage);
    for (const std::string& reason : reasons) ++counts[reason];
    if (nobody_can_help(reasons)) {
      ++preemption[kNotHelpful];
    } else if (priority) {
      for (const std::string& reason : why_not_evict(board, victims, claimant, *priority, node)) ++preemption[reason];
    }
    const auto now = distance(board, shortage, node);
    if (!nearest || now < *nearest) {
      nearest = now;
      verdict.nearest = node;
      verdict.short_by = shortage.lacks;
    }
  }
  if (board.order().size() == 0) {
    verdict.message = "no nodes available to schedule pods";
    return;
  }
  verdict.message = sentence(board.order().size(), counts) + " preemption: ";
  verdict.message += priority ? sentence(board.order().size(), preemption) : why_never;

  std::set<GangId> named;
  if (verdict.nearest == kNone) return;
  for (const PodId pod : victims.by_node()[verdict.nearest]) {
    const GangId gang = snapshot.pods[pod].gang;
    if (gang == kNone || gang == verdict.gang || !named.insert(gang).second) continue;
    verdict.blockers.push_back(gang);
    if (!priority || priority_of(snapshot, snapshot.gangs[gang]) >= *priority) continue;
    if (std::string why = victims.protection(snapshot.gangs[gang], *priority); !why.empty())
      verdict.protections.push_back(std::move(why));
  }
  std::sort(verdict.blockers.begin(), verdict.blockers.end(), [&](GangId a, GangId b) {
    return std::make_tuple(priority_of(snapshot, snapshot.gangs[a]), order_name(snapshot.gangs[a])) <
           std::make_tuple(priority_of(snapshot, snapshot.gangs[b]), order_name(snapshot.gangs[b]));
  });
  if (verdict.blockers.size() > kBlockersNamed) verdict.blockers.resize(kBlockersNamed);
  std::sort(verdict.protections.begin(), verdict.protections.end());
}

}  // namespace gangway::planning
