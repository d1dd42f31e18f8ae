// What the results of one container's probes mean: thresholds counted, verdicts drawn. Pure.
//
//   startup (when there is one) must succeed before the others are asked; then liveness and readiness go on for ever.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/pod/machine.h"

namespace gangway::agent {

enum class ProbeKind : std::uint8_t { kStartup, kLiveness, kReadiness };

// "Startup", "Liveness", "Readiness": as events name them.
std::string_view to_string(ProbeKind kind);
const std::optional<ProbeSpec>& probe_of(const PodContainer& container, ProbeKind kind);

class ProbeCounts {
 public:
  // Before any result: started without a startup probe, not ready with a readiness probe.
  explicit ProbeCounts(const PodContainer& container);

  // Whether this kind is to be asked now.
  bool is_wanted(const PodContainer& container, ProbeKind kind) const;
  void count(const PodContainer& container, ProbeKind kind, bool success);
  const ProbeFacts& facts() const { return facts_; }

 private:
  struct Run {
    int successes = 0;
    int failures = 0;
  };

  ProbeFacts facts_;
  Run runs_[3];
};

}  // namespace gangway::agent
