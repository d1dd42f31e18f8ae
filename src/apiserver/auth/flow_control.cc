#include "apiserver/auth/flow_control.h"

#include <mutex>
#include <unordered_map>

namespace gangway::apiserver {
namespace {

constexpr int kRetryAfterSeconds = 1;

Error too_many_requests() {
  return Error{.reason = Reason::kTooManyRequests,
               .message = "too many requests, please try again later",
               .subject = {},
               .causes = {},
               .retry_after_seconds = kRetryAfterSeconds};
}

}  // namespace

struct FlowControl::State : std::enable_shared_from_this<FlowControl::State> {
  struct Waiter {
    FlowLane lane;
    sys::EventLoop* here;
    std::function<void(Admission)> done;
  };

  State(FlowQueue::Limits system, FlowQueue::Limits workload) : queue(system, workload) {}

  void release(FlowLane lane);

  std::mutex mutex;
  FlowQueue queue;
  FlowQueue::Request last = 0;
  std::unordered_map<FlowQueue::Request, Waiter> waiters;
};

class FlowControl::Slot {
 public:
  Slot(std::shared_ptr<State> state, FlowLane lane) : state_(std::move(state)), lane_(lane) {}
  ~Slot() { state_->release(lane_); }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

 private:
  std::shared_ptr<State> state_;
  FlowLane lane_;
};

void FlowControl::State::release(FlowLane lane) {
  Waiter next{};
  {
    std::lock_guard lock(mutex);
    auto request = queue.release(lane);
    if (!request) return;
    auto found = waiters.find(*request);
    next = std::move(found->second);
    waiters.erase(found);
  }
  auto slot = std::make_shared<Slot>(shared_from_this(), next.lane);
  auto loop_lane = next.lane == FlowLane::kSystem ? sys::Lane::kSystem : sys::Lane::kNormal;
  next.here->post(loop_lane, [done = std::move(next.done), slot = std::move(slot)] { done(slot); });
}

FlowControl::FlowControl()
    : FlowControl({.seats = 32, .queued = 4096, .queued_per_user = 1024},
                  {.seats = 128, .queued = 4096, .queued_per_user = 1024}) {}

FlowControl::FlowControl(FlowQueue::Limits system, FlowQueue::Limits workload)
    : state_(std::make_shared<State>(system, workload)) {}

FlowControl::~FlowControl() = default;

void FlowControl::admit(const Attributes& attributes, sys::EventLoop& here, std::function<void(Admission)> done) {
  auto lane = lane_of(attributes);
  FlowQueue::Answer answer;
  std::optional<State::Waiter> displaced;
  {
    std::lock_guard lock(state_->mutex);
    auto request = ++state_->last;
    answer = state_->queue.admit(lane, attributes.user.name, request);
    if (answer.verdict == FlowQueue::Verdict::kQueued)
      state_->waiters.emplace(request, State::Waiter{lane, &here, done});
    if (answer.displaced) {
      auto found = state_->waiters.find(*answer.displaced);
      displaced = std::move(found->second);
      state_->waiters.erase(found);
    }
  }
  if (displaced) displaced->here->post([refuse = std::move(displaced->done)] { refuse(too_many_requests()); });
  if (answer.verdict == FlowQueue::Verdict::kRejected) return done(too_many_requests());
  if (answer.verdict == FlowQueue::Verdict::kNow) return done(std::make_shared<Slot>(state_, lane));
}

FlowControl::Status FlowControl::status(FlowLane lane) const {
  std::lock_guard lock(state_->mutex);
  return {.running = state_->queue.running(lane), .queued = state_->queue.queued(lane)};
}

}  // namespace gangway::apiserver
