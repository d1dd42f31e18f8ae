#include "sys/command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "sys/spawn.h"

namespace gangway::sys {
namespace {

// Input goes through a file in memory: there is nothing to write while the child runs, and nothing that can block.
Result<FileDescriptor> file_of(std::string_view input) {
  FileDescriptor file(::memfd_create("input", MFD_CLOEXEC));
  if (!file) return internal_error(std::string("cannot make a file in memory: ") + std::strerror(errno));
  while (!input.empty()) {
    const ssize_t written = ::write(file.get(), input.data(), input.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return internal_error(std::string("cannot write a file in memory: ") + std::strerror(errno));
    input.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string_view last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const auto end = text.rfind('\n');
  return end == std::string_view::npos ? text : text.substr(end + 1);
}

}  // namespace

Result<std::string> require_success(const Command& command, Result<CommandResult> result) {
  if (!result) return std::move(result).error();
  if (result->ok()) return std::move(result->out);
  const auto& name = command.argv.front();
  const std::string program = name.substr(name.rfind('/') + 1);
  if (result->timed_out) {
    Error late = internal_error(program + " did not end in time and was killed");
    late.reason = Reason::kTimeout;
    return late;
  }
  const auto said = last_line(result->err.empty() ? result->out : result->err);
  const std::string how = result->signal != 0 ? "was ended by signal " + std::to_string(result->signal)
                                              : "failed with exit code " + std::to_string(result->code);
  return internal_error(program + " " + how + (said.empty() ? "" : ": " + std::string(said)));
}

namespace {

CommandResult ended_with(int status) {
  CommandResult result;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.code = WIFSIGNALED(status) ? 128 + result.signal : WEXITSTATUS(status);
  return result;
}

std::string beginning_of(const FileDescriptor& file, std::size_t max) {
  std::string text(max, '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace

Result<CommandResult> run_and_wait(const Command& command) {
  GW_TRY(const auto input, file_of(command.input));
  GW_TRY(const auto out, file_of(""));
  GW_TRY(const auto err, file_of(""));
  SpawnSpec spec{.argv = command.argv,
                 .environment = command.environment,
                 .working_directory = command.working_directory,
                 .descriptors = {input.get(), out.get(), err.get()}};
  spec.descriptors.insert(spec.descriptors.end(), command.descriptors.begin(), command.descriptors.end());
  GW_TRY(const pid_t pid, spawn(spec));
  if (command.on_started) command.on_started(pid);
  const FileDescriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended{.fd = handle.get(), .events = POLLIN, .revents = 0};
  const int wait =
      command.timeout ? static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(*command.timeout).count()) : -1;
  int ready = 0;
  while ((ready = ::poll(&ended, 1, wait)) < 0 && errno == EINTR) {
  }
  if (ready == 0) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  auto result = ended_with(status);
  result.timed_out = ready == 0;
  result.out = beginning_of(out, command.max_output);
  result.err = beginning_of(err, command.max_output);
  return result;
}

void collect_later(EventLoop& loop, pid_t child) {
  const auto watch = std::make_shared<std::unique_ptr<Subscription>>();
  *watch = loop.on_exit(child, [watch](int) { watch->reset(); });
}

struct SpawningCommandRunner::Stream {
  FileDescriptor fd;
  std::unique_ptr<Subscription> watch;
  std::string text;
  std::size_t max = 0;
  std::function<void(std::string_view)> on_line;
  std::string line;

  void take(std::string_view bytes) {
    text.append(bytes.substr(0, max - std::min(max, text.size())));
    if (!on_line) return;
    for (const char c : bytes) {
      if (c != '\n' && line.size() < max) line += c;
      if (c == '\n') on_line(std::exchange(line, {}));
    }
  }
  enum class Got : std::uint8_t { kBytes, kNothingYet, kEnd };
  Got read_some() {
    char block[16384];
    const ssize_t got = ::read(fd.get(), block, sizeof block);
    if (got < 0) return errno == EAGAIN || errno == EINTR ? Got::kNothingYet : Got::kEnd;
    take({block, static_cast<std::size_t>(got)});
    return got > 0 ? Got::kBytes : Got::kEnd;
  }
  void listen(EventLoop& loop) {
    watch = loop.watch_fd(fd.get(), EventLoop::FdEvent::kReadable, [this] {
      if (read_some() == Got::kEnd) watch.reset();
    });
  }
  // Everything the program wrote is in the pipe once it has ended; what its descendants may still write is not waited
  // for, so a daemon that kept the pipe does not hold the answer up.
  void drain() {
    watch.reset();
    while (read_some() == Got::kBytes) {
    }
    if (on_line && !line.empty()) on_line(std::exchange(line, {}));
  }
};

struct SpawningCommandRunner::Run {
  std::uint64_t id = 0;
  Command command;
  Completion<CommandResult> done;
  pid_t pid = 0;
  Stream out;
  Stream err;
  std::unique_ptr<Subscription> exit;
  TimerId timer = TimerId::kNone;
  bool timed_out = false;
};

SpawningCommandRunner::SpawningCommandRunner(EventLoop& loop) : loop_(loop), alive_(std::make_shared<int>(0)) {}

SpawningCommandRunner::~SpawningCommandRunner() {
  for (const auto& [id, run] : runs_) loop_.cancel(run->timer);
}

void SpawningCommandRunner::fail(Error error, Completion<CommandResult> done) {
  loop_.post([alive = std::weak_ptr(alive_), error = std::move(error), done = std::move(done)] {
    if (alive.lock()) done(error);
  });
}

void SpawningCommandRunner::run(Command command, Completion<CommandResult> done) {
  auto run = std::make_unique<Run>();
  run->id = ++last_;
  run->command = std::move(command);
  if (auto started = start(*run); !started) return fail(std::move(started).error(), std::move(done));
  run->done = std::move(done);
  const auto id = run->id;
  run->exit = loop_.on_exit(run->pid, [this, id](int status) { finish(id, status); });
  if (run->command.timeout) {
    run->timer = loop_.run_after(*run->command.timeout, [this, id] {
      const auto late = runs_.find(id);
      if (late == runs_.end()) return;
      late->second->timed_out = true;
      ::kill(-late->second->pid, SIGKILL);  // not collected yet, so the number is still its own
    });
  }
  run->out.listen(loop_);
  run->err.listen(loop_);
  runs_.emplace(id, std::move(run));
}

Result<void> SpawningCommandRunner::start(Run& run) {
  GW_TRY(const auto input, file_of(run.command.input));
  GW_TRY(auto out, make_pipe());
  GW_TRY(auto err, make_pipe());
  SpawnSpec spec{.argv = run.command.argv,
                 .environment = run.command.environment,
                 .working_directory = run.command.working_directory,
                 .descriptors = {input.get(), out.writer.get(), err.writer.get()}};
  spec.descriptors.insert(spec.descriptors.end(), run.command.descriptors.begin(), run.command.descriptors.end());
  GW_TRY(run.pid, spawn(spec));
  run.out.fd = std::move(out.reader);
  run.err.fd = std::move(err.reader);
  run.out.max = run.err.max = run.command.max_output;
  run.out.on_line = run.command.on_line;
  if (run.command.on_started) run.command.on_started(run.pid);
  return {};
}

void SpawningCommandRunner::finish(std::uint64_t id, int status) {
  auto node = runs_.extract(id);
  if (node.empty()) return;
  auto& run = *node.mapped();
  loop_.cancel(run.timer);
  run.out.drain();
  run.err.drain();
  auto result = ended_with(status);
  result.timed_out = run.timed_out;
  result.out = std::move(run.out.text);
  result.err = std::move(run.err.text);
  const auto done = std::move(run.done);
  done(std::move(result));
}

}  // namespace gangway::sys
