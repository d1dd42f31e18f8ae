// What a record becomes after a restart of its agent.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "agent/pod/pod_record.h"
#include "agent/pod/restart.h"
#include "json/access.h"

namespace gangway::agent {
namespace {

using Stage = ContainerRecord::Stage;

constexpr int kKilled = 137;

void end_as_lost(ContainerRecord& container, WallTime now) {
  Exit exit;
  exit.code = kKilled;
  exit.lost = true;
  exit.started_at = container.started_at;
  exit.at = now;
  container.stage = Stage::kExited;
  container.removed = false;
  container.end = RunEnd{container.attempt, std::move(exit), {}};
}

void adopt_container(ContainerRecord& container, const FoundContainer* found, WallTime now) {
  if (!container.is_alive()) return;
  if (found == nullptr) {
    // A start that was written down and never happened leaves only its number behind.
    if (container.stage == Stage::kStarting) return next_attempt(container, false);
    return end_as_lost(container, now);
  }
  if (found->running) {
    container.stage = Stage::kRunning;
    container.started_at = found->running->at;
    container.pid = found->running->pid;
    return;
  }
  container.stage = Stage::kExited;
  container.removed = false;
  container.end = RunEnd{container.attempt, found->exited.value_or(Exit{}), {}};
}

// ── from a status ──

WallTime time_at(const json::Value& root, json::Path path) {
  return parse_rfc3339(json::string_at(root, path)).value_or(WallTime());
}

RunEnd end_from(const json::Value& terminated, unsigned attempt) {
  RunEnd end;
  end.attempt = attempt;
  end.exit.code = static_cast<int>(json::int_at(terminated, {"exitCode"}));
  end.exit.signal = static_cast<int>(json::int_at(terminated, {"signal"}));
  end.exit.started_at = time_at(terminated, {"startedAt"});
  end.exit.at = time_at(terminated, {"finishedAt"});
  end.exit.message = std::string(json::string_at(terminated, {"message"}));
  end.exit.lost = json::string_at(terminated, {"reason"}) == "ContainerStatusUnknown";
  return end;
}

// The number at the end of "simulated://uid/container/3", when it is this pod's.
std::optional<unsigned> attempt_of(std::string_view id, std::string_view scheme, const std::string& uid) {
  const std::string prefix = fmt::format("{}://{}/", scheme, uid);
  const std::size_t slash = id.rfind('/');
  if (!id.starts_with(prefix) || slash == std::string_view::npos) return std::nullopt;
  unsigned attempt = 0;
  const auto digits = id.substr(slash + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), attempt);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional(attempt) : std::nullopt;
}

// The delays are not in a status, but their number is: 10 s after the first restart, doubled with each one more.
Duration backoff_after(unsigned restarts) {
  Duration backoff{};
  for (unsigned i = 0; i < std::min(restarts, 16U); ++i)
    backoff = backoff == Duration::zero() ? kFirstBackoff : std::min(2 * backoff, kLongestBackoff);
  return backoff;
}

ContainerRecord container_from(const json::Value& status, const PodIdentity& pod, std::string_view scheme) {
  ContainerRecord container;
  container.name = std::string(json::string_at(status, {"name"}));
  container.restarts = static_cast<unsigned>(json::int_at(status, {"restartCount"}));
  container.image_id = std::string(json::string_at(status, {"imageID"}));
  container.generation = 1;
  container.backoff = backoff_after(container.restarts);
  const auto attempt = attempt_of(json::string_at(status, {"containerID"}), scheme, pod.uid);
  if (!attempt) return container;
  container.attempt = *attempt;
  if (const json::Value* last = json::find(status, {"lastState", "terminated"}))
    container.last = end_from(*last, attempt_of(json::string_at(*last, {"containerID"}), scheme, pod.uid).value_or(0));
  if (const json::Value* running = json::find(status, {"state", "running"})) {
    container.stage = Stage::kRunning;
    container.started_at = time_at(*running, {"startedAt"});
  } else if (const json::Value* terminated = json::find(status, {"state", "terminated"})) {
    container.stage = Stage::kExited;
    container.removed = true;
    container.end = end_from(*terminated, *attempt);
  } else if (container.last && container.last->attempt == *attempt) {
    // In back-off: what is shown as the last state is this attempt's end.
    container.stage = Stage::kExited;
    container.removed = true;
    container.end = std::exchange(container.last, std::nullopt);
  }
  return container;
}

std::optional<Mark> mark_from(const json::Value& pod, std::string_view type) {
  for (const json::Value& condition : json::array_at(pod, {"status", "conditions"})) {
    if (json::string_at(condition, {"type"}) != type) continue;
    return Mark{json::string_at(condition, {"status"}) == "True", time_at(condition, {"lastTransitionTime"})};
  }
  return std::nullopt;
}

}  // namespace

std::string container_id_text(std::string_view scheme, const ContainerId& id) {
  return fmt::format("{}://{}/{}/{}", scheme, id.pod_uid, id.container, id.attempt);
}

void adopt(PodRecord& record, const Found& found, WallTime now) {
  for (ContainerRecord& container : record.containers) {
    const ContainerId id{record.pod.uid, container.name, container.attempt};
    const auto at = std::find_if(found.containers.begin(), found.containers.end(),
                                 [&](const FoundContainer& each) { return each.id == id; });
    adopt_container(container, at == found.containers.end() ? nullptr : &*at, now);
  }
  const auto sandbox = found.sandboxes.find(record.pod.uid);
  if (sandbox != found.sandboxes.end()) {
    record.has_sandbox = true;
    record.sandbox_ready = true;
    record.addresses = sandbox->second.addresses;
  } else if (record.sandbox_ready) {
    // Removing what is gone is a success; making it anew is another generation.
    record.sandbox_ready = false;
    record.has_sandbox = false;
  }
}

std::optional<PodRecord> record_from_status(const json::Value& pod, PodIdentity identity, std::string_view scheme) {
  const auto& statuses = json::array_at(pod, {"status", "containerStatuses"});
  const auto started = parse_rfc3339(json::string_at(pod, {"status", "startTime"}));
  if (statuses.empty() || !started) return std::nullopt;
  PodRecord record;
  record.pod = std::move(identity);
  record.judged = true;
  record.started_at = *started;
  record.grace = std::chrono::seconds(json::int_at(pod, {"spec", "terminationGracePeriodSeconds"}, 30));
  record.requests = api::pod_requests(pod);
  record.requests["pods"] = 1;
  for (std::string_view list : {"initContainerStatuses", "containerStatuses"}) {
    for (const json::Value& status : json::array_at(pod, {"status", list}))
      record.containers.push_back(container_from(status, record.pod, scheme));
  }
  record.sandbox_mark = mark_from(pod, "PodReadyToStartContainers");
  record.initialized = mark_from(pod, "Initialized");
  record.containers_ready = mark_from(pod, "ContainersReady");
  record.ready = mark_from(pod, "Ready");
  record.sandbox_ready = record.sandbox_mark && record.sandbox_mark->is;
  record.has_sandbox = record.sandbox_ready;
  record.generation = record.sandbox_ready ? 1 : 0;
  if (const auto address = json::string_at(pod, {"status", "podIP"}); !address.empty())
    record.addresses.emplace_back(address);
  return record;
}

}  // namespace gangway::agent
