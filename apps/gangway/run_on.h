// Runs a task on a loop and waits for its value. For start and stop only, and never from the loop itself.
#pragma once

#include <future>

#include "sys/event_loop.h"

namespace gangway {

template <class Task>
auto run_on(sys::EventLoop& loop, Task task) {
  std::promise<decltype(task())> promise;
  auto value = promise.get_future();
  loop.post([&] { promise.set_value(task()); });
  return value.get();
}

}  // namespace gangway
