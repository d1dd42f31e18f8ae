// The laws of a pod's life, under random events and deaths of the agent between any two steps.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "agent/pod/test_machine.h"

namespace gangway::agent {
namespace {

using Stage = ContainerRecord::Stage;

// A machine with real state: what was made stays until it is removed, whoever remembers it.
struct World {
  struct Run {
    bool running = true;
    Exit exit;
  };
  std::map<ContainerId, Run> containers;
  std::set<ContainerId> ever_started;
  std::set<std::string> sandboxes;
};

const char* const kPods[] = {
    R"({"spec": {"restartPolicy": "Always", "containers": [{"name": "main", "image": "i"}]}})",
    R"({"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}, {"name": "two", "image": "i"}]}})",
    R"({"spec": {"restartPolicy": "OnFailure", "activeDeadlineSeconds": 300,
        "initContainers": [{"name": "first", "image": "i"}, {"name": "side", "image": "i", "restartPolicy": "Always"}],
        "containers": [{"name": "main", "image": "i", "lifecycle": {"preStop": {"exec": {"command": ["x"]}}}}]}})",
};

// One pod, its agent and the machine, driven by numbers.
class Drive {
 public:
  explicit Drive(const char* pod) : bench_(pod) { saved_ = bench_.record; }

  void step(unsigned choice) {
    switch (choice % 12) {
      case 0:
      case 1:
      case 2:
        return look();
      case 3:
      case 4:
      case 5:
      case 6:
        return finish_one(choice / 12);
      case 7:
        return end_one(choice / 12);
      case 8:
        bench_.now += std::chrono::seconds(choice / 12 % 20);
        return;
      case 9:
        return crash(choice / 12);
      case 10:
        if (choice / 12 % 6 == 0) remove();
        return;
      default:
        return fail_one(choice / 12);
    }
  }

  // Everything is well from now on; the pod must come to its end.
  void finish() {
    remove();
    for (int i = 0; i < 600 && !bench_.step.delete_object; ++i) {
      look();
      while (!bench_.open.empty()) finish_one(0);
      // Nothing ends by itself: what is stopped ends by its signals.
      bench_.now += 1s;
    }
  }

  void check_end() {
    RC_ASSERT(bench_.step.delete_object);
    RC_ASSERT(world_.containers.empty());
    RC_ASSERT(world_.sandboxes.empty());
  }

 private:
  void remove() {
    if (!bench_.spec.deletion) bench_.spec.deletion = Deletion{bench_.now + 30s, 30s};
  }

  void look() {
    bench_.look();
    saved_ = bench_.record;  // before anything that it announces
    check_status();
  }

  void check_status() {
    if (!bench_.step.status) return;
    const std::string phase = bench_.phase();
    if (!last_phase_.empty() && (last_phase_ == "Failed" || last_phase_ == "Succeeded"))
      RC_ASSERT(phase == last_phase_);
    last_phase_ = phase;
    if (phase == "Failed" || phase == "Succeeded") {
      for (const auto& [id, run] : world_.containers) RC_ASSERT(!run.running);
    }
  }

  PlannedCommand take(unsigned choice) {
    const std::size_t index = choice % bench_.open.size();
    PlannedCommand command = bench_.open[index];
    bench_.open.erase(bench_.open.begin() + static_cast<std::ptrdiff_t>(index));
    return command;
  }

  void finish_one(unsigned choice) {
    if (bench_.open.empty()) return;
    const PlannedCommand command = take(choice);
    do_it(command);
    bench_.succeed(command);
  }

  void fail_one(unsigned choice) {
    if (bench_.open.empty()) return;
    const PlannedCommand command = take(choice);
    if (const auto* start = std::get_if<StartContainer>(&command.what)) {
      bench_.settle(ContainerStarted{start->spec.id, internal_error("no")});
    } else if (const auto* removal = std::get_if<RemoveContainer>(&command.what)) {
      bench_.settle(ContainerRemoved{removal->container, internal_error("no")});
    } else if (const auto* signal = std::get_if<SendSignal>(&command.what)) {
      bench_.settle(SignalSent{signal->container, signal->signal, internal_error("no")});
    } else if (std::holds_alternative<MakeSandbox>(command.what)) {
      bench_.settle(SandboxMade{internal_error("no")});
    } else {
      do_it(command);
      bench_.succeed(command);
    }
  }

  void do_it(const PlannedCommand& command) {
    if (std::holds_alternative<MakeSandbox>(command.what)) {
      world_.sandboxes.insert("u");
    } else if (const auto* start = std::get_if<StartContainer>(&command.what)) {
      RC_ASSERT(world_.ever_started.insert(start->spec.id).second);
      RC_ASSERT(world_.sandboxes.contains("u"));
      for (const auto& [id, run] : world_.containers)
        RC_ASSERT(!(run.running && id.container == start->spec.id.container));
      world_.containers[start->spec.id] = {};
    } else if (const auto* signal = std::get_if<SendSignal>(&command.what)) {
      const auto at = world_.containers.find(signal->container);
      if (at == world_.containers.end() || !at->second.running) return;
      at->second.running = false;
      at->second.exit.code = 128 + signal->signal;
      at->second.exit.at = bench_.now;
      tell_exit(at->first, at->second.exit);
    } else if (const auto* removal = std::get_if<RemoveContainer>(&command.what)) {
      const auto at = world_.containers.find(removal->container);
      if (at == world_.containers.end()) return;
      RC_ASSERT(!at->second.running);
      world_.containers.erase(at);
    } else if (std::holds_alternative<RemoveSandbox>(command.what)) {
      for (const auto& [id, run] : world_.containers) RC_ASSERT(!run.running);
      world_.sandboxes.clear();
      world_.containers.clear();
    }
  }

  void end_one(unsigned choice) {
    for (auto& [id, run] : world_.containers) {
      if (!run.running) continue;
      run.running = false;
      run.exit.code = static_cast<int>(choice % 2);
      run.exit.at = bench_.now;
      return tell_exit(id, run.exit);
    }
  }

  void tell_exit(const ContainerId& id, const Exit& exit) { bench_.settle(ContainerExited{id, exit}); }

  // The agent dies: commands that were begun have happened or not, their answers are lost, and so are all facts.
  void crash(unsigned choice) {
    auto open = std::move(bench_.open);
    bench_.open.clear();
    for (const PlannedCommand& command : open) {
      if (choice % 2 == 0) do_it(command);
      choice /= 2;
    }
    bench_.record = saved_;
    bench_.facts = {};
    Found found;
    if (!world_.sandboxes.empty()) found.sandboxes["u"] = {{"10.0.0.7"}};
    for (const auto& [id, run] : world_.containers) {
      found.containers.push_back({id, run.running ? std::optional(Started{1, bench_.now}) : std::nullopt,
                                  run.running ? std::nullopt : std::optional(run.exit)});
    }
    if (bench_.record.judged) adopt(bench_.record, found, bench_.now);
    saved_ = bench_.record;
  }

  MachineBench bench_;
  World world_;
  PodRecord saved_;
  std::string last_phase_;
};

RC_GTEST_PROP(MachineProperty, NothingIsStartedTwiceAndEveryDeletedPodEnds, ()) {
  Drive drive(kPods[*rc::gen::inRange(0, 3)]);
  const auto choices = *rc::gen::container<std::vector<unsigned>>(rc::gen::inRange(0U, 100000U));
  for (const unsigned choice : choices) drive.step(choice);
  drive.finish();
  drive.check_end();
}

}  // namespace
}  // namespace gangway::agent
