// What the halves of decide() share. Pure.
#pragma once

#include <string>
#include <utility>

#include "agent/pod/machine.h"

namespace gangway::agent {

struct Look {
  const PodView& view;
  PodStep& step;

  PodRecord& record() const { return step.record; }
  WallTime now() const { return view.now; }
  const PodContainer* spec_of(const ContainerRecord& container) const {
    return view.spec != nullptr ? view.spec->find(container.name) : nullptr;
  }
  ContainerId id_of(const ContainerRecord& container) const {
    return {step.record.pod.uid, container.name, container.attempt};
  }
  bool is_under_way(const std::string& key) const { return step.facts.under_way.contains(key); }

  void command(std::string key, Command what, std::optional<PodEvent> event = {}) const {
    if (is_under_way(key)) return;
    if (const auto failed = step.facts.retries.find(key);
        failed != step.facts.retries.end() && failed->second.retry_at > now()) {
      return step.look_again(failed->second.retry_at);
    }
    step.commands.push_back({std::move(key), std::move(what), std::move(event)});
  }
};

// Keys of commands. Those of one container exclude each other by their kind.
inline std::string key_of(std::string_view kind, std::string_view name) {
  return std::string(kind) + "/" + std::string(name);
}

PodEvent event_of(const PodContainer* container, bool warning, std::string reason, std::string message);

// starting.cc: brings the pod and its containers up, and keeps them so.
void run_pod(const Look& look);
// True when none of the pod's containers will run again.
bool is_finished(const PodSpec& spec, const PodRecord& record);

// stopping.cc
void stop_pod(const Look& look);
void continue_stop(const Look& look, ContainerRecord& container);
// What exited runs hold is freed whatever else happens.
void remove_exited(const Look& look);

}  // namespace gangway::agent
