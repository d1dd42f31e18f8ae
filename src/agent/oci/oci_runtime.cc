#include "agent/oci/oci_runtime.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "agent/oci/container_build.h"
#include "agent/oci/foreign_file.h"
#include "agent/oci/mounts.h"
#include "agent/oci/namespaces.h"
#include "agent/oci/oci_answer.h"
#include "agent/oci/processes.h"
#include "agent/oci/volumes.h"
#include "base/quote.h"
#include "sys/log.h"

namespace gangway::agent::oci {
namespace {

// Between a process's end and its shim's there is the rest of the log; looked at so often.
constexpr auto kExitPatience = std::chrono::seconds(10);

// Each start is a tenth of a second of processor time in several programs; more at once only make all of them late.
constexpr std::size_t kStartsAtOnce = 8;

// PID 1 of a namespace gets no signal before it asks for it, and a container counts as started some milliseconds before
// its init has done so.
Result<void> send_signal(const sys::FileDescriptor& handle, pid_t pid, int signal) {
  pollfd gone{.fd = handle.get(), .events = POLLIN, .revents = 0};
  for (int round = 0; signal != SIGKILL && round < 1000 && !ignores(pid, SIGTTOU); ++round) {
    if (::poll(&gone, 1, 1) != 0) return {};
  }
  if (::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0 || errno == ESRCH) return {};
  return internal_error(std::string("the container cannot be signalled: ") + std::strerror(errno));
}

}  // namespace

OciRuntime::OciRuntime(sys::EventLoop& loop, PodNetwork& network, OciOptions options, Support support)
    : loop_(loop),
      network_(network),
      options_(std::move(options)),
      support_(std::move(support)),
      layout_(options_.data_dir),
      alive_(std::make_shared<int>(0)),
      runner_(loop),
      workers_(loop),
      images_(loop, runner_, workers_, layout_.images(), {.skopeo = support_.skopeo, .umoci = support_.umoci},
              options_.images) {
  std::signal(SIGPIPE, SIG_IGN);
}

OciRuntime::~OciRuntime() {
  // A start under way holds its container, which holds it.
  for (const auto& [id, container] : containers_) container->starting.reset();
  loop_.cancel(rotation_);
  loop_.cancel(tidying_);
  loop_.cancel(collecting_);
}

// ── volumes and images ──

void OciRuntime::prepare_volume(VolumeSpec spec, sys::Completion<void> done) {
  workers_.run<void>([layout = layout_, spec = std::move(spec)] { return oci::prepare_volume(layout, spec); },
                     std::move(done));
}

void OciRuntime::remove_volumes(const std::string& pod_uid, sys::Completion<void> done) {
  workers_.run<void>([layout = layout_, pod_uid] { return oci::remove_volumes(layout, pod_uid); }, std::move(done));
}

bool OciRuntime::pulls(const std::string& node) const {
  const auto own = options_.node_policies.find(node);
  return (own == options_.node_policies.end() ? options_.image_policy : own->second) == ImagePolicy::kPull;
}

void OciRuntime::prepare_image(ImageRequest request, sys::Completion<Image> done) {
  if (pulls(request.pod.node)) return images_.prepare(std::move(request), std::move(done));
  Image image;
  image.id = "host:" + request.image;
  image.message = "Image " + quoted(request.image) +
                  " is not pulled: imagePolicy host runs the container on the node's own root file system";
  answer<Image>(std::move(done), std::move(image));
}

// ── starting ──

OciRuntime::ContainerPtr OciRuntime::find(const ContainerId& id) const {
  const auto found = containers_.find(id);
  return found == containers_.end() ? nullptr : found->second;
}

void OciRuntime::start(ContainerSpec spec, sys::Completion<Started> done) {
  auto checked = check_path_parts(spec.id);
  if (checked) checked = check_path_parts(spec.pod);
  if (!checked) return answer<Started>(std::move(done), std::move(checked).error());
  if (const auto known = find(spec.id)) {
    if (known->started) return answer<Started>(std::move(done), Started{known->started->pid, known->started->at});
    known->waiting.push_back(std::move(done));
    return;
  }
  if (!sandboxes_.contains(spec.id.pod_uid)) {
    return answer<Started>(std::move(done), internal_error("the pod has no sandbox"));
  }
  if (pulls(spec.pod.node) && images_.find(spec.image) == nullptr) {
    return answer<Started>(std::move(done), internal_error("image " + quoted(spec.image) + " is not there"));
  }
  const auto container = std::make_shared<Container>();
  container->record = {.id = spec.id, .pod = spec.pod};
  if (pulls(spec.pod.node)) {
    container->record.image = images_.find(spec.image)->digest;
    images_.touch(spec.image);
  }
  container->waiting.push_back(std::move(done));
  container->asked = sys::system_clock().mono();
  containers_.emplace(spec.id, container);
  by_runtime_id_.emplace(layout_.runtime_id(spec.id), spec.id);
  build(container, std::move(spec));
}

void OciRuntime::build(const ContainerPtr& container, ContainerSpec spec) {
  BuildInput input{.spec = spec,
                   .sandbox = sandboxes_.at(spec.id.pod_uid),
                   .image = std::nullopt,
                   .real_gpus = options_.real_gpus,
                   .gpu_hook = support_.gpu_hook};
  if (pulls(spec.pod.node)) input.image = *images_.find(spec.image);
  workers_.run<ContainerRecord>([layout = layout_, cgroups = support_.cgroups,
                                 input = std::move(input)] { return build_container(layout, cgroups, input); },
                                [this, container, spec = std::move(spec)](Result<ContainerRecord> built) {
                                  if (!built) return fail_start(container, std::move(built).error());
                                  container->record = std::move(*built);
                                  container->built = sys::system_clock().mono();
                                  launches_.emplace_back(container, ShimOptions{.terminal = spec.terminal,
                                                                                .stdin_open = spec.stdin_open,
                                                                                .stdin_once = spec.stdin_once});
                                  launch_next();
                                });
}

void OciRuntime::launch_next() {
  while (launching_ < kStartsAtOnce && !launches_.empty()) {
    const auto [container, options] = std::move(launches_.front());
    launches_.pop_front();
    ++launching_;
    launch(container, options);
  }
}

void OciRuntime::launch(const ContainerPtr& container, const ShimOptions& options) {
  container->starting = std::make_shared<ContainerStart>(loop_, runner_, layout_, support_, container->record);
  container->starting->run(options, [this, container](Result<StartedRecord> started) {
    const auto finished = std::exchange(container->starting, nullptr);
    --launching_;
    launch_next();
    if (started) return on_started(container, *started);
    // It may have been created, and must not be found again.
    auto error = std::make_shared<Error>(std::move(started).error());
    workers_.run<void>([layout = layout_, cgroups = support_.cgroups,
                        id = container->record.id] { return remove_container(layout, cgroups, id); },
                       [this, container, error](Result<void> removed) {
                         if (!removed) {
                           sys::log_warning("a container that did not start is not gone",
                                            {{"error", removed.error().message}});
                         }
                         fail_start(container, std::move(*error));
                       });
  });
}

void OciRuntime::fail_start(const ContainerPtr& container, Error error) {
  containers_.erase(container->record.id);
  by_runtime_id_.erase(layout_.runtime_id(container->record.id));
  for (const auto& done : std::exchange(container->waiting, {})) done(error);
}

void OciRuntime::on_started(const ContainerPtr& container, const StartedRecord& started) {
  container->started = started;
  watch_process(container);
  const auto millis = [](Duration span) { return std::chrono::duration_cast<std::chrono::milliseconds>(span).count(); };
  sys::log_debug("a container was started", {{"container", layout_.runtime_id(container->record.id)},
                                             {"build_ms", millis(container->built - container->asked)},
                                             {"start_ms", millis(sys::system_clock().mono() - container->built)}});
  for (const auto& done : std::exchange(container->waiting, {})) done(Started{started.pid, started.at});
  // It may have ended before we knew that it had begun.
  const auto runtime_id = layout_.runtime_id(container->record.id);
  if (::access((layout_.exits() + "/" + runtime_id).c_str(), F_OK) == 0) {
    loop_.post([this, alive = std::weak_ptr(alive_), runtime_id] {
      if (!alive.expired()) on_exit_file(runtime_id);
    });
  }
}

// ── ending ──

void OciRuntime::watch_process(const ContainerPtr& container) {
  container->handle.reset(static_cast<int>(::syscall(SYS_pidfd_open, container->started->pid, 0)));
  // A number that is another process's by now must not be signalled.
  if (container->handle && start_ticks_of(container->started->pid) != container->started->ticks)
    container->handle.reset();
  if (!container->handle) return expect_exit(container->record.id);
  container->end_watch = loop_.watch_fd(container->handle.get(), sys::EventLoop::FdEvent::kReadable,
                                        [this, weak = std::weak_ptr(container)] {
                                          const auto watched = weak.lock();
                                          if (!watched) return;
                                          expect_exit(watched->record.id);
                                          watched->end_watch.reset();
                                        });
}

// The process is gone. As long as its shim is there the exit will be told, and the log is not whole before.
void OciRuntime::expect_exit(const ContainerId& id) {
  loop_.run_after(kExitPatience, [this, id, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    const auto gone = find(id);
    if (!gone || gone->exit) return;
    if (has_shim(layout_, id)) return expect_exit(id);
    on_exit_file(layout_.runtime_id(id));
    if (!gone->exit) ended(gone, lost_exit(gone->record, *gone->started));
  });
}

Exit OciRuntime::lost_exit(const ContainerRecord& container, const StartedRecord& started) const {
  Exit exit;
  exit.code = 128 + SIGKILL;
  exit.lost = true;
  exit.started_at = started.at;
  exit.at = loop_.clock().wall();
  exit.message = read_message(layout_, container, exit.code);
  return exit;
}

void OciRuntime::read_exits() {
  alignas(inotify_event) char block[16384];
  for (;;) {
    const ssize_t got = ::read(exits_.get(), block, sizeof block);
    if (got <= 0) return;
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(block + at);
      if (event->len > 0) on_exit_file(event->name);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      if ((event->mask & IN_Q_OVERFLOW) != 0) {
        for (const auto& [runtime_id, id] : std::map(by_runtime_id_)) on_exit_file(runtime_id);
      }
    }
  }
}

