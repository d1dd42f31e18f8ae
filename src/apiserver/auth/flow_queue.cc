#include "apiserver/auth/flow_queue.h"

#include <algorithm>

#include "base/check.h"

namespace gangway::apiserver {

// Lanes are given by who asks, never by what for: a user who floods leases of their own must not be in the nodes' lane.
FlowLane lane_of(const Attributes& attributes) {
  const auto& user = attributes.user;
  if (!attributes.is_resource) {
    for (std::string_view path : {"/healthz", "/livez", "/readyz"}) {
      if (attributes.path.starts_with(path)) return FlowLane::kExempt;
    }
  }
  if (user.in_group(kNodesGroup) || user.in_group(kMastersGroup)) return FlowLane::kSystem;
  if (user.in_group("system:serviceaccounts:kube-system")) return FlowLane::kSystem;
  bool is_component = user.name.starts_with("system:kube-") || user.name.starts_with("system:gangway:");
  return is_component ? FlowLane::kSystem : FlowLane::kWorkload;
}

FlowQueue::FlowQueue(Limits system, Limits workload) {
  lanes_[0].limits = system;
  lanes_[1].limits = workload;
}

FlowQueue::Answer FlowQueue::admit(FlowLane lane_name, const std::string& user, Request request) {
  if (lane_name == FlowLane::kExempt) return {.verdict = Verdict::kNow};
  auto& lane = lanes_[index(lane_name)];
  if (lane.running < lane.limits.seats) {
    ++lane.running;
    return {.verdict = Verdict::kNow};
  }
  auto found = lane.users.find(user);
  std::size_t waiting = found == lane.users.end() ? 0 : found->second->requests.size();
  if (waiting >= lane.limits.queued_per_user) return {.verdict = Verdict::kRejected};
  Answer answer{.verdict = Verdict::kQueued};
  if (lane.queued >= lane.limits.queued) {
    // Who waits with nothing yet comes in at the cost of who waits with the most.
    if (waiting > 0 || lane.queued == 0) return {.verdict = Verdict::kRejected};
    answer.displaced = drop_newest_of_longest(lane);
    found = lane.users.end();
  }
  if (found == lane.users.end()) {
    lane.turns.push_back({.user = user, .requests = {}});
    found = lane.users.emplace(user, std::prev(lane.turns.end())).first;
  }
  found->second->requests.push_back(request);
  ++lane.queued;
  return answer;
}

FlowQueue::Request FlowQueue::drop_newest_of_longest(LaneState& lane) {
  auto longest = std::max_element(lane.turns.begin(), lane.turns.end(),
                                  [](const auto& a, const auto& b) { return a.requests.size() < b.requests.size(); });
  GW_CHECK(longest != lane.turns.end());
  auto request = longest->requests.back();
  longest->requests.pop_back();
  --lane.queued;
  if (longest->requests.empty()) {
    lane.users.erase(longest->user);
    lane.turns.erase(longest);
  }
  return request;
}

std::optional<FlowQueue::Request> FlowQueue::release(FlowLane lane_name) {
  if (lane_name == FlowLane::kExempt) return std::nullopt;
  auto& lane = lanes_[index(lane_name)];
  GW_CHECK(lane.running > 0);
  if (lane.turns.empty()) {
    --lane.running;
    return std::nullopt;
  }
  auto next = lane.turns.begin();
  auto request = next->requests.front();
  next->requests.pop_front();
  --lane.queued;
  if (next->requests.empty()) {
    lane.users.erase(next->user);
    lane.turns.erase(next);
  } else {
    lane.turns.splice(lane.turns.end(), lane.turns, next);
  }
  return request;
}

}  // namespace gangway::apiserver
