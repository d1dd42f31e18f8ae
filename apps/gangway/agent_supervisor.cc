#include "agent_supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "client/backoff.h"
#include "run_on.h"
#include "sys/file_descriptor.h"
#include "sys/files.h"
#include "sys/log.h"
#include "sys/process_end.h"
#include "sys/spawn.h"

namespace gangway {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(200);
constexpr Duration kLongestPause = std::chrono::seconds(10);
// One that ran for so long did not fail at its start.
constexpr Duration kWellRun = std::chrono::minutes(1);
constexpr int kLeaveTimeoutMs = 15'000;
// One every kFirstPause: as long as kLeaveTimeoutMs.
constexpr unsigned kMostNudges = 75;
constexpr int kStopTimeoutMs = 90'000;
constexpr off_t kMostLog = 16 * 1024;

// What a process that failed had to say: what it wrote from its last "error: " on, else nothing.
std::string last_error_in(std::string_view log) {
  constexpr std::string_view kError = "error: ";
  std::size_t at = log.rfind("\nerror: ");
  if (at != std::string_view::npos) {
    ++at;
  } else if (log.starts_with(kError)) {
    at = 0;
  } else {
    return {};
  }
  std::string_view said = log.substr(at + kError.size());
  while (said.ends_with('\n')) said.remove_suffix(1);
  return std::string(said);
}

}  // namespace

Result<void> end_agent(const cli::DataDir& data, cli::PodsThen pods) {
  const auto pid = data.running_agent();
  if (!pid) return {};
  const sys::FileDescriptor handle = sys::watch_process(*pid);
  if (!handle) return {};  // it has just ended
  const bool end_pods = pods == cli::PodsThen::kEnd;
  kill(*pid, end_pods ? SIGUSR2 : SIGTERM);
  if (sys::ends_within(handle, end_pods ? kStopTimeoutMs : kLeaveTimeoutMs)) return {};
  sys::log_warning("the agent does not end and is killed", {{"pid", *pid}});
  kill(*pid, SIGKILL);
  if (sys::ends_within(handle, kLeaveTimeoutMs)) return {};
  return internal_error(fmt::format("the agent, process {}, does not end", *pid));
}

struct AgentSupervisor::State : std::enable_shared_from_this<AgentSupervisor::State> {
  State(sys::EventLoop& given_loop, cli::DataDir given_data) : loop(given_loop), data(std::move(given_data)) {}

  void launch();
  bool replaces_other();
  void ended(int status);
  Result<pid_t> spawn();
  std::string said_since_launch() const;

  sys::EventLoop& loop;
  cli::DataDir data;
  bool stopping = false;
  pid_t pid = 0;
  unsigned failures = 0;
  unsigned launches = 0;
  unsigned nudges = 0;
  std::string last_error;
  MonoTime launched_at;
  off_t log_size = 0;  // when it was launched
  std::unique_ptr<sys::Subscription> end_watch;
  sys::TimerId timer = sys::TimerId::kNone;
};

Result<pid_t> AgentSupervisor::State::spawn() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return internal_error(fmt::format("cannot tell which program this is: {}", error.message()));
  const sys::FileDescriptor log(open(data.agent_log_file().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) return internal_error(fmt::format("cannot open {}: {}", data.agent_log_file(), std::strerror(errno)));
  log_size = lseek(log.get(), 0, SEEK_END);
  sys::SpawnSpec spec;
  spec.argv = {program.string(), "agent", "--config", data.agent_config()};
  spec.working_directory = "/";
  spec.descriptors = {-1, log.get(), log.get()};
  spec.own_session = true;
  return sys::spawn(spec);
}

std::string AgentSupervisor::State::said_since_launch() const {
  const sys::FileDescriptor log(open(data.agent_log_file().c_str(), O_RDONLY | O_CLOEXEC));
  const off_t end = log ? lseek(log.get(), 0, SEEK_END) : 0;
  // It may have run for weeks: what it says last is at the end.
  const off_t from = std::max(log_size, end - kMostLog);
  if (end <= from) return {};
  std::string text(static_cast<std::size_t>(end - from), '\0');
  const ssize_t got = pread(log.get(), text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

// An agent that a server started in its last moment may have told its process id only after this one looked for it.
// Ours does not run when this is asked, so whoever does is in its way.
bool AgentSupervisor::State::replaces_other() {
  const auto other = data.running_agent();
  if (!other) {
    nudges = 0;
    return false;
  }
  kill(*other, ++nudges > kMostNudges ? SIGKILL : SIGTERM);
  return true;
}

void AgentSupervisor::State::launch() {
  timer = sys::TimerId::kNone;
  if (stopping) return;
  if (replaces_other()) {
    timer = loop.run_after(kFirstPause, [this] { launch(); });
    return;
  }
  ++launches;
  launched_at = loop.clock().mono();
  auto spawned = spawn();
  if (!spawned) {
    last_error = spawned.error().message;
    sys::log_error("the agent cannot be started", {{"error", last_error}});
    timer = loop.run_after(client::doubled(kFirstPause, kLongestPause, failures++), [this] { launch(); });
    return;
  }
  pid = *spawned;
  end_watch = loop.on_exit(pid, [weak = weak_from_this()](int status) {
    if (auto self = weak.lock()) self->ended(status);
  });
}

void AgentSupervisor::State::ended(int status) {
  pid = 0;
  end_watch.reset();
  if (stopping) return;
  if (loop.clock().mono() - launched_at >= kWellRun) failures = 0;
  last_error = WIFSIGNALED(status) ? fmt::format("ended by signal {}", WTERMSIG(status))
                                   : fmt::format("ended with {}", WEXITSTATUS(status));
  if (auto said = last_error_in(said_since_launch()); !said.empty()) last_error = std::move(said);
  sys::log_error("the agent has ended and is started again", {{"how", last_error}, {"log", data.agent_log_file()}});
  timer = loop.run_after(client::doubled(kFirstPause, kLongestPause, failures++), [this] { launch(); });
}

AgentSupervisor::AgentSupervisor(sys::EventLoop& loop, cli::DataDir data)
    : state_(std::make_shared<State>(loop, std::move(data))) {}

AgentSupervisor::~AgentSupervisor() {
  run_on(state_->loop, [state = state_] {
    state->stopping = true;
    state->end_watch.reset();
    state->loop.cancel(state->timer);
    return true;
  });
}

Result<void> AgentSupervisor::start(const cli::AgentConfig& config) {
  GW_CHECKED(end_agent(state_->data, cli::PodsThen::kGoOn));
  GW_CHECKED(sys::atomic_write(state_->data.agent_config(), cli::write_agent_config(config), 0600));
  run_on(state_->loop, [state = state_] {
    state->launch();
    return true;
  });
  return {};
}

void AgentSupervisor::stop(cli::PodsThen pods) {
  run_on(state_->loop, [state = state_] {
    state->stopping = true;
    state->loop.cancel(state->timer);
    return true;
  });
  if (auto ended = end_agent(state_->data, pods); !ended)
    sys::log_error("the agent was not stopped", {{"error", ended.error().message}});
}

AgentSupervisor::Failure AgentSupervisor::failure() const {
  return {state_->failures, state_->last_error};
}

json::Object AgentSupervisor::report() const {
  auto detail = state_->pid > 0 ? fmt::format("process {}", state_->pid) : std::string("does not run");
  if (state_->launches > 1) detail += fmt::format(", started {} times; last: {}", state_->launches, state_->last_error);
  return {{"name", "agent"}, {"state", state_->pid > 0 ? "running" : "starting"}, {"detail", detail}};
}

}  // namespace gangway