void OciRuntime::on_exit_file(const std::string& runtime_id) {
  const auto known = by_runtime_id_.find(runtime_id);
  if (known == by_runtime_id_.end()) return;
  const auto container = find(known->second);
  if (!container || !container->started || container->exit) return;
  auto exit = read_exit(layout_, support_.cgroups, container->record, *container->started);
  if (exit) ended(container, std::move(*exit));
}

void OciRuntime::ended(const ContainerPtr& container, Exit exit) {
  container->exit = exit;
  container->end_watch.reset();
  container->handle.reset();
  if (!container->record.own_processes) {
    // Nobody else ends what it leaves in a process namespace that is not its own.
    workers_.run<void>(
        [cgroups = support_.cgroups, path = layout_.cgroup(container->record.id)] { return cgroups.kill(path); },
        [](Result<void>) {});
  }
  for (const auto& weak : std::exchange(container->attached, {})) {
    if (const auto session = weak.lock()) session->container_ended(exit.code);
  }
  if (sink_ != nullptr) sink_->on_exit(container->record.id, exit);
}

void OciRuntime::signal(const ContainerId& id, int signal, sys::Completion<void> done) {
  const auto container = find(id);
  if (!container || !container->handle) return answer<void>(std::move(done), {});
  const auto handle = std::make_shared<sys::FileDescriptor>(::fcntl(container->handle.get(), F_DUPFD_CLOEXEC, 3));
  const bool everything = signal == SIGKILL && !container->record.own_processes;
  workers_.run<void>(
      [cgroups = support_.cgroups, path = layout_.cgroup(id), pid = container->started->pid, handle, signal,
       everything]() -> Result<void> {
        GW_CHECKED(send_signal(*handle, pid, signal));
        if (everything) return cgroups.kill(path);
        return {};
      },
      std::move(done));
}

