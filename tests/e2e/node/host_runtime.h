// HostRuntime: a runtime whose containers are processes of this machine, without walls between them. It exists so that
// the endpoints can be tried with the real kubectl where no containers can be made; the product has no use for it.
//
// Belongs to one loop.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/runtime.h"
#include "host_process.h"
#include "sys/event_loop.h"

namespace gangway::test_node {

class HostRuntime final : public agent::Runtime {
 public:
  HostRuntime(sys::EventLoop& loop, std::string folder) : loop_(loop), folder_(std::move(folder)) {}

  // Starts a container; `ended` runs when it has ended.
  Result<void> run(const agent::ContainerId& id, const HostProcessSpec& spec, std::function<void()> ended);
  bool is_running(const agent::ContainerId& id) const { return containers_.contains(id); }

  std::string version() const override { return "host://1"; }
  void recover(agent::RuntimeSink&, sys::Completion<agent::Found> done) override { refuse(std::move(done)); }
  void make_sandbox(agent::SandboxSpec, sys::Completion<agent::Sandbox> done) override { refuse(std::move(done)); }
  void remove_sandbox(const std::string&, sys::Completion<void> done) override { refuse(std::move(done)); }
  void prepare_volume(agent::VolumeSpec, sys::Completion<void> done) override { refuse(std::move(done)); }
  void remove_volumes(const std::string&, sys::Completion<void> done) override { refuse(std::move(done)); }
  void prepare_image(agent::ImageRequest, sys::Completion<agent::Image> done) override { refuse(std::move(done)); }
  std::vector<agent::NodeImage> images() const override { return {}; }
  void start(agent::ContainerSpec, sys::Completion<agent::Started> done) override { refuse(std::move(done)); }
  void signal(const agent::ContainerId&, int, sys::Completion<void> done) override { refuse(std::move(done)); }
  void remove(const agent::ContainerId&, sys::Completion<void> done) override { refuse(std::move(done)); }

  std::shared_ptr<agent::ExecSession> exec(agent::ExecSpec spec, agent::ExecCallbacks callbacks) override;
  void connect(const std::string& pod_uid, std::uint16_t port, sys::Completion<int> done) override;
  std::string log_path(const agent::PodIdentity&, const agent::ContainerId& container) const override {
    return log_file(container);
  }
  Result<agent::Usage> usage(const agent::ContainerId& container) const override;

 private:
  class Attached;
  std::string log_file(const agent::ContainerId& container) const;
  struct Container {
    std::shared_ptr<HostProcess> process;
    std::string unfinished[2];  // lines of stdout and stderr
    std::set<Attached*> attached;
  };
  void log(const agent::ContainerId& id, int stream, const std::string& bytes);
  std::shared_ptr<agent::ExecSession> attach(const agent::ExecSpec& spec, agent::ExecCallbacks callbacks);
  template <class T>
  void refuse(sys::Completion<T> done) {
    loop_.post([done = std::move(done)] { done(bad_request("this runtime only runs what it was given")); });
  }

  sys::EventLoop& loop_;
  const std::string folder_;
  std::map<agent::ContainerId, std::shared_ptr<Container>> containers_;
};

}  // namespace gangway::test_node
