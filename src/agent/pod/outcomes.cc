// apply(): what became of commands, put into record and facts.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "agent/pod/deciding.h"
#include "agent/pod/restart.h"
#include "base/quote.h"
#include "client/backoff.h"

namespace gangway::agent {
namespace {

using Stage = ContainerRecord::Stage;

constexpr Duration kFirstRetry = std::chrono::seconds(1);
constexpr Duration kLongestRetry = std::chrono::minutes(1);
constexpr int kCannotRun = 128;

void fail(Trouble& trouble, std::string reason, std::string message, WallTime now, Duration first = kFirstRetry,
          Duration longest = kLongestRetry) {
  const Duration delay = client::doubled(first, longest, trouble.failures);
  trouble = {std::move(reason), std::move(message), trouble.failures + 1, now, now + delay};
}

class Applying {
 public:
  Applying(const PodSpec* spec, PodRecord& record, PodFacts& facts, WallTime now)
      : spec_(spec), record_(record), facts_(facts), now_(now) {}

  void operator()(const SandboxMade& made) {
    facts_.under_way.erase("sandbox");
    if (!made.result) {
      tell(nullptr, true, "FailedCreatePodSandBox", "Failed to create pod sandbox: " + made.result.error().message);
      return fail(facts_.sandbox, "FailedCreatePodSandBox", made.result.error().message, now_);
    }
    facts_.sandbox = {};
    record_.sandbox_ready = true;
    record_.addresses = made.result->addresses;
  }

  void operator()(const VolumePrepared& prepared) {
    facts_.under_way.erase(key_of("volume", prepared.volume));
    if (prepared.result) {
      facts_.volumes[prepared.volume] = prepared.content;
      facts_.volume_troubles.erase(prepared.volume);
      return;
    }
    const std::string& why = prepared.result.error().message;
    tell(nullptr, true, "FailedMount",
         fmt::format("MountVolume.SetUp failed for volume {} : {}", quoted(prepared.volume), why));
    fail(facts_.volume_troubles[prepared.volume], "FailedMount", why, now_);
  }

  void operator()(const ImagePrepared& prepared) {
    facts_.under_way.erase(key_of("image", prepared.container));
    const PodContainer* container = find(prepared.container);
    ContainerFacts& facts = facts_.containers[prepared.container];
    if (!prepared.result) return image_failed(prepared, container, facts);
    facts.image = {};
    facts.image_ready = true;
    facts.image_id = prepared.result->id;
    facts.stop_signal = prepared.result->defaults.stop_signal;
    tell(container, false, "Pulled", prepared.result->message);
  }

  void operator()(const ContainerStarted& started) {
    facts_.under_way.erase(key_of("start", started.id.container));
    ContainerRecord* container = current(started.id);
    if (container == nullptr || container->stage != Stage::kStarting) return;
    const PodContainer* own = find(started.id.container);
    if (!started.result) return start_failed(started, *container, own);
    facts_.containers[container->name].start = {};
    container->stage = Stage::kRunning;
    container->started_at = started.result->at;
    container->pid = started.result->pid;
    tell(own, false, "Created", "Created container: " + container->name);
    tell(own, false, "Started", "Started container " + container->name);
  }

  void operator()(const HookDone& hook) {
    facts_.under_way.erase(key_of("hook", hook.id.container));
    ContainerRecord* container = current(hook.id);
    if (container == nullptr || container->stage != Stage::kRunning) return;
    const PodContainer* own = find(hook.id.container);
    if (hook.before_stop) {
      if (container->stop) container->stop->hook_done = true;
      if (!hook.result) tell(own, true, "FailedPreStopHook", "PreStopHook failed: " + hook.result.error().message);
      return;
    }
    container->hook_done = true;
    if (hook.result) return;
    tell(own, true, "FailedPostStartHook", "PostStartHook failed: " + hook.result.error().message);
    if (!container->stop) container->stop = StopRecord{now_ + record_.grace};
  }

  void operator()(const SignalSent& sent) {
    settle(key_of("signal", sent.id.container), sent.result);
    ContainerRecord* container = current(sent.id);
    if (container == nullptr || !container->stop || !sent.result) return;
    (sent.signal == SIGKILL ? container->stop->killed : container->stop->term_at) = now_;
  }

