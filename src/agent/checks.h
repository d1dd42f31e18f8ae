// Checks: carries out what probes and hooks say, in or against a container. One check is one answer: what it printed,
// or why it failed, in the words that users know. Belongs to the agent's loop.
#pragma once

#include <memory>
#include <string>

#include "agent/pod/pod_spec.h"
#include "agent/runtime.h"
#include "sys/event_loop.h"
#include "sys/fetch.h"

namespace gangway::agent {

class Checks {
 public:
  Checks(sys::EventLoop& loop, Runtime& runtime, sys::Fetch& fetch) : loop_(loop), runtime_(runtime), fetch_(fetch) {}

  // `address`: the pod's. A timeout of zero is none.
  void run(const Handler& handler, const ContainerId& container, const std::string& address, Duration timeout,
           sys::Completion<std::string> done);

 private:
  struct Execution;

  void exec(const ExecHandler& handler, const ContainerId& container, Duration timeout,
            sys::Completion<std::string> done);
  void http(const HttpHandler& handler, const std::string& address, Duration timeout,
            sys::Completion<std::string> done);

  sys::EventLoop& loop_;
  Runtime& runtime_;
  sys::Fetch& fetch_;
};

}  // namespace gangway::agent
