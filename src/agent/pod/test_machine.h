// MachineBench: a pod, its record and a world that does what it is told, for tests of decide() and apply().
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/pod/machine.h"
#include "client/decode.h"
#include "testing/builders.h"

namespace gangway::agent {

using namespace std::chrono_literals;

inline const WallTime kStart = WallTime(std::chrono::seconds(1'767'225'600));  // 2026-01-01T00:00:00Z

// The pod that this JSON text describes, with uid "u" unless it says otherwise, on node n0.
inline PodSpec pod_of(std::string_view json_text) {
  json::Value pod = testing::a_pod("ns", "p")
                        .with(R"({"metadata": {"uid": "u", "resourceVersion": "1"}, "spec": {"nodeName": "n0"}})")
                        .with(json_text);
  const auto header = client::header_of(pod);
  return read_pod_spec(*header, pod);
}

class TestReferences final : public PodReferences {
 public:
  void hold(const PodSpec&) override {}
  void release(const std::string&) override {}
  std::map<std::string, KeyValues> config_maps;
  std::map<std::string, KeyValues> secrets;
  std::map<std::string, ClaimedPath> claims;
  std::map<std::string, std::vector<ServiceAddress>> all_services;
  std::string current_token = "token-1";
  bool known = true;

  Looked<KeyValues> keys(KeyHolder in, const std::string&, const std::string& name) const override {
    const auto& all = in == KeyHolder::kSecret ? secrets : config_maps;
    const auto at = all.find(name);
    if (!known) return {};
    if (at == all.end()) return {Looked<KeyValues>::State::kMissing};
    return {Looked<KeyValues>::State::kFound, &at->second};
  }
  Looked<ClaimedPath> claim(const std::string&, const std::string& name) const override {
    const auto at = claims.find(name);
    if (at == claims.end()) return {Looked<ClaimedPath>::State::kMissing};
    return {Looked<ClaimedPath>::State::kFound, &at->second};
  }
  Looked<std::string> token(const PodIdentity&, const std::string&, const TokenSource&) const override {
    if (!known) return {};
    return {Looked<std::string>::State::kFound, &current_token};
  }
  std::vector<ServiceAddress> services(const std::string& ns) const override {
    const auto at = all_services.find(ns);
    return at == all_services.end() ? std::vector<ServiceAddress>() : at->second;
  }
};

struct MachineBench {
  PodSpec spec;
  PodRecord record;
  PodFacts facts;
  NodeFacts node;
  NodeRoom room;
  TestReferences references;
  WallTime now = kStart;
  bool gone = false;
  Halt halt = Halt::kNone;
  std::vector<std::string> done;     // "start main/0", "signal main/0 15", …
  std::vector<std::string> told;     // "Normal Started: Started container main"
  std::vector<PlannedCommand> open;  // begun, not answered
  PodStep step;
  std::optional<Error> refuses_to_start;

  explicit MachineBench(std::string_view json_text) : spec(pod_of(json_text)) {
    node.name = "n0";
    node.address = "192.168.0.1";
    node.runtime_scheme = "test";
    room.allocatable = {{"cpu", 4000}, {"memory", 8LL << 30}, {"pods", 110}};
  }

  // One look. What it begins is in `open`.
  void look() {
    const PodFacts before = facts;
    step = decide({.spec = &spec,
                   .gone = gone,
                   .record = record,
                   .facts = before,
                   .node = node,
                   .room = room,
                   .references = references,
                   .halt = halt,
                   .now = now});
    record = step.record;
    facts = step.facts;
    for (const PodEvent& event : step.events) tell(event);
    for (PlannedCommand& command : step.commands) {
      if (command.event) tell(*command.event);
      facts.under_way.insert(command.key);
      done.push_back(text_of(command));
      open.push_back(command);
    }
  }

  void settle(const Outcome& outcome) {
    for (const PodEvent& event : apply(&spec, record, facts, outcome, now)) tell(event);
  }

  // Looks and answers until there is nothing more to do at this time.
  void run() {
    for (int i = 0; i < 200; ++i) {
      look();
      if (open.empty()) return;
      auto begun = std::move(open);
      open.clear();
      for (PlannedCommand& command : begun) succeed(command);
    }
  }

  void succeed(const PlannedCommand& command) {
    if (std::holds_alternative<MakeSandbox>(command.what)) {
      settle(SandboxMade{Sandbox{{"10.0.0.7"}}});
    } else if (const auto* volume = std::get_if<PrepareVolume>(&command.what)) {
      settle(VolumePrepared{volume->spec.name, volume->content, {}});
    } else if (const auto* image = std::get_if<PrepareImage>(&command.what)) {
      Image made;
      made.id = "sha256:1";
      made.message = "pulled";
      settle(ImagePrepared{image->container, image->request.image, image->request.policy, made});
    } else if (const auto* start = std::get_if<StartContainer>(&command.what)) {
      if (refuses_to_start) return settle(ContainerStarted{start->spec.id, *refuses_to_start});
      settle(ContainerStarted{start->spec.id, Started{100, now}});
    } else if (const auto* hook = std::get_if<RunHook>(&command.what)) {
      settle(HookDone{hook->container, hook->before_stop, {}});
    } else if (const auto* signal = std::get_if<SendSignal>(&command.what)) {
      settle(SignalSent{signal->container, signal->signal, {}});
    } else if (const auto* removal = std::get_if<RemoveContainer>(&command.what)) {
      settle(ContainerRemoved{removal->container, {}});
    } else {
      settle(SandboxRemoved{});
    }
  }

  // The container's current run ends now.
  void exit(const std::string& container, int code) {
    Exit how;
    how.code = code;
    how.at = now;
    settle(ContainerExited{{"u", container, record.find(container)->attempt}, how});
  }

  std::vector<std::string> take_done() { return std::exchange(done, {}); }
  std::vector<std::string> take_told() { return std::exchange(told, {}); }
  std::string phase() const { return step.status ? std::string(step.status->at("phase").as_string()) : "none"; }
  // The status of a container, init or not.
  json::Value status_of_container(const std::string& name) const {
    for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
      if (!step.status || !step.status->contains(list)) continue;
      for (const json::Value& status : step.status->at(list).as_array()) {
        if (json::string_at(status, {"name"}) == name) return status;
      }
    }
    return nullptr;
  }
  std::string waiting(const std::string& name) const {
    return std::string(json::string_at(status_of_container(name), {"state", "waiting", "reason"}));
  }
  json::Value condition(std::string_view type) const {
    for (const json::Value& each : step.status->at("conditions").as_array()) {
      if (json::string_at(each, {"type"}) == type) return each;
    }
    return nullptr;
  }

 private:
  void tell(const PodEvent& event) {
    told.push_back(fmt::format("{} {}: {}", event.warning ? "Warning" : "Normal", event.reason, event.message));
  }

  static std::string id_text(const ContainerId& id) { return fmt::format("{}/{}", id.container, id.attempt); }

  static std::string text_of(const PlannedCommand& command) {
    if (std::holds_alternative<MakeSandbox>(command.what)) return "sandbox";
    if (const auto* volume = std::get_if<PrepareVolume>(&command.what)) return "volume " + volume->spec.name;
    if (const auto* image = std::get_if<PrepareImage>(&command.what)) return "image " + image->container;
    if (const auto* start = std::get_if<StartContainer>(&command.what)) return "start " + id_text(start->spec.id);
    if (const auto* hook = std::get_if<RunHook>(&command.what))
      return fmt::format("{} {}", hook->before_stop ? "preStop" : "postStart", id_text(hook->container));
    if (const auto* signal = std::get_if<SendSignal>(&command.what))
      return fmt::format("signal {} {}", id_text(signal->container), signal->signal);
    if (const auto* removal = std::get_if<RemoveContainer>(&command.what))
      return "remove " + id_text(removal->container);
    return "remove-sandbox";
  }
};

}  // namespace gangway::agent
