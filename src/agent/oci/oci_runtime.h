// OciRuntime: containers by runc or crun, each under a conmon that outlives the agent.
//
//   make_sandbox   network ─► namespaces, /dev/shm, files, cgroup ─► (holder of shared processes) ─► sandbox.json
//   start          folder, overlay, config.json ─► conmon ─► create ─► started.json ─► start        (container_start.h)
//   exit           conmon writes exits/<id> ─► inotify ─► on_exit
//   recover        what the disk and the processes say (recovery.h)
//
// Belongs to the agent's loop. What blocks runs on worker threads; programs run as commands. It makes its process
// ignore SIGPIPE: sessions write to pipes.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/network/pod_network.h"
#include "agent/oci/attach_session.h"
#include "agent/oci/container_start.h"
#include "agent/oci/exec_process.h"
#include "agent/oci/image_store.h"
#include "agent/oci/layout.h"
#include "agent/oci/log_files.h"
#include "agent/oci/recovery.h"
#include "agent/oci/support.h"
#include "agent/runtime.h"
#include "sys/command.h"
#include "sys/worker_pool.h"

namespace gangway::agent::oci {

// host: containers run on an overlay of the node's own root; pull: images are pulled.
enum class ImagePolicy : std::uint8_t { kHost, kPull };

struct OciOptions {
  std::string data_dir;  // its real path
  ImagePolicy image_policy = ImagePolicy::kHost;
  std::map<std::string, ImagePolicy> node_policies = {};  // of nodes that differ
  LogLimits logs = {};
  ImageLimits images = {};
  // The GPUs of pods are this machine's, by their numbers. False where they are only declared, or where several nodes
  // stand on one machine and so have the same numbers.
  bool real_gpus = true;
};

class OciRuntime final : public Runtime {
 public:
  OciRuntime(sys::EventLoop& loop, PodNetwork& network, OciOptions options, Support support);
  ~OciRuntime() override;
  OciRuntime(const OciRuntime&) = delete;
  OciRuntime& operator=(const OciRuntime&) = delete;

  std::string version() const override { return support_.name + "://" + support_.version; }
  void recover(RuntimeSink& sink, sys::Completion<Found> done) override;

  void make_sandbox(SandboxSpec spec, sys::Completion<Sandbox> done) override;
  void remove_sandbox(const std::string& pod_uid, sys::Completion<void> done) override;
  void prepare_volume(VolumeSpec spec, sys::Completion<void> done) override;
  void remove_volumes(const std::string& pod_uid, sys::Completion<void> done) override;
  void prepare_image(ImageRequest request, sys::Completion<Image> done) override;
  std::vector<NodeImage> images() const override { return images_.images(); }

  void start(ContainerSpec spec, sys::Completion<Started> done) override;
  void signal(const ContainerId& container, int signal, sys::Completion<void> done) override;
  void remove(const ContainerId& container, sys::Completion<void> done) override;

  std::shared_ptr<ExecSession> exec(ExecSpec spec, ExecCallbacks callbacks) override;
  void connect(const std::string& pod_uid, std::uint16_t port, sys::Completion<int> done) override;
  std::string log_path(const PodIdentity& pod, const ContainerId& container) const override;
  PodReport report(const std::string& pod_uid) const override;
  Result<Usage> usage(const ContainerId& container) const override;

 private:
  // A container from the moment it is built. `started` is set while it runs and after.
  struct Container {
    ContainerRecord record;
    std::optional<StartedRecord> started;
    std::optional<Exit> exit;
    sys::FileDescriptor handle;  // its PID 1
    std::unique_ptr<sys::Subscription> end_watch;
    std::shared_ptr<ContainerStart> starting;
    std::vector<sys::Completion<Started>> waiting;
    std::vector<std::weak_ptr<AttachSession>> attached;
    MonoTime asked;  // by the machine's clock, to tell what a start took
    MonoTime built;
  };
  using ContainerPtr = std::shared_ptr<Container>;

  // ── recovery ──
  Result<void> watch_exits();
  void adopt(Left left, sys::Completion<Found> done);
  void adopt_networks(const std::shared_ptr<Left>& left, const sys::Completion<Found>& done);
  FoundContainer adopt_container(const LeftContainer& left);
  void tidy_later();
  void tidy();
  void collect_images();

  // ── sandboxes ──
  struct SandboxMaking;
  void furnish(const std::shared_ptr<SandboxMaking>& making);
  void start_holder(const std::shared_ptr<SandboxMaking>& making);
  void finish(const std::shared_ptr<SandboxMaking>& making, Result<void> made);

  // ── containers ──
  void build(const ContainerPtr& container, ContainerSpec spec);
  void launch_next();
  void launch(const ContainerPtr& container, const ShimOptions& options);
  void fail_start(const ContainerPtr& container, Error error);
  void on_started(const ContainerPtr& container, const StartedRecord& started);
  void watch_process(const ContainerPtr& container);
  void expect_exit(const ContainerId& id);
  Exit lost_exit(const ContainerRecord& container, const StartedRecord& started) const;
  void read_exits();
  void on_exit_file(const std::string& runtime_id);
  void ended(const ContainerPtr& container, Exit exit);
  ContainerPtr find(const ContainerId& id) const;
  bool pulls(const std::string& node) const;
  void rotate_logs();
  template <class T>
  void answer(sys::Completion<T> done, Result<T> value);

  sys::EventLoop& loop_;
  PodNetwork& network_;
  const OciOptions options_;
  const Support support_;
  const Layout layout_;
  RuntimeSink* sink_ = nullptr;
  std::shared_ptr<void> alive_;
  bool recovered_ = false;

  std::map<std::string, SandboxRecord> sandboxes_;
  std::map<std::string, std::shared_ptr<SandboxMaking>> making_;
  std::map<ContainerId, ContainerPtr> containers_;
  std::map<std::string, ContainerId> by_runtime_id_;
  std::deque<std::pair<ContainerPtr, ShimOptions>> launches_;  // those that wait for their turn
  std::size_t launching_ = 0;
  std::set<std::shared_ptr<ExecProcess>> execs_;
  std::vector<std::string> folders_at_start_;  // of pods; those that nobody asked for later are tidied away

  sys::FileDescriptor exits_;
  std::unique_ptr<sys::Subscription> exits_watch_;
  sys::TimerId rotation_ = sys::TimerId::kNone;
  sys::TimerId tidying_ = sys::TimerId::kNone;
  sys::TimerId collecting_ = sys::TimerId::kNone;

  sys::SpawningCommandRunner runner_;
  sys::WorkerPool workers_;
  ImageStore images_;
};

}  // namespace gangway::agent::oci
