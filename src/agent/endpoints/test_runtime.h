// For tests: a runtime whose processes are scripted by the test, and a directory of pods made by hand.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/endpoints/pod_directory.h"
#include "agent/runtime.h"
#include "sys/event_loop.h"

namespace gangway::agent {

// One exec or attach, as the test sees it.
struct TestProcess {
  ExecSpec spec;
  ExecCallbacks callbacks;
  std::string input;
  bool input_ended = false;
  bool dropped = false;
  bool killed = false;
  bool paused = false;
  std::size_t unsent = 0;
  std::pair<unsigned, unsigned> size{0, 0};
};

class TestSession final : public ExecSession {
 public:
  explicit TestSession(std::shared_ptr<TestProcess> process) : process_(std::move(process)) {}
  ~TestSession() override { process_->dropped = true; }
  void write(std::string bytes) override { process_->input += bytes; }
  std::size_t unsent() const override { return process_->unsent; }
  void close_stdin() override { process_->input_ended = true; }
  void resize(std::uint16_t columns, std::uint16_t rows) override { process_->size = {columns, rows}; }
  void pause(bool paused) override { process_->paused = paused; }
  void kill() override { process_->killed = true; }

 private:
  std::shared_ptr<TestProcess> process_;
};

// What the endpoints need of a runtime; the rest answers that it is not there.
class TestRuntime final : public Runtime {
 public:
  explicit TestRuntime(sys::EventLoop& loop) : loop_(loop) {}

  std::string version() const override { return "test://1"; }
  void recover(RuntimeSink&, sys::Completion<Found> done) override { refuse(std::move(done)); }
  void make_sandbox(SandboxSpec, sys::Completion<Sandbox> done) override { refuse(std::move(done)); }
  void remove_sandbox(const std::string&, sys::Completion<void> done) override { refuse(std::move(done)); }
  void prepare_volume(VolumeSpec, sys::Completion<void> done) override { refuse(std::move(done)); }
  void remove_volumes(const std::string&, sys::Completion<void> done) override { refuse(std::move(done)); }
  void prepare_image(ImageRequest, sys::Completion<Image> done) override { refuse(std::move(done)); }
  std::vector<NodeImage> images() const override { return {}; }
  void start(ContainerSpec, sys::Completion<Started> done) override { refuse(std::move(done)); }
  void signal(const ContainerId&, int, sys::Completion<void> done) override { refuse(std::move(done)); }
  void remove(const ContainerId&, sys::Completion<void> done) override { refuse(std::move(done)); }

  std::shared_ptr<ExecSession> exec(ExecSpec spec, ExecCallbacks callbacks) override {
    auto process = std::make_shared<TestProcess>();
    process->spec = std::move(spec);
    process->callbacks = std::move(callbacks);
    processes.push_back(process);
    return std::make_shared<TestSession>(process);
  }
  void connect(const std::string&, std::uint16_t port, sys::Completion<int> done) override {
    const auto found = sockets.find(port);
    Result<int> answer = found != sockets.end() ? Result<int>(found->second) : bad_request("connection refused");
    if (found != sockets.end()) sockets.erase(found);
    loop_.post([done = std::move(done), answer = std::move(answer)] { done(answer); });
  }
  std::string log_path(const PodIdentity&, const ContainerId& container) const override {
    const auto found = logs.find(container);
    return found != logs.end() ? found->second : "";
  }
  Result<Usage> usage(const ContainerId& container) const override {
    const auto found = usages.find(container);
    if (found == usages.end()) return bad_request("no such container");
    return found->second;
  }

  std::vector<std::shared_ptr<TestProcess>> processes;
  std::map<std::uint16_t, int> sockets;  // each is handed out once
  std::map<ContainerId, std::string> logs;
  std::map<ContainerId, Usage> usages;

 private:
  template <class T>
  void refuse(sys::Completion<T> done) {
    loop_.post([done = std::move(done)] { done(bad_request("not in this test")); });
  }
  sys::EventLoop& loop_;
};

class TestDirectory final : public PodDirectory {
 public:
  std::vector<ServedPod> pods(std::string_view node) const override {
    std::vector<ServedPod> found;
    for (const auto& pod : all)
      if (pod.identity.node == node) found.push_back(pod);
    return found;
  }
  std::optional<ServedPod> find(std::string_view node, std::string_view ns, std::string_view name) const override {
    for (const auto& pod : all)
      if (pod.identity.node == node && pod.identity.ns == ns && pod.identity.name == name) return pod;
    return std::nullopt;
  }
  bool is_running(const ContainerId& container) const override {
    for (const auto& pod : all)
      for (const auto& each : pod.containers)
        if (each.current == container && each.running) return true;
    return false;
  }
  // A pod "web" in "default" on "n0" with one running container, "main".
  static ServedPod running_pod() {
    ServedPod pod{.identity = {"u1", "default", "web", "n0"}};
    pod.containers.push_back({.name = "main", .current = ContainerId{"u1", "main", 0}, .running = true});
    return pod;
  }

  std::vector<ServedPod> all;
};

}  // namespace gangway::agent
