// The half of decide() that brings a pod up and keeps it so.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "agent/pod/building.h"
#include "agent/pod/deciding.h"
#include "agent/pod/restart.h"
#include "agent/pod/status.h"
#include "agent/pod/volumes.h"
#include "base/quote.h"

namespace gangway::agent {
namespace {

using Stage = ContainerRecord::Stage;

constexpr std::string_view kConfigError = "CreateContainerConfigError";

ResolveView resolve_view(const Look& look) {
  return {*look.view.spec, look.record(), look.view.node, look.view.references};
}

bool must_wait(const Look& look, const Trouble& trouble) {
  if (!trouble.is_set() || trouble.retry_at <= look.now()) return false;
  look.step.look_again(trouble.retry_at);
  return true;
}

// ── sandbox and volumes ──

bool has_sandbox(const Look& look) {
  PodRecord& record = look.record();
  if (record.sandbox_ready) return true;
  if (must_wait(look, look.step.facts.sandbox) || look.is_under_way("sandbox")) return false;
  if (!record.has_sandbox) {
    record.has_sandbox = true;
    ++record.generation;
  }
  look.command("sandbox", MakeSandbox{build_sandbox(*look.view.spec)});
  return false;
}

// Told once for each message, not at every look.
void tell_mount_failure(const Look& look, const PodVolume& volume, std::string message) {
  Trouble& trouble = look.step.facts.volume_troubles[volume.name];
  if (trouble.message == message) return;
  trouble = {"FailedMount", message, trouble.failures, look.now(), look.now()};
  if (!std::holds_alternative<UnknownSource>(volume.source))
    message = fmt::format("MountVolume.SetUp failed for volume {} : {}", quoted(volume.name), message);
  look.step.events.push_back(event_of(nullptr, true, "FailedMount", std::move(message)));
}

// True when the volume holds something; it is brought up to date all the same.
bool has_volume(const Look& look, const PodVolume& volume) {
  const auto held = look.step.facts.volumes.find(volume.name);
  const bool ready = held != look.step.facts.volumes.end();
  const std::string key = key_of("volume", volume.name);
  if (look.is_under_way(key)) return ready;
  auto resolved = resolve_volume(resolve_view(look), volume);
  if (auto* problem = std::get_if<Unresolved>(&resolved)) {
    if (!problem->waiting && !ready) tell_mount_failure(look, volume, std::move(problem->message));
    return ready;
  }
  auto& content = std::get<VolumeContent>(resolved);
  const std::size_t hash = hash_of(content);
  if (ready && held->second == hash) return true;
  const auto trouble = look.step.facts.volume_troubles.find(volume.name);
  if (trouble != look.step.facts.volume_troubles.end() && must_wait(look, trouble->second)) return ready;
  look.command(key, PrepareVolume{{look.record().pod.uid, volume.name, std::move(content)}, hash});
  return ready;
}

bool has_volumes(const Look& look) {
  bool all = true;
  for (const PodVolume& volume : look.view.spec->volumes) all = has_volume(look, volume) && all;
  return all;
}

// ── one container ──

bool has_image(const Look& look, const PodContainer& container) {
  ContainerFacts& facts = look.step.facts.containers[container.name];
  if (facts.image_ready) return true;
  const std::string key = key_of("image", container.name);
  if (look.is_under_way(key)) return false;
  if (must_wait(look, facts.image)) {
    if (const WallTime shown = facts.image.since + kShowPullError; look.now() < shown) look.step.look_again(shown);
    return false;
  }
  look.command(key, PrepareImage{container.name, build_image_request(resolve_view(look), container)},
               event_of(&container, false, "Pulling", fmt::format("Pulling image {}", quoted(container.image))));
  return false;
}

void tell_config_error(const Look& look, const PodContainer& container, const Unresolved& problem) {
  Trouble& trouble = look.step.facts.containers[container.name].start;
  if (problem.waiting || (trouble.reason == kConfigError && trouble.message == problem.message)) return;
  trouble = {std::string(kConfigError), problem.message, 0, look.now(), look.now()};
  look.step.events.push_back(event_of(&container, true, "Failed", "Error: " + problem.message));
}

int signal_number(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  constexpr std::pair<std::string_view, int> kNames[] = {{"HUP", 1},   {"INT", 2},   {"QUIT", 3},  {"KILL", 9},
                                                         {"USR1", 10}, {"USR2", 12}, {"TERM", 15}, {"WINCH", 28}};
  for (const auto& [known, number] : kNames) {
    if (known == name || std::to_string(number) == name) return number;
  }
  return 15;
}

// From here on the attempt counts as used, whatever happens to the command.
void begin_start(const Look& look, const PodContainer& container, ContainerRecord& record, ContainerSpec spec) {
  record.stage = Stage::kStarting;
  record.generation = look.record().generation;
  if (!look.view.node.simulated) {
    ContainerFacts& facts = look.step.facts.containers[container.name];
    record.image_id = facts.image_id;
    record.stop_signal = signal_number(facts.stop_signal);
    facts.image_ready = false;  // the next attempt asks again: a tag may have moved
  }
  look.command(key_of("start", container.name), StartContainer{std::move(spec)});
}

void try_start(const Look& look, const PodContainer& container, ContainerRecord& record) {
  if (look.is_under_way(key_of("start", container.name))) return;
  if (look.view.node.simulated) {
    return begin_start(look, container, record, build_simulated(*look.view.spec, container, record));
  }
  const Trouble& trouble = look.step.facts.containers[container.name].start;
  if (must_wait(look, trouble)) return;
  if (!has_image(look, container)) return;
  auto built = build_container(resolve_view(look), container, record);
  if (const auto* problem = std::get_if<Unresolved>(&built)) return tell_config_error(look, container, *problem);
  begin_start(look, container, record, std::move(std::get<ContainerSpec>(built)));
}

void begin_stop(const Look& look, const PodContainer& container, ContainerRecord& record, Duration grace,
                const std::string& why) {
  record.stop = StopRecord{look.now() + grace};
  look.step.events.push_back(
      event_of(&container, false, "Killing", fmt::format("Container {} {}, will be restarted", container.name, why)));
}

void tend(const Look& look, const PodContainer& container, ContainerRecord& record) {
  if (record.stop) return continue_stop(look, record);
  if (container.post_start && !record.hook_done) {
    const auto& addresses = look.record().addresses;
    look.command(key_of("hook", container.name),
                 RunHook{look.id_of(record), false, *container.post_start,
                         addresses.empty() ? std::string() : addresses.front(), WallTime::max()});
    return;
  }
  const auto facts = look.step.facts.containers.find(container.name);
  if (facts == look.step.facts.containers.end()) return;
  const ProbeFacts& probes = facts->second.probes;
  if (probes.attempt != record.attempt || probes.failed.empty()) return;
  begin_stop(look, container, record, probes.grace.value_or(look.view.spec->grace), probes.failed);
  continue_stop(look, record);
}

void restart_when_due(const Look& look, const PodContainer& container, ContainerRecord& record) {
  if (!will_restart(look.view.spec->restart_policy, container, record.end->exit)) return;
  if (const WallTime when = restart_at(record); look.now() < when) return look.step.look_again(when);
  if (!record.removed) return;
  next_attempt(record, true);
  try_start(look, container, record);
}

void keep_running(const Look& look, const PodContainer& container, ContainerRecord& record) {
  switch (record.stage) {
    case Stage::kNone:
      return try_start(look, container, record);
    case Stage::kStarting:
      return;
    case Stage::kRunning:
      return tend(look, container, record);
    case Stage::kExited:
      return restart_when_due(look, container, record);
  }
}

bool is_initialized(const PodRecord& pod, const ContainerRecord& container) {
  return container.stage == Stage::kExited && container.end->exit.code == 0 && container.generation == pod.generation;
}

// An init container that ran in a sandbox that is gone has to run again in this one.
void rerun_in_new_sandbox(const PodRecord& pod, ContainerRecord& container) {
  if (container.stage == Stage::kExited && container.end->exit.code == 0 && container.removed &&
      container.generation != pod.generation) {
    next_attempt(container, true);
    container.backoff = Duration::zero();
  }
}

}  // namespace

bool is_finished(const PodSpec& spec, const PodRecord& record) {
  bool all_ended = true;
  for (const ContainerRecord& container : record.containers) {
    const PodContainer* own = spec.find(container.name);
    if (own == nullptr || own->role == ContainerRole::kSidecar) continue;
    const bool over =
        container.stage == Stage::kExited && !will_restart(spec.restart_policy, *own, container.end->exit);
    if (own->role == ContainerRole::kInit) {
      if (over && container.end->exit.code != 0) return true;
    } else {
      all_ended = all_ended && over;
    }
  }
  return all_ended;
}

void run_pod(const Look& look) {
  const bool sandbox = has_sandbox(look);
  const bool volumes = has_volumes(look);
  if (!sandbox || !volumes) return;
  PodRecord& record = look.record();
  const bool past_init = std::any_of(record.containers.begin(), record.containers.end(), [&](const auto& container) {
    const PodContainer* own = look.spec_of(container);
    return own != nullptr && own->role == ContainerRole::kMain && container.generation == record.generation &&
           (container.stage != Stage::kNone || container.attempt > 0);
  });
  for (ContainerRecord& container : record.containers) {
    const PodContainer* own = look.spec_of(container);
    if (own == nullptr) continue;
    if (own->role == ContainerRole::kInit) {
      if (past_init || is_initialized(record, container)) continue;
      rerun_in_new_sandbox(record, container);
      return keep_running(look, *own, container);
    }
    keep_running(look, *own, container);
    if (own->role == ContainerRole::kSidecar && !past_init && !has_started(*own, container, look.step.facts)) return;
  }
}

}  // namespace gangway::agent
