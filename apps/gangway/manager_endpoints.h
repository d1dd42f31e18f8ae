// ManagerEndpoints: what a manager says of itself over HTTP. /healthz, /readyz, /metrics; nothing of the cluster.
//
// Answers on the loop of what it tells about, and only there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scheduler/candidate.h"
#include "sys/http.h"
#include "sys/metrics.h"

namespace gangway {

class ManagerEndpoints final : public sys::HttpHandler {
 public:
  // `unready` says what is in the way; none: it is ready.
  ManagerEndpoints(const scheduler::Candidate& candidate, std::function<std::vector<std::string>()> unready);

  void handle(sys::HttpRequest request, sys::EventLoop& here, sys::Respond respond) override;

 private:
  void measure();

  const scheduler::Candidate& candidate_;
  std::function<std::vector<std::string>()> unready_;
  sys::Metrics metrics_;
};

}  // namespace gangway
