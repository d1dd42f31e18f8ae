#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "agent/oci/exec_program.h"
#include "agent/oci/init_program.h"
#include "agent/oci/mounts.h"
#include "agent/oci/oci_answer.h"
#include "agent/oci/oci_runtime.h"
#include "sys/files.h"
#include "sys/log.h"

namespace gangway::agent::oci {
namespace {

constexpr auto kRotationTick = std::chrono::seconds(10);
// Time enough for an agent to ask for all pods that are still its own.
constexpr auto kTidyTick = std::chrono::hours(1);
constexpr auto kImagesTick = std::chrono::minutes(5);

// Containers that run keep the program they have: it is replaced, not written to.
Result<void> keep_program(const std::string& path, std::string_view program) {
  if (sys::read_file(path).value_or("") == program) return {};
  return replace_file(path, program, 0755);
}

Result<void> make_places(const Layout& layout) {
  for (const auto& folder : {layout.root(), layout.runtime_root(), layout.exits(), layout.logs(), layout.pods()}) {
    GW_CHECKED(make_folders(folder, 0700));
  }
  GW_CHECKED(unmount_below(layout.probes()));
  GW_CHECKED(remove_tree(layout.probes()));
  GW_CHECKED(keep_program(layout.init(), init_program()));
  return keep_program(layout.exec(), exec_program());
}

struct Start {
  Left left;
  ImageIndex images;
};

}  // namespace

Result<void> OciRuntime::watch_exits() {
  exits_watch_.reset();
  exits_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!exits_) return sys::file_error("watch", layout_.exits());
  // conmon renames the finished file to its name.
  if (::inotify_add_watch(exits_.get(), layout_.exits().c_str(), IN_MOVED_TO | IN_CLOSE_WRITE) < 0) {
    return sys::file_error("watch", layout_.exits());
  }
  exits_watch_ = loop_.watch_fd(exits_.get(), sys::EventLoop::FdEvent::kReadable, [this] { read_exits(); });
  return {};
}

void OciRuntime::recover(RuntimeSink& sink, sys::Completion<Found> done) {
  sink_ = nullptr;  // until the answer: what it lists is not told twice
  auto* told = &sink;
  auto ready = make_places(layout_);
  if (ready) ready = watch_exits();
  if (!ready) return answer<Found>(std::move(done), std::move(ready).error());
  sys::log_info("containers run with " + support_.reason,
                {{"cgroups", support_.cgroups.describe()}, {"id", layout_.short_id()}});
  for (const auto* controller : {"cpu", "memory", "pids"}) {
    if (!support_.cgroups.has(controller)) {
      sys::log_warning("this machine has no cgroup controller for a limit, which is not held", {{"limit", controller}});
    }
  }
  workers_.run<Start>(
      [layout = layout_, cgroups = support_.cgroups]() -> Result<Start> {
        Start start;
        GW_TRY(start.left, find_left(layout, cgroups));
        GW_TRY(start.images, ImageStore::read(layout.images()));
        return start;
      },
      [this, told, done = std::move(done)](Result<Start> start) {
        if (!start) return done(std::move(start).error());
        images_.adopt(std::move(start->images));
        const auto left = std::make_shared<Left>(std::move(start->left));
        adopt_networks(left, [this, told, done](Result<Found> found) {
          if (found) sink_ = told;
          done(std::move(found));
        });
      });
}

void OciRuntime::adopt_networks(const std::shared_ptr<Left>& left, const sys::Completion<Found>& done) {
  std::set<std::string> pods;
  for (const auto& [uid, sandbox] : left->sandboxes) pods.insert(uid);
  network_.recover(std::move(pods), [this, left, done, alive = std::weak_ptr(alive_)](
                                        Result<std::map<std::string, PodAddresses>> attached) {
    if (alive.expired()) return;
    if (!attached) return done(std::move(attached).error());
    std::erase_if(left->sandboxes,
                  [&](const auto& entry) { return !entry.second.host_network && !attached->contains(entry.first); });
    adopt(std::move(*left), done);
  });
}

