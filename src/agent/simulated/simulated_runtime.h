// SimulatedRuntime: containers that are only times. No process, no file, one timer for all of them.
//
//   gangway.dev/simulated-duration     how long its containers run, as "90s"; without it they run for ever
//   gangway.dev/simulated-exit-code    how they end then; 0 without it
//   gangway.dev/simulated-termination  how long they take to end after SIGTERM; they end at once without it
//   gangway.dev/simulated-peer-loss    fail: they end with 1 when a container of another pod of the gang has failed
//
// Init containers end at once. It keeps nothing beyond its process: what ran before is told to it (adopt) from the only
// record there is, the status of the pods. Belongs to the agent's loop.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "agent/runtime.h"
#include "sys/event_loop.h"

namespace gangway::agent {

class SimulatedRuntime final : public Runtime {
 public:
  // `node_addresses`: what pods on the host's network get.
  explicit SimulatedRuntime(sys::EventLoop& loop, std::map<std::string, std::string> node_addresses = {});
  ~SimulatedRuntime() override;
  SimulatedRuntime(const SimulatedRuntime&) = delete;
  SimulatedRuntime& operator=(const SimulatedRuntime&) = delete;

  // Before recover(): what was made by an earlier process.
  void adopt_sandbox(const std::string& pod_uid, const std::vector<std::string>& addresses);
  void adopt_container(const ContainerSpec& spec, WallTime started_at);
  // One that had failed: the others of its gang that ran then are about to.
  void adopt_failure(const std::string& gang, WallTime at);

  std::string version() const override { return "simulated://1"; }
  bool is_simulated() const override { return true; }
  void recover(RuntimeSink& sink, sys::Completion<Found> done) override;
  void make_sandbox(SandboxSpec spec, sys::Completion<Sandbox> done) override;
  void remove_sandbox(const std::string& pod_uid, sys::Completion<void> done) override;
  void prepare_volume(VolumeSpec spec, sys::Completion<void> done) override;
  void remove_volumes(const std::string& pod_uid, sys::Completion<void> done) override;
  void prepare_image(ImageRequest request, sys::Completion<Image> done) override;
  std::vector<NodeImage> images() const override { return {}; }
  void start(ContainerSpec spec, sys::Completion<Started> done) override;
  void signal(const ContainerId& container, int signal, sys::Completion<void> done) override;
  void remove(const ContainerId& container, sys::Completion<void> done) override;
  std::shared_ptr<ExecSession> exec(ExecSpec spec, ExecCallbacks callbacks) override;
  void connect(const std::string& pod_uid, std::uint16_t port, sys::Completion<int> done) override;
  std::string log_path(const PodIdentity&, const ContainerId&) const override { return {}; }
  Result<Usage> usage(const ContainerId& container) const override;

  std::size_t running() const { return running_; }

 private:
  struct Run {
    std::string container;
    unsigned attempt = 0;
    int exit_code = 0;
    WallTime started_at;
    WallTime ends_at;  // WallTime::max(): never by itself
    Duration termination{};
    bool fails_with_peers = false;
    bool ended = false;
  };
  struct Pod {
    std::uint32_t address = 0;
    std::string gang;
    std::vector<Run> runs;
  };

  template <class T>
  void answer(sys::Completion<T> done, Result<T> result);
  Run* find(const ContainerId& id);
  Run make_run(const ContainerSpec& spec, WallTime started_at) const;
  void add_run(const ContainerSpec& spec, Run run);
  void end_at(const std::string& uid, Run& run, WallTime when, int code);
  void end(const std::string& uid, Run& run, WallTime at);
  void lose_peer(const std::string& gang, const std::string& lost_uid, WallTime at);
  void drop_gang(const std::string& uid, const Pod& pod);
  void arm();
  void arm_later();
  void end_due();
  std::uint32_t free_address();

  sys::EventLoop& loop_;
  std::map<std::string, std::string> node_addresses_;
  RuntimeSink* sink_ = nullptr;
  std::unordered_map<std::string, Pod> pods_;                               // by uid
  std::set<std::pair<WallTime, ContainerId>> deadlines_;                    // of runs that end
  std::unordered_map<std::string, std::unordered_set<std::string>> gangs_;  // uids that fail with their peers
  std::vector<std::pair<std::string, WallTime>> failures_;                  // adopted, until recover()
  std::unordered_set<std::uint32_t> addresses_;
  std::uint32_t last_address_ = 0;
  std::size_t running_ = 0;
  sys::TimerId timer_ = sys::TimerId::kNone;
  WallTime timer_at_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::agent
