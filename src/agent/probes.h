// Probes: asks the containers of pods how they are, at the times their specifications say, and tells the agent what the
// answers mean (pod/probe_counts.h). One check of a kind is under way at a time. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/checks.h"
#include "agent/pod/probe_counts.h"
#include "sys/event_loop.h"

namespace gangway::agent {

class Probes {
 public:
  // What the probes of a run say has changed.
  using OnFacts = std::function<void(const ContainerId&, ProbeFacts)>;
  // One has failed; `message` is why.
  using OnFailure = std::function<void(const ContainerId&, ProbeKind, const std::string& message)>;

  Probes(sys::EventLoop& loop, Checks& checks, OnFacts on_facts, OnFailure on_failure);
  ~Probes();
  Probes(const Probes&) = delete;
  Probes& operator=(const Probes&) = delete;

  // Asks those of the pod's containers that run and want to be asked, and no others. Cheap when nothing changed.
  void tend(const PodSpec& spec, const PodRecord& record);
  void forget(const std::string& pod_uid);

  std::size_t size() const { return watched_.size(); }

 private:
  struct Watched {
    explicit Watched(PodContainer given) : container(std::move(given)), counts(container) {}
    PodContainer container;
    ProbeCounts counts;
    std::string address;
    WallTime started_at;
    sys::TimerId timers[3] = {};
    bool under_way[3] = {};
  };

  void watch(const ContainerId& id, const PodContainer& container, const ContainerRecord& record, const PodRecord& pod);
  void unwatch(std::map<ContainerId, Watched>::iterator at);
  void plan(const ContainerId& id, Watched& watched, ProbeKind kind, bool first);
  void ask(const ContainerId& id, ProbeKind kind);
  void answered(const ContainerId& id, ProbeKind kind, const Result<std::string>& answer);

  sys::EventLoop& loop_;
  Checks& checks_;
  OnFacts on_facts_;
  OnFailure on_failure_;
  std::map<ContainerId, Watched> watched_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::agent
