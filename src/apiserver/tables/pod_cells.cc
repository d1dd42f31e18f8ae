#include "apiserver/tables/pod_cells.h"

#include <optional>

#include "apiserver/tables/cells.h"
#include "apiserver/tables/cells_shared.h"

namespace gangway::apiserver::cells {
namespace {

// What `kubectl get pods` says of a pod, read off its container states:
//
//   phase → (status.reason) → init containers: the first that is not done decides ("Init:0/2", "Init:Error", …)
//         → containers: the last one with something to say decides ("CrashLoopBackOff", "Completed", …)
//         → being deleted: "Terminating", or "Unknown" when its node is lost
struct Summary {
  std::string reason;
  std::size_t containers = 0;
  std::size_t ready = 0;
  std::int64_t restarts = 0;
  std::optional<WallTime> last_restart;
};

// Init containers that keep running beside the others count with them.
bool is_sidecar(const json::Value& container) {
  return json::string_at(container, {"restartPolicy"}) == "Always";
}

bool sidecar_named(const json::Value& pod, std::string_view name) {
  for (const auto& container : array_at(pod, {"spec", "initContainers"})) {
    if (json::string_at(container, {"name"}) == name) return is_sidecar(container);
  }
  return false;
}

void count_restarts(const json::Value& status, std::int64_t& restarts, std::optional<WallTime>& last) {
  restarts += int_at(status, {"restartCount"});
  auto finished = parse_rfc3339(json::string_at(status, {"lastState", "terminated", "finishedAt"}));
  if (finished && (!last || *last < *finished)) last = *finished;
}

std::string termination_reason(const json::Value& terminated) {
  auto reason = text_at(terminated, {"reason"});
  if (!reason.empty()) return reason;
  auto signal = int_at(terminated, {"signal"});
  return signal != 0 ? fmt::format("Signal:{}", signal) : fmt::format("ExitCode:{}", int_at(terminated, {"exitCode"}));
}

// True when an init container holds the pod up; `summary.reason` then says how.
bool summarize_init(const json::Value& pod, Summary& summary) {
  std::size_t index = 0;
  auto total = array_at(pod, {"spec", "initContainers"}).size();
  std::int64_t init_restarts = 0;
  std::optional<WallTime> init_last;
  for (const auto& status : array_at(pod, {"status", "initContainerStatuses"})) {
    count_restarts(status, init_restarts, init_last);
    bool sidecar = sidecar_named(pod, json::string_at(status, {"name"}));
    if (sidecar) count_restarts(status, summary.restarts, summary.last_restart);
    ++index;
    const auto* terminated = json::find(status, {"state", "terminated"});
    const auto* waiting = json::find(status, {"state", "waiting"});
    if (terminated && int_at(*terminated, {"exitCode"}, 1) == 0) continue;
    if (sidecar && bool_at(status, {"started"})) {
      if (bool_at(status, {"ready"})) ++summary.ready;
      continue;
    }
    if (terminated) {
      summary.reason = "Init:" + termination_reason(*terminated);
    } else if (waiting && !json::string_at(*waiting, {"reason"}).empty() &&
               json::string_at(*waiting, {"reason"}) != "PodInitializing") {
      summary.reason = "Init:" + text_at(*waiting, {"reason"});
    } else {
      summary.reason = fmt::format("Init:{}/{}", index - 1, total);
    }
    summary.restarts = init_restarts;
    summary.last_restart = init_last;
    return true;
  }
  return false;
}

bool has_true_condition(const json::Value& pod, std::string_view type) {
  for (const auto& condition : array_at(pod, {"status", "conditions"})) {
    if (json::string_at(condition, {"type"}) == type) return json::string_at(condition, {"status"}) == "True";
  }
  return false;
}

void summarize_containers(const json::Value& pod, Summary& summary) {
  bool running = false;
  const auto& statuses = array_at(pod, {"status", "containerStatuses"});
  for (auto at = statuses.rbegin(); at != statuses.rend(); ++at) {
    const auto& status = *at;
    count_restarts(status, summary.restarts, summary.last_restart);
    const auto* waiting = json::find(status, {"state", "waiting"});
    const auto* terminated = json::find(status, {"state", "terminated"});
    if (waiting && !json::string_at(*waiting, {"reason"}).empty()) {
      summary.reason = text_at(*waiting, {"reason"});
    } else if (terminated) {
      summary.reason = termination_reason(*terminated);
    } else if (bool_at(status, {"ready"}) && json::find(status, {"state", "running"})) {
      running = true;
      ++summary.ready;
    }
  }
  if (summary.reason == "Completed" && running) {
    summary.reason = has_true_condition(pod, "Ready") ? "Running" : "NotReady";
  }
}

bool scheduling_gated(const json::Value& pod) {
  for (const auto& condition : array_at(pod, {"status", "conditions"})) {
    if (json::string_at(condition, {"type"}) == "PodScheduled")
      return json::string_at(condition, {"reason"}) == "SchedulingGated";
  }
  return false;
}

Summary summarize(const json::Value& pod) {
  Summary summary;
  summary.reason = text_at(pod, {"status", "phase"});
  if (auto reason = json::string_at(pod, {"status", "reason"}); !reason.empty()) summary.reason = reason;
  if (scheduling_gated(pod)) summary.reason = "SchedulingGated";
  summary.containers = array_at(pod, {"spec", "containers"}).size();
  for (const auto& container : array_at(pod, {"spec", "initContainers"}))
    summary.containers += is_sidecar(container) ? 1 : 0;
  if (!summarize_init(pod, summary) || has_true_condition(pod, "Initialized")) summarize_containers(pod, summary);
  auto phase = json::string_at(pod, {"status", "phase"});
  if (json::find(pod, {"metadata", "deletionTimestamp"})) {
    if (json::string_at(pod, {"status", "reason"}) == "NodeLost") {
      summary.reason = "Unknown";
    } else if (phase != "Succeeded" && phase != "Failed") {
      summary.reason = "Terminating";
    }
  }
  return summary;
}

}  // namespace

json::Value pod_ready(const json::Value& pod, WallTime) {
  auto summary = summarize(pod);
  return json::Value(fmt::format("{}/{}", summary.ready, summary.containers));
}

json::Value pod_status(const json::Value& pod, WallTime) {
  return json::Value(summarize(pod).reason);
}

json::Value pod_restarts(const json::Value& pod, WallTime now) {
  auto summary = summarize(pod);
  if (summary.restarts == 0 || !summary.last_restart) return json::Value(std::to_string(summary.restarts));
  return json::Value(fmt::format("{} ({} ago)", summary.restarts, human_duration(now - *summary.last_restart)));
}

json::Value pod_ip(const json::Value& pod, WallTime) {
  const auto& addresses = array_at(pod, {"status", "podIPs"});
  auto first = addresses.empty() ? text_at(pod, {"status", "podIP"}) : text_at(addresses.front(), {"ip"});
  return json::Value(or_none(std::move(first)));
}

json::Value pod_readiness_gates(const json::Value& pod, WallTime) {
  const auto& gates = array_at(pod, {"spec", "readinessGates"});
  if (gates.empty()) return json::Value(kNone);
  std::size_t passed = 0;
  for (const auto& gate : gates) passed += has_true_condition(pod, json::string_at(gate, {"conditionType"})) ? 1 : 0;
  return json::Value(fmt::format("{}/{}", passed, gates.size()));
}

json::Array pod_row_conditions(const json::Value& pod) {
  auto phase = json::string_at(pod, {"status", "phase"});
  if (phase != "Succeeded" && phase != "Failed") return {};
  auto message = phase == "Failed" ? "The pod failed." : "The pod has completed successfully.";
  return {json::Object{{"type", "Completed"}, {"status", "True"}, {"reason", phase}, {"message", message}}};
}

}  // namespace gangway::apiserver::cells
