#include "agent/pod/probe_counts.h"

namespace gangway::agent {

std::string_view to_string(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kStartup:
      return "Startup";
    case ProbeKind::kLiveness:
      return "Liveness";
    case ProbeKind::kReadiness:
      break;
  }
  return "Readiness";
}

const std::optional<ProbeSpec>& probe_of(const PodContainer& container, ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kStartup:
      return container.startup;
    case ProbeKind::kLiveness:
      return container.liveness;
    case ProbeKind::kReadiness:
      break;
  }
  return container.readiness;
}

ProbeCounts::ProbeCounts(const PodContainer& container) {
  facts_.started = !container.startup;
  facts_.ready = !container.readiness;
}

bool ProbeCounts::is_wanted(const PodContainer& container, ProbeKind kind) const {
  if (!probe_of(container, kind) || !facts_.failed.empty()) return false;
  return kind == ProbeKind::kStartup ? !facts_.started : facts_.started;
}

void ProbeCounts::count(const PodContainer& container, ProbeKind kind, bool success) {
  const auto& spec = probe_of(container, kind);
  if (!spec) return;
  // A check that nobody can carry out here says nothing about a container's health, but makes it not ready.
  if (std::holds_alternative<UnknownHandler>(spec->handler)) {
    if (kind == ProbeKind::kStartup) facts_.started = true;
    return;
  }
  Run& run = runs_[static_cast<int>(kind)];
  run.successes = success ? run.successes + 1 : 0;
  run.failures = success ? 0 : run.failures + 1;
  const bool well = run.successes >= spec->successes;
  const bool ill = run.failures >= spec->failures;
  if (kind == ProbeKind::kReadiness) {
    if (well) facts_.ready = true;
    if (ill) facts_.ready = false;
    return;
  }
  if (kind == ProbeKind::kStartup && well) facts_.started = true;
  if (!ill) return;
  facts_.failed = kind == ProbeKind::kStartup ? "failed startup probe" : "failed liveness probe";
  facts_.grace = spec->grace;
}

}  // namespace gangway::agent
