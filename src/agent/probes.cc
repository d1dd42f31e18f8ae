#include "agent/probes.h"

#include <algorithm>

namespace gangway::agent {
namespace {

constexpr ProbeKind kKinds[] = {ProbeKind::kStartup, ProbeKind::kLiveness, ProbeKind::kReadiness};

bool has_probes(const PodContainer& container) {
  return container.startup || container.liveness || container.readiness;
}

bool is_to_be_asked(const PodContainer& container, const ContainerRecord& record) {
  return has_probes(container) && record.stage == ContainerRecord::Stage::kRunning && !record.stop &&
         (!container.post_start || record.hook_done);
}

}  // namespace

Probes::Probes(sys::EventLoop& loop, Checks& checks, OnFacts on_facts, OnFailure on_failure)
    : loop_(loop), checks_(checks), on_facts_(std::move(on_facts)), on_failure_(std::move(on_failure)) {}

Probes::~Probes() {
  while (!watched_.empty()) unwatch(watched_.begin());
}

void Probes::tend(const PodSpec& spec, const PodRecord& record) {
  const bool over = record.ending.has_value();
  for (const ContainerRecord& container : record.containers) {
    const PodContainer* own = spec.find(container.name);
    if (own == nullptr || !has_probes(*own)) continue;
    const ContainerId id{record.pod.uid, container.name, container.attempt};
    // Runs before this one are over.
    auto at = watched_.lower_bound({record.pod.uid, container.name, 0});
    while (at != watched_.end() && at->first.pod_uid == id.pod_uid && at->first.container == id.container) {
      const auto next = std::next(at);
      if (at->first != id || over || !is_to_be_asked(*own, container)) unwatch(at);
      at = next;
    }
    if (!over && is_to_be_asked(*own, container)) watch(id, *own, container, record);
  }
}

void Probes::forget(const std::string& pod_uid) {
  auto at = watched_.lower_bound({pod_uid, "", 0});
  while (at != watched_.end() && at->first.pod_uid == pod_uid) unwatch(at++);
}

void Probes::watch(const ContainerId& id, const PodContainer& container, const ContainerRecord& record,
                   const PodRecord& pod) {
  const auto [at, added] = watched_.try_emplace(id, container);
  if (!added) return;
  Watched& watched = at->second;
  watched.address = pod.addresses.empty() ? std::string() : pod.addresses.front();
  watched.started_at = record.started_at;
  on_facts_(id, watched.counts.facts());
  for (const ProbeKind kind : kKinds) plan(id, watched, kind, true);
}

void Probes::unwatch(std::map<ContainerId, Watched>::iterator at) {
  for (const sys::TimerId timer : at->second.timers) loop_.cancel(timer);
  watched_.erase(at);
}

void Probes::plan(const ContainerId& id, Watched& watched, ProbeKind kind, bool first) {
  const int index = static_cast<int>(kind);
  if (!watched.counts.is_wanted(watched.container, kind) || watched.under_way[index]) return;
  const ProbeSpec& spec = *probe_of(watched.container, kind);
  Duration delay = spec.period;
  if (first) {
    const WallTime due = watched.started_at + spec.initial_delay;
    delay = std::max(Duration::zero(), due - loop_.clock().wall());
  }
  loop_.cancel(watched.timers[index]);
  watched.timers[index] = loop_.run_after(delay, [this, id, kind] { ask(id, kind); });
}

void Probes::ask(const ContainerId& id, ProbeKind kind) {
  const auto at = watched_.find(id);
  if (at == watched_.end()) return;
  Watched& watched = at->second;
  const ProbeSpec& spec = *probe_of(watched.container, kind);
  watched.timers[static_cast<int>(kind)] = sys::TimerId::kNone;
  watched.under_way[static_cast<int>(kind)] = true;
  checks_.run(spec.handler, id, watched.address, spec.timeout,
              [this, id, kind, life = std::weak_ptr(life_)](const Result<std::string>& answer) {
                if (!life.expired()) answered(id, kind, answer);
              });
}

void Probes::answered(const ContainerId& id, ProbeKind kind, const Result<std::string>& answer) {
  const auto at = watched_.find(id);
  if (at == watched_.end()) return;
  Watched& watched = at->second;
  watched.under_way[static_cast<int>(kind)] = false;
  const ProbeFacts before = watched.counts.facts();
  watched.counts.count(watched.container, kind, answer.has_value());
  const ProbeFacts& now = watched.counts.facts();
  if (!before.started && now.started) {
    // Those that had to wait for it begin, by their own delays.
    for (const ProbeKind other : kKinds) plan(id, watched, other, true);
  } else {
    plan(id, watched, kind, false);
  }
  const bool changed = before.started != now.started || before.ready != now.ready || before.failed != now.failed;
  const ProbeFacts facts = now;
  if (!answer) on_failure_(id, kind, answer.error().message);
  if (changed) on_facts_(id, facts);
}

}  // namespace gangway::agent
