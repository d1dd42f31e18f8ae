// FlowQueue: which request may run now, which waits, which is sent away. Two lanes with seats of their own, so that
// nothing that users do can take the seats of leases, node status and Gangway's own controllers; within a lane users
// take turns, so that a flood of one user's requests delays their own requests and nobody else's for longer than one
// turn.
//
//   admit ──► seat free ────────────────► running ──► release ──► the seat goes to the next user's oldest request
//         └─► lane full ──► queued ───────────────────────────────┘
//                       └─► queue full ──► rejected: the newcomer, or the newest request of the user who waits with the
//                       most
//
// A pure data structure: no clock, no thread. FlowControl puts a lock and loops around it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/auth/attributes.h"

namespace gangway::apiserver {

enum class FlowLane : std::uint8_t {
  kExempt,    // health: never waits
  kSystem,    // nodes, Gangway's own controllers, administrators
  kWorkload,  // everybody else
};
FlowLane lane_of(const Attributes& attributes);

class FlowQueue {
 public:
  struct Limits {
    std::size_t seats = 64;
    std::size_t queued = 4096;          // of the lane
    std::size_t queued_per_user = 512;  // of one user
  };
  using Request = std::uint64_t;

  FlowQueue(Limits system, Limits workload);

  enum class Verdict : std::uint8_t { kNow, kQueued, kRejected };
  struct Answer {
    Verdict verdict = Verdict::kNow;
    std::optional<Request> displaced = std::nullopt;  // a queued request that is rejected to make room
  };
  // `request` must be a number that is not in use.
  Answer admit(FlowLane lane, const std::string& user, Request request);
  // A running request is done. Returns the one that has its seat now.
  std::optional<Request> release(FlowLane lane);

  std::size_t running(FlowLane lane) const { return lanes_[index(lane)].running; }
  std::size_t queued(FlowLane lane) const { return lanes_[index(lane)].queued; }

 private:
  struct UserQueue {
    std::string user;
    std::deque<Request> requests;
  };
  struct LaneState {
    Limits limits;
    std::size_t running = 0;
    std::size_t queued = 0;
    std::list<UserQueue> turns;  // who is next; only users that wait
    std::map<std::string, std::list<UserQueue>::iterator, std::less<>> users;
  };
  static std::size_t index(FlowLane lane) { return lane == FlowLane::kSystem ? 0 : 1; }
  static Request drop_newest_of_longest(LaneState& lane);

  std::array<LaneState, 2> lanes_;
};

}  // namespace gangway::apiserver
