#include "agent/pod/status.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/pod/restart.h"
#include "base/quote.h"

namespace gangway::agent {
namespace {

using Stage = ContainerRecord::Stage;

const ProbeFacts* probes_of(const ContainerRecord& record, const PodFacts& facts) {
  const auto at = facts.containers.find(record.name);
  return at != facts.containers.end() && at->second.probes.attempt == record.attempt ? &at->second.probes : nullptr;
}

// ── conditions ──

struct Unready {
  std::vector<std::string> uninitialized;
  std::vector<std::string> unready;
};

bool is_initialized(const PodContainer& container, const ContainerRecord& record, const PodFacts& facts) {
  if (container.role == ContainerRole::kSidecar) return has_started(container, record, facts);
  return record.stage == Stage::kExited && record.end->exit.code == 0;
}

Unready find_unready(const PodSpec& spec, const PodRecord& record, const PodFacts& facts) {
  Unready found;
  for (const PodContainer& container : spec.containers) {
    const ContainerRecord* own = record.find(container.name);
    if (own == nullptr) continue;
    if (container.role != ContainerRole::kMain && !is_initialized(container, *own, facts))
      found.uninitialized.push_back(container.name);
    if (container.role != ContainerRole::kInit && !is_ready(container, *own, facts))
      found.unready.push_back(container.name);
  }
  return found;
}

// Which readiness gate is closed, in words; empty when all are open.
std::string closed_gates(const PodSpec& spec) {
  std::string text;
  for (const std::string& gate : spec.readiness_gates) {
    const auto at = spec.gate_conditions.find(gate);
    if (at != spec.gate_conditions.end() && at->second == "True") continue;
    if (!text.empty()) text += ", ";
    text += at == spec.gate_conditions.end()
                ? fmt::format("corresponding condition of pod readiness gate {} does not exist.", quoted(gate))
                : fmt::format("the status of pod readiness gate {} is not \"True\", but {}", quoted(gate), at->second);
  }
  return text;
}

void set_mark(std::optional<Mark>& mark, bool is, WallTime now) {
  if (!mark || mark->is != is) mark = Mark{is, now};
}

bool main_has_run(const PodSpec& spec, const PodRecord& record) {
  return std::any_of(record.containers.begin(), record.containers.end(), [&](const ContainerRecord& container) {
    const PodContainer* own = spec.find(container.name);
    return own != nullptr && own->role == ContainerRole::kMain &&
           (container.stage != Stage::kNone || container.attempt > 0);
  });
}

// ── phase ──

struct Count {
  unsigned waiting = 0;
  unsigned alive = 0;
  unsigned stopped = 0;
  unsigned succeeded = 0;
};

Count count_main(const PodSpec& spec, const PodRecord& record) {
  Count count;
  for (const ContainerRecord& container : record.containers) {
    const PodContainer* own = spec.find(container.name);
    if (own == nullptr || own->role != ContainerRole::kMain) continue;
    if (container.stage == Stage::kRunning) {
      ++count.alive;
    } else if (container.stage == Stage::kExited || container.last) {
      const RunEnd& end = container.stage == Stage::kExited ? *container.end : *container.last;
      ++count.stopped;
      if (end.exit.code == 0) ++count.succeeded;
    } else {
      ++count.waiting;
    }
  }
  return count;
}

std::string_view phase_of(const PodSpec& spec, const PodRecord& record) {
  const Count count = count_main(spec, record);
  // Nobody may take a pod's room for free before it has let go of everything.
  if (record.released) {
    const bool well =
        record.ending->reason.empty() && count.stopped > 0 && count.stopped == count.succeeded && count.waiting == 0;
    return well ? "Succeeded" : "Failed";
  }
  if (count.waiting > 0) return "Pending";
  return "Running";
}

// ── containers ──

json::Object terminated_state(const PodRecord& pod, const ContainerRecord& container, const RunEnd& end,
                              std::string_view scheme) {
  const Exit& exit = end.exit;
  json::Object state{{"exitCode", exit.code}};
  if (exit.signal != 0) state["signal"] = exit.signal;
  std::string reason = exit.code == 0 ? "Completed" : "Error";
  if (exit.out_of_memory) reason = "OOMKilled";
  if (exit.lost) reason = "ContainerStatusUnknown";
  state["reason"] = end.reason.empty() ? reason : end.reason;
  if (!exit.message.empty()) {
    state["message"] = exit.message;
  } else if (exit.lost) {
    state["message"] = "The container could not be located when the pod was terminated";
  }
  state["startedAt"] = exit.started_at == WallTime() ? json::Value(nullptr) : json::Value(to_rfc3339(exit.started_at));
  state["finishedAt"] = to_rfc3339(exit.at);
  state["containerID"] = container_id_text(scheme, {pod.pod.uid, container.name, end.attempt});
  return {{"terminated", std::move(state)}};
}

json::Object waiting_state(std::string_view reason, std::string_view message = {}) {
  json::Object state{{"reason", reason}};
  if (!message.empty()) state["message"] = message;
  return {{"waiting", std::move(state)}};
}

class ContainerReport {
 public:
  ContainerReport(const PodSpec& spec, const PodRecord& record, const PodFacts& facts, const NodeFacts& node,
                  WallTime now)
      : spec_(spec), record_(record), facts_(facts), node_(node), now_(now) {}