  void operator()(const ContainerExited& exited) {
    ContainerRecord* container = current(exited.id);
    if (container == nullptr || !container->is_alive()) return;
    end(*container, exited.exit, {});
    const PodContainer* own = find(container->name);
    if (own == nullptr || record_.ending || !will_restart(spec_->restart_policy, *own, container->end->exit)) return;
    if (restart_delay(*container) == Duration::zero()) return;
    tell(own, true, "BackOff",
         fmt::format("Back-off restarting failed container {} in pod {}_{}({})", container->name, record_.pod.name,
                     record_.pod.ns, record_.pod.uid));
  }

  void operator()(const ContainerRemoved& removed) {
    removed_or_told(key_of("remove", removed.id.container), removed.result);
    ContainerRecord* container = current(removed.id);
    if (container != nullptr && container->stage == Stage::kExited && removed.result) container->removed = true;
  }

  void operator()(const SandboxRemoved& removed) {
    removed_or_told("remove-sandbox", removed.result);
    if (!removed.result) return;
    record_.has_sandbox = false;
    record_.sandbox_ready = false;
    facts_.volumes.clear();
  }

  std::vector<PodEvent> take_events() { return std::move(events_); }

 private:
  const PodContainer* find(const std::string& name) const { return spec_ != nullptr ? spec_->find(name) : nullptr; }

  void settle(const std::string& key, const Result<void>& result) {
    facts_.under_way.erase(key);
    if (result) {
      facts_.retries.erase(key);
    } else {
      fail(facts_.retries[key], "Failed", result.error().message, now_);
    }
  }

  void removed_or_told(const std::string& key, const Result<void>& result) {
    settle(key, result);
    if (!result) tell(nullptr, true, "FailedKillPod", "error killing pod: " + result.error().message);
  }

  // Null for a run that is over: an answer may be late.
  ContainerRecord* current(const ContainerId& id) const {
    ContainerRecord* container = record_.find(id.container);
    return container != nullptr && container->attempt == id.attempt ? container : nullptr;
  }

  void tell(const PodContainer* container, bool warning, std::string reason, std::string message) {
    events_.push_back(event_of(container, warning, std::move(reason), std::move(message)));
  }

  void end(ContainerRecord& container, Exit exit, std::string reason) {
    if (exit.started_at == WallTime()) exit.started_at = container.started_at;
    container.stage = Stage::kExited;
    container.removed = false;
    container.end = RunEnd{container.attempt, std::move(exit), std::move(reason)};
  }

  void image_failed(const ImagePrepared& prepared, const PodContainer* container, ContainerFacts& facts) {
    const bool never = prepared.policy == PullPolicy::kNever;
    const std::string& why = prepared.result.error().message;
    const std::string reason = never ? "ErrImageNeverPull" : "ErrImagePull";
    if (never) {
      tell(container, true, reason,
           fmt::format("Container image {} is not present with pull policy of Never", quoted(prepared.image)));
    } else {
      tell(container, true, "Failed", fmt::format("Failed to pull image {}: {}", quoted(prepared.image), why));
    }
    tell(container, true, "Failed", "Error: " + reason);
    if (!never && facts.image.failures > 0) {
      tell(container, false, "BackOff", fmt::format("Back-off pulling image {}", quoted(prepared.image)));
      tell(container, true, "Failed", "Error: ImagePullBackOff");
    }
    fail(facts.image, reason, why, now_, kFirstBackoff, kLongestBackoff);
  }

  void start_failed(const ContainerStarted& started, ContainerRecord& container, const PodContainer* own) {
    const Error& error = started.result.error();
    tell(own, true, "Failed", "Error: " + error.message);
    if (error.reason == Reason::kBadRequest) {
      Exit exit;
      exit.code = kCannotRun;
      exit.at = now_;
      exit.started_at = now_;
      exit.message = error.message;
      facts_.containers[container.name].start = {};
      return end(container, std::move(exit), "StartError");
    }
    const char* reason = error.reason == Reason::kForbidden ? "CreateContainerConfigError" : "RunContainerError";
    fail(facts_.containers[container.name].start, reason, error.message, now_);
    next_attempt(container, false);
  }

  const PodSpec* spec_;
  PodRecord& record_;
  PodFacts& facts_;
  WallTime now_;
  std::vector<PodEvent> events_;
};

}  // namespace

std::vector<PodEvent> apply(const PodSpec* spec, PodRecord& record, PodFacts& facts, const Outcome& outcome,
                            WallTime now) {
  Applying applying(spec, record, facts, now);
  std::visit(applying, outcome);
  return applying.take_events();
}

}  // namespace gangway::agent
