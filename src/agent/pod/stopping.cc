// The half of decide() that brings a pod to its end.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "agent/pod/deciding.h"

namespace gangway::agent {
namespace {

using Stage = ContainerRecord::Stage;

// What is left for a process that a hook used up all the time of.
constexpr Duration kLeastAfterHook = std::chrono::seconds(2);
// Somebody else may take a fenced pod's place after a while: it must be gone by then.
constexpr Duration kLongestFencedGrace = std::chrono::seconds(60);
constexpr Duration kKillAgain = std::chrono::seconds(10);

WallTime kill_time(const Look& look, const ContainerRecord& container) {
  const PodRecord& record = look.record();
  if (record.ending) return record.ending->kill_at;
  if (container.stop) return container.stop->kill_at;
  const Duration grace = look.view.halt == Halt::kFenced ? std::min(record.grace, kLongestFencedGrace) : record.grace;
  return look.now() + grace;
}

void stop_container(const Look& look, ContainerRecord& container) {
  const WallTime kill_at = kill_time(look, container);
  if (!container.stop) {
    container.stop = StopRecord{kill_at};
    look.step.events.push_back(
        event_of(look.spec_of(container), false, "Killing", fmt::format("Stopping container {}", container.name)));
  }
  container.stop->kill_at = std::min(container.stop->kill_at, kill_at);
  continue_stop(look, container);
}

bool is_sidecar(const Look& look, const ContainerRecord& container) {
  const PodContainer* own = look.spec_of(container);
  return own != nullptr && own->role == ContainerRole::kSidecar;
}

// Sidecars serve the others to their end, and those that started first to the end of those that came after.
void stop_containers(const Look& look) {
  auto& containers = look.record().containers;
  bool others_alive = false;
  for (ContainerRecord& container : containers) {
    if (!container.is_alive() || is_sidecar(look, container)) continue;
    others_alive = true;
    stop_container(look, container);
  }
  const auto& ending = look.record().ending;
  const bool at_once = ending && look.now() >= ending->kill_at;
  for (auto container = containers.rbegin(); container != containers.rend(); ++container) {
    if (!container->is_alive() || !is_sidecar(look, *container)) continue;
    if (others_alive && !at_once) return;
    others_alive = true;
    stop_container(look, *container);
  }
}

// True when preStop is done with, or its time is up.
bool is_past_hook(const Look& look, const ContainerRecord& container) {
  const PodContainer* own = look.spec_of(container);
  if (own == nullptr || !own->pre_stop || container.stop->hook_done) return true;
  if (look.now() >= container.stop->kill_at) return true;
  const auto& addresses = look.record().addresses;
  look.command(key_of("hook", container.name),
               RunHook{look.id_of(container), true, *own->pre_stop,
                       addresses.empty() ? std::string() : addresses.front(), container.stop->kill_at});
  look.step.look_again(container.stop->kill_at);
  return false;
}

// What is under way would be there again after it was taken away.
bool is_being_built(const Look& look) {
  const auto& under_way = look.step.facts.under_way;
  return look.is_under_way("sandbox") || std::any_of(under_way.begin(), under_way.end(), [](const std::string& key) {
           return key.starts_with(key_of("volume", ""));
         });
}

}  // namespace

void continue_stop(const Look& look, ContainerRecord& container) {
  // One that is about to start is stopped when its start has come to an end.
  if (container.stage != Stage::kRunning || !is_past_hook(look, container)) return;
  const StopRecord& stop = *container.stop;
  const std::string key = key_of("signal", container.name);
  if (!stop.term_at) {
    look.command(key, SendSignal{look.id_of(container), container.stop_signal});
    // When that is over already, what comes next comes with the answer.
    if (look.now() < stop.kill_at) look.step.look_again(stop.kill_at);
    return;
  }
  const PodContainer* own = look.spec_of(container);
  const bool had_hook = own != nullptr && own->pre_stop;
  const WallTime kill_at = had_hook ? std::max(stop.kill_at, *stop.term_at + kLeastAfterHook) : stop.kill_at;
  const WallTime due = stop.killed ? *stop.killed + kKillAgain : kill_at;
  if (look.now() < due) return look.step.look_again(due);
  look.command(key, SendSignal{look.id_of(container), SIGKILL});
}

void remove_exited(const Look& look) {
  for (const ContainerRecord& container : look.record().containers) {
    if (container.stage == Stage::kExited && !container.removed)
      look.command(key_of("remove", container.name), RemoveContainer{look.id_of(container)});
  }
}

void stop_pod(const Look& look) {
  PodRecord& record = look.record();
  stop_containers(look);
  const bool all_removed = std::all_of(record.containers.begin(), record.containers.end(), [](const auto& container) {
    return container.stage == Stage::kNone || (container.stage == Stage::kExited && container.removed);
  });
  if (!all_removed) return;
  if (record.has_sandbox) {
    if (!is_being_built(look)) look.command("remove-sandbox", RemoveSandbox{});
    return;
  }
  if (record.ending) record.released = true;
}

}  // namespace gangway::agent
