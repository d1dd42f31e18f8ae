// SshKeyProbe: answers the questions of MPIJobs for a new key. The seam between a pure reconciler and randomness. On
// the loop that it is given.
#pragma once

#include <utility>

#include "client/action_runner.h"
#include "sys/event_loop.h"
#include "sys/ssh_keys.h"

namespace gangway::jobs {

class SshKeyProbe final : public client::ProbeRunner {
 public:
  SshKeyProbe(sys::EventLoop& loop, sys::NewSshKey make) : loop_(loop), make_(std::move(make)) {}
  void ask(const client::Probe& probe, sys::Completion<json::Value> done) override;

 private:
  sys::EventLoop& loop_;
  const sys::NewSshKey make_;
};

}  // namespace gangway::jobs
