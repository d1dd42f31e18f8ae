#include "agent/oci/container_start.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <utility>

#include "agent/oci/mounts.h"
#include "agent/oci/tool_message.h"
#include "json/access.h"
#include "sys/files.h"
#include "sys/spawn.h"

namespace gangway::agent::oci {
namespace {

// Creating takes a tenth of a second; a machine that cannot in this time will not.
constexpr auto kPatience = std::chrono::minutes(2);

std::string path_variable() {
  const char* own = std::getenv("PATH");
  return std::string("PATH=") + (own == nullptr ? "/usr/sbin:/usr/bin:/sbin:/bin" : own);
}

}  // namespace

std::vector<std::string> shim_command(const Layout& layout, const Support& support, const ContainerRecord& container,
                                      const ShimOptions& options) {
  const std::string id = layout.runtime_id(container.id);
  const std::string folder = layout.container(container.id);
  std::vector<std::string> argv{support.conmon,
                                "--cid",
                                id,
                                "--cuuid",
                                id,
                                "--name",
                                id,
                                "--runtime",
                                support.runtime,
                                "--runtime-arg",
                                "--root",
                                "--runtime-arg",
                                layout.runtime_root(),
                                "--bundle",
                                folder,
                                "--container-pidfile",
                                folder + "/pid",
                                "--conmon-pidfile",
                                folder + "/conmon.pid",
                                "--log-path",
                                "k8s-file:" + layout.log(container.pod, container.id),
                                "--exit-dir",
                                layout.exits(),
                                "--persist-dir",
                                folder + "/persist",
                                "--full-attach",
                                "--no-sync-log",
                                "--log-level",
                                "warning"};
  if (options.terminal) argv.emplace_back("--terminal");
  if (options.stdin_open) argv.emplace_back("--stdin");
  if (options.stdin_open && !options.stdin_once) argv.emplace_back("--leave-stdin-open");
  return argv;
}

Result<pid_t> read_sync_line(std::string_view line) {
  const auto said = json::parse(line);
  if (!said) return internal_error("conmon ended without a word");
  const auto pid = static_cast<pid_t>(json::int_at(*said, {"pid"}, json::int_at(*said, {"data"}, -1)));
  if (pid > 0) return pid;
  const auto why = tool_message(json::string_at(*said, {"message"}));
  return internal_error(why.empty() ? "the container was not created" : why);
}

ContainerStart::ContainerStart(sys::EventLoop& loop, sys::CommandRunner& runner, const Layout& layout,
                               const Support& support, ContainerRecord container)
    : loop_(loop),
      runner_(runner),
      layout_(layout),
      support_(support),
      container_(std::move(container)),
      sync_(loop),
      alive_(std::make_shared<int>(0)) {}

ContainerStart::~ContainerStart() {
  loop_.cancel(deadline_);
}

void ContainerStart::run(const ShimOptions& options, sys::Completion<StartedRecord> done) {
  done_ = std::move(done);
  if (auto spawned = spawn_shim(options); !spawned) {
    loop_.post([this, alive = std::weak_ptr(alive_), error = std::move(spawned).error()] {
      if (!alive.expired()) finish(error);
    });
    return;
  }
  deadline_ = loop_.run_after(kPatience, [this] { finish(internal_error("the container was not created in time")); });
}

Result<void> ContainerStart::spawn_shim(const ShimOptions& options) {
  GW_TRY(auto sync, sys::make_pipe());
  GW_TRY(auto go, sys::make_pipe());
  ::fcntl(go.reader.get(), F_SETFL, 0);
  const std::string log = layout_.container(container_.id) + "/conmon.log";
  const sys::FileDescriptor words(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!words) return sys::file_error("create", log);
  sys::SpawnSpec spec;
  spec.argv = shim_command(layout_, support_, container_, options);
  spec.environment = {path_variable(), "_OCI_SYNCPIPE=3", "_OCI_STARTPIPE=4"};
  spec.descriptors = {-1, words.get(), words.get(), sync.writer.get(), go.reader.get()};
  spec.own_session = true;
  // It leaves a file called "oom" where it is when the kernel has killed something: not in a user's folder.
  spec.working_directory = layout_.container(container_.id);
  GW_TRY(const pid_t shim, sys::spawn(spec));
  // It forks when it is told to go on, and what it forks stays where it was put.
  support_.cgroups.adopt(layout_.shim_cgroup(container_.id), shim);
  static_cast<void>(::write(go.writer.get(), "\n", 1) == 1);
  sys::collect_later(loop_, shim);
  sync_.open(
      std::move(sync.reader),
      [this](const std::string& bytes) {
        line_ += bytes;
        if (line_.find('\n') != std::string::npos) on_line();
      },
      [this] { on_line(); });
  return {};
}

void ContainerStart::on_line() {
  // Later, because what follows may take this object away, with the reader that is calling.
  sync_.pause(true);
  loop_.post([this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired() && !std::exchange(line_read_, true)) on_created(read_sync_line(line_));
  });
}

void ContainerStart::on_created(Result<pid_t> pid) {
  if (!pid) return finish(std::move(pid).error());
  StartedRecord started{.pid = *pid, .ticks = start_ticks_of(*pid), .boot = boot_id(), .at = loop_.clock().wall()};
  // Written before it is started: with it, and without the runtime's fifo, a container counts as started.
  auto noted = replace_file(layout_.container(container_.id) + "/started.json", encode(started));
  if (!noted) return finish(std::move(noted).error());
  sys::Command start{
      .argv = {support_.runtime, "--root", layout_.runtime_root(), "start", layout_.runtime_id(container_.id)},
      .timeout = kPatience};
  runner_.run(start, [this, alive = std::weak_ptr(alive_), started](Result<sys::CommandResult> result) {
    if (alive.expired()) return;
    if (!result) return finish(std::move(result).error());
    if (!result->ok()) return finish(internal_error(tool_message(result->err)));
    finish(started);
  });
}

void ContainerStart::finish(Result<StartedRecord> outcome) {
  loop_.cancel(deadline_);
  // The answer may take this object away.
  if (const auto done = std::exchange(done_, nullptr)) done(std::move(outcome));
}

}  // namespace gangway::agent::oci
