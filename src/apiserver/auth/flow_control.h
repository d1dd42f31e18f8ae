// FlowControl: bounded concurrency for requests; FlowQueue says who is next.
//
// admit() may be called from any loop; what it calls runs on the loop that asked. A slot may be let go on any thread.
#pragma once

#include <functional>
#include <memory>

#include "apiserver/auth/flow_queue.h"
#include "base/result.h"
#include "sys/event_loop.h"

namespace gangway::apiserver {

class FlowControl {
 public:
  // A seat. Whoever lets go of the last copy gives it to the next request. Long streams let go once they have started.
  class Slot;
  using Admission = Result<std::shared_ptr<Slot>>;  // or kTooManyRequests, with Retry-After

  FlowControl();
  FlowControl(FlowQueue::Limits system, FlowQueue::Limits workload);
  ~FlowControl();
  FlowControl(const FlowControl&) = delete;
  FlowControl& operator=(const FlowControl&) = delete;

  // Calls `done` once: at once and from inside when there is a seat or no hope of one, by post to `here` otherwise.
  void admit(const Attributes& attributes, sys::EventLoop& here, std::function<void(Admission)> done);

  struct Status {
    std::size_t running = 0;
    std::size_t queued = 0;
  };
  Status status(FlowLane lane) const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // slots may outlive us
};

}  // namespace gangway::apiserver