  json::Object of(const PodContainer& container, const ContainerRecord& own) const {
    const bool backs_off = is_backing_off(container, own);
    const std::optional<RunEnd>& last = backs_off ? own.end : own.last;
    json::Object status{
        {"name", container.name},
        {"state", state_of(own, backs_off)},
        {"lastState", last ? terminated_state(record_, own, *last, node_.runtime_scheme) : json::Object()},
        {"ready", is_ready(container, own, facts_)},
        {"restartCount", static_cast<std::int64_t>(own.restarts)},
        {"image", container.image},
        {"imageID", own.image_id}};
    if (own.stage == Stage::kRunning || own.stage == Stage::kExited)
      status["containerID"] = container_id_text(node_.runtime_scheme, {record_.pod.uid, container.name, own.attempt});
    status["started"] = has_started(container, own, facts_);
    return status;
  }

 private:
  bool is_backing_off(const PodContainer& container, const ContainerRecord& own) const {
    return own.stage == Stage::kExited && !record_.ending &&
           will_restart(spec_.restart_policy, container, own.end->exit) && restart_delay(own) > Duration::zero() &&
           now_ < restart_at(own);
  }

  json::Object state_of(const ContainerRecord& own, bool backs_off) const {
    if (backs_off) {
      return waiting_state("CrashLoopBackOff", fmt::format("back-off {} restarting failed container={} pod={}_{}({})",
                                                           go_duration(restart_delay(own)), own.name, record_.pod.name,
                                                           record_.pod.ns, record_.pod.uid));
    }
    if (own.stage == Stage::kRunning) return {{"running", json::Object{{"startedAt", to_rfc3339(own.started_at)}}}};
    if (own.stage == Stage::kExited) return terminated_state(record_, own, *own.end, node_.runtime_scheme);
    if (record_.released && record_.initialized && record_.initialized->is) return never_ran(own);
    return why_waiting(own);
  }

  // The pod has ended, and this container of it never came to be.
  json::Object never_ran(const ContainerRecord& own) const {
    RunEnd end;
    end.attempt = own.attempt;
    end.exit.code = 137;
    end.exit.lost = true;
    end.exit.at = record_.ending->since;
    json::Object state = terminated_state(record_, own, end, node_.runtime_scheme);
    state["terminated"].get_object().erase("containerID");
    return state;
  }

  json::Object why_waiting(const ContainerRecord& own) const {
    if (const auto facts = facts_.containers.find(own.name); facts != facts_.containers.end()) {
      const Trouble& start = facts->second.start;
      const Trouble& image = facts->second.image;
      if (start.is_set()) return waiting_state(start.reason, start.message);
      if (image.reason == "ErrImagePull" && now_ >= image.since + kShowPullError) {
        const PodContainer* container = spec_.find(own.name);
        return waiting_state("ImagePullBackOff",
                             fmt::format("Back-off pulling image {}: ErrImagePull: {}",
                                         quoted(container != nullptr ? container->image : ""), image.message));
      }
      if (image.is_set()) return waiting_state(image.reason, image.message);
    }
    const bool has_init = !spec_.containers.empty() && spec_.containers.front().role != ContainerRole::kMain;
    return waiting_state(has_init ? "PodInitializing" : "ContainerCreating");
  }

