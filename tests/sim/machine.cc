#include "sim/machine.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

namespace gangway::sim {

std::string text_of(const agent::ContainerId& id) {
  return fmt::format("{}/{}/{}", id.pod_uid, id.container, id.attempt);
}

// What an agent holds: every call goes to the machine and comes back later, if the agent is still there.
class Machine::Face final : public agent::Runtime {
 public:
  Face(Machine& machine, testing::SimProcess& agent, testing::SimLoop& loop)
      : machine_(machine),
        agent_(agent),
        loop_(loop),
        number_(++machine.faces_),
        self_(std::make_shared<Face*>(this)) {}

  std::string version() const override { return "machine://1"; }
  void recover(agent::RuntimeSink& sink, sys::Completion<agent::Found> done) override {
    machine_.face_ = self_;
    forward<agent::Found>("recover", std::move(done),
                          [self = std::weak_ptr(self_), number = number_, &sink](Machine& machine, auto answer) {
                            machine.answered_ = number;
                            if (auto face = self.lock()) (*face)->sink_ = &sink;
                            answer(machine.found());
                          });
  }
  void make_sandbox(agent::SandboxSpec spec, sys::Completion<agent::Sandbox> done) override {
    forward<agent::Sandbox>("make_sandbox", std::move(done), [spec = std::move(spec)](Machine& machine, auto answer) {
      if (machine.faults_.happens("runtime.make_sandbox", 200'000))
        return answer(internal_error("injected: no sandbox"));
      machine.runtime_->make_sandbox(spec, [&machine, uid = spec.pod.uid, answer](Result<agent::Sandbox> made) {
        if (made) machine.sandboxes_[uid] = *made;
        answer(std::move(made));
      });
    });
  }
  void remove_sandbox(const std::string& pod_uid, sys::Completion<void> done) override {
    forward<void>("remove_sandbox", std::move(done),
                  [pod_uid](Machine& machine, auto answer) { machine.remove_sandbox(pod_uid, answer); });
  }
  void prepare_volume(agent::VolumeSpec spec, sys::Completion<void> done) override {
    forward<void>("prepare_volume", std::move(done), [spec = std::move(spec)](Machine& machine, auto answer) {
      machine.runtime_->prepare_volume(spec, answer);
    });
  }
  void remove_volumes(const std::string& pod_uid, sys::Completion<void> done) override {
    forward<void>("remove_volumes", std::move(done),
                  [pod_uid](Machine& machine, auto answer) { machine.runtime_->remove_volumes(pod_uid, answer); });
  }
  void prepare_image(agent::ImageRequest request, sys::Completion<agent::Image> done) override {
    forward<agent::Image>("prepare_image", std::move(done),
                          [request = std::move(request)](Machine& machine, auto answer) {
                            if (machine.faults_.happens("runtime.pull", 200'000))
                              return answer(internal_error("injected: no image"));
                            machine.runtime_->prepare_image(request, answer);
                          });
  }
  std::vector<agent::NodeImage> images() const override { return {}; }
  void start(agent::ContainerSpec spec, sys::Completion<agent::Started> done) override {
    forward<agent::Started>("start", std::move(done), [spec = std::move(spec)](Machine& machine, auto answer) {
      if (machine.faults_.happens("runtime.start", 100'000)) return answer(internal_error("injected: no start"));
      machine.start(spec, answer);
    });
  }
  void signal(const agent::ContainerId& container, int signal, sys::Completion<void> done) override {
    forward<void>("signal", std::move(done), [container, signal](Machine& machine, auto answer) {
      machine.runtime_->signal(container, signal, answer);
    });
  }
  void remove(const agent::ContainerId& container, sys::Completion<void> done) override {
    forward<void>("remove", std::move(done), [container](Machine& machine, auto answer) {
      machine.exited_.erase(container);
      machine.runtime_->remove(container, answer);
    });
  }
  std::shared_ptr<agent::ExecSession> exec(agent::ExecSpec spec, agent::ExecCallbacks callbacks) override {
    return machine_.runtime_->exec(std::move(spec), std::move(callbacks));
  }
  void connect(const std::string&, std::uint16_t, sys::Completion<int> done) override {
    loop_.post([done = std::move(done)] { done(bad_request("nothing listens here")); });
  }
  std::string log_path(const agent::PodIdentity&, const agent::ContainerId&) const override { return {}; }
  Result<agent::Usage> usage(const agent::ContainerId&) const override { return agent::Usage(); }

  // A container has ended; the agent hears of it later.
  void tell_exit(const agent::ContainerId& container, const agent::Exit& exit) {
    if (sink_ == nullptr || !agent_.is_alive()) return;
    tell_agent([this, container, exit] { sink_->on_exit(container, exit); });
  }

 private:
  Duration delay() { return machine_.simulation_.random().up_to(std::chrono::milliseconds(20)); }

  // In the order in which it happened on the machine.
  void tell_agent(sys::Task task) {
    last_told_ = std::max(last_told_, loop_.clock().mono() + delay());
    loop_.run_at(last_told_, [self = std::weak_ptr(self_), task = std::move(task)] {
      if (!self.expired()) task();
    });
  }

  template <class T, class Call>
  void forward(const std::string& what, sys::Completion<T> done, Call call) {
    auto& faults = machine_.faults_;
    if (faults.kills("crash.agent.before." + what, agent_, 5'000) || machine_.loop_ == nullptr) return;
    auto back = [this, self = std::weak_ptr(self_), what, done = std::move(done)](Result<T> result) {
      if (self.expired() || !agent_.is_alive()) return;
      auto shared = std::make_shared<Result<T>>(std::move(result));
      tell_agent([this, what, done, shared] {
        if (!machine_.faults_.kills("crash.agent.after." + what, agent_, 5'000)) done(std::move(*shared));
      });
    };
    const auto slow = faults.happens("runtime.slow." + what, 200'000);
    const Duration way = slow ? machine_.simulation_.random().up_to(std::chrono::seconds(20)) : delay();
    // Once it is on its way it happens, even if the agent is gone by then. Only what comes after the next agent was
    // told what is here does not: a runtime waits for the last one's commands, or ends them, before it says that.
    machine_.loop_->run_after(way,
                              [&machine = machine_, number = number_, call = std::move(call), back = std::move(back)] {
                                if (number >= machine.answered_) call(machine, std::function<void(Result<T>)>(back));
                              });
  }

  Machine& machine_;
  testing::SimProcess& agent_;
  testing::SimLoop& loop_;
  const unsigned number_;
  agent::RuntimeSink* sink_ = nullptr;
  MonoTime last_told_;
  std::shared_ptr<Face*> self_;
};

// Records that outlive agents, as the text that a file would hold. A killed agent's task goes on to its end; what it
// saves then does not count.
class Machine::Disk final : public agent::Records {
 public:
  using Judge = std::function<void(const agent::PodRecord&)>;
  Disk(testing::Simulation& simulation, testing::Faults& faults, Judge judge)
      : simulation_(simulation), faults_(faults), judge_(std::move(judge)) {}

  void attach(testing::SimProcess& agent) { agent_ = &agent; }

  Result<std::vector<agent::PodRecord>> load() override {
    std::vector<agent::PodRecord> records;
    for (const auto& [uid, text] : kept_) {
      GW_TRY(auto record, agent::read_record(text));
      records.push_back(std::move(record));
    }
    return records;
  }
  Result<void> save(const agent::PodRecord& record) override {
    if (faults_.kills("crash.agent.before.save", *agent_, 5'000)) return {};
    if (is_full()) {
      faults_.kills("crash.agent.unsaved", *agent_, 50'000);
      return internal_error("injected: the disk is full");
    }
    judge_(record);
    kept_[record.pod.uid] = agent::write_record(record);
    faults_.kills("crash.agent.after.save", *agent_, 5'000);
    return {};
  }
  Result<void> erase(const std::string& pod_uid) override {
    if (faults_.kills("crash.agent.before.erase", *agent_, 5'000)) return {};
    kept_.erase(pod_uid);
    return {};
  }

 private:
  // Once, or for a while.
  bool is_full() {
    if (faults_.happens("disk.full", 20'000))
      full_until_ = simulation_.now() + simulation_.random().up_to(std::chrono::seconds(30));
    return simulation_.now() < full_until_ || faults_.happens("disk.save", 50'000);
  }

  testing::Simulation& simulation_;
  testing::Faults& faults_;
  const Judge judge_;
  testing::SimProcess* agent_ = nullptr;
  MonoTime full_until_;
  std::map<std::string, std::string> kept_;  // by the pod's uid
};

agent::Records& Machine::records(testing::SimProcess& agent) {
  disk_->attach(agent);
  return *disk_;
}

Machine::Machine(testing::Simulation& simulation, testing::Faults& faults, RunningPods& pods, std::string name)
    : simulation_(simulation),
      faults_(faults),
      pods_(pods),
      name_(std::move(name)),
      disk_(std::make_unique<Disk>(simulation, faults, [this](const auto& record) { judge_ends(record); })) {
  restore_power();
}

Machine::~Machine() = default;

void Machine::restore_power() {
  if (process_) return;
  process_ = std::make_unique<testing::SimProcess>(simulation_, fmt::format("{}-boot-{}", name_, ++boots_));
  loop_ = &process_->add_loop("machine");
  runtime_ = std::make_unique<agent::SimulatedRuntime>(*loop_);
  runtime_->recover(*this, [](const Result<agent::Found>&) {});
}

void Machine::lose_power() {
  if (!process_) return;
  power_fails_ = false;
  simulation_.note(name_, "loses power");
  process_->kill();
  for (const auto& [id, run] : running_) stop_counting(run);
  running_.clear();
  exited_.clear();
  sandboxes_.clear();
  runtime_.reset();
  loop_ = nullptr;
  process_.reset();
}

std::unique_ptr<agent::Runtime> Machine::runtime(testing::SimProcess& agent, testing::SimLoop& loop) {
  return std::make_unique<Face>(*this, agent, loop);
}

void Machine::stop_counting(const Run& run) {
  pods_.remove(run.spec.pod);
}

void Machine::judge_start(const agent::ContainerSpec& spec) {
  if (!used_.insert(spec.id).second) verdicts_.broken(fmt::format("{} was started twice", text_of(spec.id)));
  if (!sandboxes_.contains(spec.id.pod_uid))
    verdicts_.broken(fmt::format("{} was started without a sandbox", text_of(spec.id)));
  if (pods_.is_over(spec.pod.uid))
    verdicts_.broken(fmt::format("{} was started after the end of its pod", text_of(spec.id)));
  for (const auto& other : pods_.others(spec.pod)) {
    verdicts_.broken(fmt::format("{}/{} was started as {} on {} while {} still runs", spec.pod.ns, spec.pod.name,
                                 spec.pod.uid, name_, other));
  }
  for (const auto& [id, run] : running_) {
    if (id.pod_uid == spec.id.pod_uid) continue;
    for (const unsigned gpu : spec.gpus) {
      if (std::find(run.spec.gpus.begin(), run.spec.gpus.end(), gpu) != run.spec.gpus.end())
        verdicts_.broken(
            fmt::format("GPU {} of {} was given to {} while {} has it", gpu, name_, text_of(spec.id), text_of(id)));
    }
  }
}

void Machine::start(const agent::ContainerSpec& spec, sys::Completion<agent::Started> done) {
  // To start what is there answers with what is there.
  if (const auto at = running_.find(spec.id); at != running_.end()) return done(at->second.started);
  judge_start(spec);
  simulation_.note(name_, "starts " + spec.pod.name, text_of(spec.id));
  auto& run = running_[spec.id];
  run.spec = spec;
  run.started = {.pid = static_cast<pid_t>(used_.size()), .at = simulation_.wall()};
  pods_.add(spec.pod);
  runtime_->start(spec, std::move(done));
  // Before anybody could write down that it runs.
  if (faults_.happens("node.power.start", 20'000)) power_fails_ = true;
}

void Machine::remove_sandbox(const std::string& pod_uid, sys::Completion<void> done) {
  for (const auto& [id, run] : running_) {
    if (id.pod_uid == pod_uid) verdicts_.broken(fmt::format("{} still ran when its sandbox was removed", text_of(id)));
  }
  sandboxes_.erase(pod_uid);
  runtime_->remove_sandbox(pod_uid, std::move(done));
}

void Machine::on_exit(const agent::ContainerId& container, const agent::Exit& exit) {
  const auto node = running_.extract(container);
  if (node.empty()) return;
  stop_counting(node.mapped());
  exited_[container] = exit;
  ends_[container] = exit.code;
  simulation_.note(name_, "sees the end of " + node.mapped().spec.pod.name, text_of(container));
  if (auto face = face_.lock()) (*face)->tell_exit(container, exit);
}

void Machine::judge_ends(const agent::PodRecord& record) {
  const auto judge = [&](const std::string& name, const std::optional<agent::RunEnd>& end) {
    if (!end || end->exit.lost) return;
    const agent::ContainerId id{record.pod.uid, name, end->attempt};
    const auto seen = ends_.find(id);
    if (seen != ends_.end() && seen->second != end->exit.code)
      verdicts_.broken(
          fmt::format("{} ended with {}, and is written down with {}", text_of(id), seen->second, end->exit.code));
  };
  for (const agent::ContainerRecord& container : record.containers) {
    judge(container.name, container.end);
    judge(container.name, container.last);
  }
}

agent::Found Machine::found() const {
  agent::Found found;
  found.sandboxes = sandboxes_;
  for (const auto& [id, run] : running_) found.containers.push_back({.id = id, .running = run.started, .exited = {}});
  for (const auto& [id, exit] : exited_) found.containers.push_back({.id = id, .running = {}, .exited = exit});
  return found;
}

}  // namespace gangway::sim