void OciRuntime::adopt(Left left, sys::Completion<Found> done) {
  sandboxes_ = std::move(left.sandboxes);
  folders_at_start_ = std::move(left.pods);
  containers_.clear();
  by_runtime_id_.clear();
  Found found;
  for (const auto& [uid, sandbox] : sandboxes_) found.sandboxes.emplace(uid, Sandbox{sandbox.addresses});
  for (const auto& container : left.containers) found.containers.push_back(adopt_container(container));
  recovered_ = true;
  loop_.cancel(rotation_);
  rotation_ = loop_.run_after(kRotationTick, [this] { rotate_logs(); });
  tidy_later();
  collect_images();
  done(std::move(found));
}

FoundContainer OciRuntime::adopt_container(const LeftContainer& left) {
  const auto container = std::make_shared<Container>();
  container->record = left.record;
  container->started = left.started;
  containers_[left.record.id] = container;
  by_runtime_id_[layout_.runtime_id(left.record.id)] = left.record.id;
  FoundContainer found{.id = left.record.id, .running = std::nullopt, .exited = std::nullopt};
  // It may have ended since it was looked at; the inotify watch is older than that look.
  auto exit = read_exit(layout_, support_.cgroups, left.record, left.started);
  if (!exit && left.verdict == Verdict::kRunning) {
    found.running = Started{left.started.pid, left.started.at};
    watch_process(container);
    return found;
  }
  if (!exit) exit = lost_exit(left.record, left.started);
  container->exit = *exit;
  found.exited = std::move(*exit);
  return found;
}

// ── housekeeping ──

void OciRuntime::rotate_logs() {
  for (const auto& [id, container] : containers_) {
    if (!container->started || container->exit) continue;
    const std::string log = layout_.log(container->record.pod, id);
    struct stat facts{};
    if (::stat(log.c_str(), &facts) != 0 || facts.st_size < options_.logs.max_bytes) continue;
    workers_.run<void>([log, now = loop_.clock().wall(), max = options_.logs.max_files,
                        control = layout_.container(id) + "/ctl"] { return rotate(log, now, max, control); },
                       [log](Result<void> rotated) {
                         if (!rotated)
                           sys::log_warning("a log was not rotated",
                                            {{"log", log}, {"error", rotated.error().message}});
                       });
  }
  rotation_ = loop_.run_after(kRotationTick, [this] { rotate_logs(); });
}

void OciRuntime::collect_images() {
  images_.collect([this] {
    std::set<std::string> digests;
    for (const auto& [id, container] : containers_) digests.insert(container->record.image);
    return digests;
  });
  loop_.cancel(collecting_);
  collecting_ = loop_.run_after(kImagesTick, [this] { collect_images(); });
}

void OciRuntime::tidy_later() {
  loop_.cancel(tidying_);
  tidying_ = loop_.run_after(kTidyTick, [this] { tidy(); });
}

void OciRuntime::tidy() {
  std::vector<std::string> here;
  for (const auto& [uid, sandbox] : sandboxes_) here.push_back(uid);
  for (const auto& [uid, making] : making_) here.push_back(uid);
  for (const auto& [id, container] : containers_) here.push_back(id.pod_uid);
  // What an earlier agent left of pods that this one never asked for.
  auto forgotten = std::exchange(folders_at_start_, {});
  std::erase_if(forgotten, [&](const auto& uid) { return std::find(here.begin(), here.end(), uid) != here.end(); });
  workers_.run<void>(
      [layout = layout_, cgroups = support_.cgroups, here, forgotten, now = loop_.clock().wall(),
       keep = options_.logs.keep]() -> Result<void> {
        for (const auto& uid : forgotten) {
          GW_CHECKED(remove_pod(layout, cgroups, uid));
          mark_gone(layout.logs(), uid, now);
        }
        return tidy_logs(layout.logs(), here, now, keep);
      },
      [](Result<void> tidied) {
        if (!tidied) sys::log_warning("old logs and folders are not all gone", {{"error", tidied.error().message}});
      });
  tidy_later();
}

}  // namespace gangway::agent::oci