  const PodSpec& spec_;
  const PodRecord& record_;
  const PodFacts& facts_;
  const NodeFacts& node_;
  WallTime now_;
};

// ── the whole ──

json::Object condition(std::string_view type, const Mark& mark, std::string_view reason = {},
                       std::string_view message = {}) {
  json::Object out{{"type", type},
                   {"status", mark.is ? "True" : "False"},
                   {"lastProbeTime", nullptr},
                   {"lastTransitionTime", to_rfc3339(mark.since)}};
  // The patch merges: what is not said stays, so what is no more must be said.
  out["reason"] = reason.empty() ? json::Value(nullptr) : json::Value(reason);
  out["message"] = message.empty() ? json::Value(nullptr) : json::Value(message);
  return out;
}

json::Array conditions_of(const PodSpec& spec, const PodRecord& record, const PodFacts& facts, std::string_view phase) {
  const Unready found = find_unready(spec, record, facts);
  const auto listed = [](std::string_view what, const std::vector<std::string>& names) {
    return fmt::format("containers with {} status: [{}]", what, fmt::join(names, " "));
  };
  json::Array all;
  all.push_back(condition("PodReadyToStartContainers", *record.sandbox_mark));
  const bool completed = phase == "Succeeded";
  if (record.initialized->is) {
    all.push_back(condition("Initialized", *record.initialized, completed ? "PodCompleted" : ""));
  } else {
    all.push_back(condition("Initialized", *record.initialized, "ContainersNotInitialized",
                            listed("incomplete", found.uninitialized)));
  }
  std::string reason;
  std::string message;
  if (!record.containers_ready->is) {
    reason = completed ? "PodCompleted" : phase == "Failed" ? "PodFailed" : "ContainersNotReady";
    if (reason == "ContainersNotReady") message = listed("unready", found.unready);
  }
  std::string ready_reason = reason;
  std::string ready_message = message;
  if (reason.empty() && !record.ready->is) {
    ready_reason = "ReadinessGatesNotReady";
    ready_message = closed_gates(spec);
  }
  all.push_back(condition("Ready", *record.ready, ready_reason, ready_message));
  all.push_back(condition("ContainersReady", *record.containers_ready, reason, message));
  if (record.scheduled_since) all.push_back(condition("PodScheduled", Mark{true, *record.scheduled_since}));
  for (json::Value& reported : conditions_of(facts.report)) all.push_back(std::move(reported));
  return all;
}

// A list that is merged by address would keep those that are no more.
json::Array address_list(const std::vector<std::string>& addresses) {
  json::Array list{json::Object{{"$patch", "replace"}}};
  for (const std::string& address : addresses) list.push_back(json::Object{{"ip", address}});
  return list;
}

void add_addresses(const PodRecord& record, const NodeFacts& node, json::Object& status) {
  if (!node.address.empty()) {
    status["hostIP"] = node.address;
    status["hostIPs"] = address_list({node.address});
  }
  if (record.addresses.empty()) return;
  status["podIP"] = record.addresses.front();
  status["podIPs"] = address_list(record.addresses);
}

void add_containers(const PodSpec& spec, const PodRecord& record, const ContainerReport& report, json::Object& status) {
  json::Array init;
  std::vector<std::pair<std::string, json::Object>> others;
  for (const PodContainer& container : spec.containers) {
    const ContainerRecord* own = record.find(container.name);
    if (own == nullptr) continue;
    if (container.role == ContainerRole::kMain) {
      others.emplace_back(container.name, report.of(container, *own));
    } else {
      init.push_back(report.of(container, *own));
    }
  }
  std::sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  json::Array main;
  for (auto& [name, entry] : others) main.push_back(std::move(entry));
  if (!init.empty()) status["initContainerStatuses"] = std::move(init);
  status["containerStatuses"] = std::move(main);
}

bool covers(const json::Value* known, const json::Value& wanted);

bool covers_conditions(const json::Value* known, const json::Array& wanted) {
  if (known == nullptr || !known->is_array()) return wanted.empty();
  return std::all_of(wanted.begin(), wanted.end(), [&](const json::Value& each) {
    return std::any_of(known->get_array().begin(), known->get_array().end(), [&](const json::Value& other) {
      return json::string_at(other, {"type"}) == json::string_at(each, {"type"}) && covers(&other, each);
    });
  });
}

bool covers_list(const json::Value* known, const json::Array& wanted) {
  const bool has_directive = !wanted.empty() && !json::string_at(wanted.front(), {"$patch"}).empty();
  const std::size_t skipped = has_directive ? 1 : 0;
  if (known == nullptr || !known->is_array()) return wanted.size() == skipped;
  const json::Array& list = known->get_array();
  if (list.size() != wanted.size() - skipped) return false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!covers(&list[i], wanted[i + skipped])) return false;
  }
  return true;
}