void OciRuntime::remove(const ContainerId& id, sys::Completion<void> done) {
  containers_.erase(id);
  by_runtime_id_.erase(layout_.runtime_id(id));
  workers_.run<void>(
      [layout = layout_, cgroups = support_.cgroups, id] { return remove_container(layout, cgroups, id); },
      std::move(done));
}

// ── looking in ──

std::shared_ptr<ExecSession> OciRuntime::exec(ExecSpec spec, ExecCallbacks callbacks) {
  const auto container = find(spec.container);
  const auto fail = [&](const std::string& reason) -> std::shared_ptr<ExecSession> {
    loop_.post([reason, on_failure = callbacks.on_failure] {
      if (on_failure) on_failure(reason);
    });
    return std::make_shared<NoSession>();
  };
  if (!container || !container->started || container->exit) {
    return fail("container " + spec.container.container + " is not running");
  }
  const std::string folder = layout_.container(spec.container);
  if (spec.command.empty()) {
    const auto session = std::make_shared<AttachSession>(loop_, folder, std::move(spec), callbacks);
    if (auto connected = session->connect(); !connected) return fail(connected.error().message);
    std::erase_if(container->attached, [](const auto& weak) { return weak.expired(); });
    container->attached.push_back(session);
    return session;
  }
  ExecRequest request{.init = layout_.init(),
                      .runtime = {support_.runtime, "--root", layout_.runtime_root()},
                      .runtime_id = layout_.runtime_id(spec.container),
                      .folder = folder,
                      .spec = std::move(spec)};
  const auto process = std::make_shared<ExecProcess>(loop_, std::move(request), callbacks);
  auto started = process->start([this, alive = std::weak_ptr(alive_), weak = std::weak_ptr(process)] {
    if (!alive.expired()) execs_.erase(weak.lock());
  });
  if (!started) return fail(started.error().message);
  execs_.insert(process);
  return std::make_shared<ExecHandle>(process);
}

void OciRuntime::connect(const std::string& pod_uid, std::uint16_t port, sys::Completion<int> done) {
  const auto sandbox = sandboxes_.find(pod_uid);
  if (sandbox == sandboxes_.end()) return answer<int>(std::move(done), internal_error("the pod has no sandbox"));
  workers_.run<int>(
      [netns = sandbox->second.netns, port]() -> Result<int> {
        GW_TRY(auto socket, connect_in(netns, port));
        return socket.release();
      },
      std::move(done));
}

std::string OciRuntime::log_path(const PodIdentity& pod, const ContainerId& id) const {
  return layout_.log(pod, id);
}

PodReport OciRuntime::report(const std::string& pod_uid) const {
  const std::string folder = layout_.report(pod_uid);
  return {.checkpoint = end_of_foreign_file(folder + "/checkpoint", kLongestReport),
          .progress = end_of_foreign_file(folder + "/progress", kLongestReport)};
}

Result<Usage> OciRuntime::usage(const ContainerId& id) const {
  return support_.cgroups.usage(layout_.cgroup(id));
}

}  // namespace gangway::agent::oci