// A member that says something by being there, even when it is empty.
bool is_state(std::string_view key) {
  return key == "running" || key == "waiting" || key == "terminated";
}

bool covers(const json::Value* known, const json::Value& wanted) {
  if (wanted.is_null()) return known == nullptr || known->is_null();
  if (wanted.is_array()) return covers_list(known, wanted.get_array());
  if (known == nullptr) return wanted.is_object() && wanted.get_object().empty();
  if (!wanted.is_object()) return json::equal(*known, wanted);
  if (!known->is_object()) return false;
  for (const auto& member : wanted.get_object()) {
    const json::Value* own = known->get_object().if_contains(member.key());
    if (own == nullptr && is_state(member.key())) return false;
    const bool conditions = member.key() == "conditions" && member.value().is_array();
    if (!(conditions ? covers_conditions(own, member.value().get_array()) : covers(own, member.value()))) return false;
  }
  // The states of a container are told by which member there is.
  return !wanted.get_object().empty() || known->get_object().empty();
}

}  // namespace

bool has_status(const json::Value& pod, const json::Object& status) {
  return covers(json::find(pod, {"status"}), status);
}

bool has_started(const PodContainer& container, const ContainerRecord& record, const PodFacts& facts) {
  if (record.stage != Stage::kRunning) return false;
  if (container.post_start && !record.hook_done) return false;
  if (!container.startup) return true;
  const ProbeFacts* probes = probes_of(record, facts);
  return probes != nullptr && probes->started;
}

bool is_ready(const PodContainer& container, const ContainerRecord& record, const PodFacts& facts) {
  if (container.role == ContainerRole::kInit) return record.stage == Stage::kExited && record.end->exit.code == 0;
  if (!has_started(container, record, facts)) return false;
  if (!container.readiness) return true;
  const ProbeFacts* probes = probes_of(record, facts);
  return probes != nullptr && probes->ready;
}

std::string go_duration(Duration duration) {
  const auto total = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  if (total < 60) return fmt::format("{}s", total);
  if (total < 3600) return fmt::format("{}m{}s", total / 60, total % 60);
  return fmt::format("{}h{}m{}s", total / 3600, total / 60 % 60, total % 60);
}

void update_marks(const PodSpec& spec, PodRecord& record, const PodFacts& facts, WallTime now) {
  if (record.containers.empty()) return;
  const Unready found = find_unready(spec, record, facts);
  set_mark(record.sandbox_mark, record.sandbox_ready, now);
  // Once the others have been started, a sidecar that starts anew does not undo the initialisation.
  set_mark(record.initialized, found.uninitialized.empty() || main_has_run(spec, record), now);
  const bool ready = found.unready.empty() && !record.released;
  set_mark(record.containers_ready, ready, now);
  set_mark(record.ready, ready && closed_gates(spec).empty(), now);
}

std::optional<json::Object> status_of(const PodSpec& spec, const PodRecord& record, const PodFacts& facts,
                                      const NodeFacts& node, WallTime now) {
  if (record.containers.empty()) return std::nullopt;
  const std::string_view phase = phase_of(spec, record);
  json::Object status{{"phase", phase}, {"startTime", to_rfc3339(record.started_at)}};
  if (record.ending && record.released && !record.ending->reason.empty()) {
    status["reason"] = record.ending->reason;
    status["message"] = record.ending->message;
  }
  if (record.ending && record.ending->cause == Ending::Cause::kRefused) return status;
  status["conditions"] = conditions_of(spec, record, facts, phase);
  add_addresses(record, node, status);
  add_containers(spec, record, ContainerReport(spec, record, facts, node, now), status);
  return status;
}

}  // namespace gangway::agent
