#include "host_runtime.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/time.h"
#include "sys/files.h"

namespace gangway::test_node {
namespace {

// A process that was started by exec, for as long as somebody listens.
class Session final : public agent::ExecSession {
 public:
  explicit Session(std::shared_ptr<HostProcess> process) : process_(std::move(process)) {}
  ~Session() override { process_->drop_streams(); }
  void write(std::string bytes) override { process_->write(bytes); }
  std::size_t unsent() const override { return process_->unsent(); }
  void close_stdin() override { process_->close_stdin(); }
  void resize(std::uint16_t columns, std::uint16_t rows) override { process_->resize(columns, rows); }
  void pause(bool paused) override { process_->pause(paused); }
  void kill() override { process_->kill(); }

 private:
  std::shared_ptr<HostProcess> process_;
};

}  // namespace

// A client of a container's own streams.
class HostRuntime::Attached final : public agent::ExecSession {
 public:
  Attached(std::shared_ptr<Container> container, agent::ExecCallbacks callbacks)
      : container_(std::move(container)), callbacks_(std::move(callbacks)) {
    container_->attached.insert(this);
  }
  ~Attached() override { container_->attached.erase(this); }
  void write(std::string bytes) override { container_->process->write(bytes); }
  std::size_t unsent() const override { return container_->process->unsent(); }
  void close_stdin() override {}
  void resize(std::uint16_t columns, std::uint16_t rows) override { container_->process->resize(columns, rows); }
  void pause(bool) override {}
  void kill() override {}
  const agent::ExecCallbacks& callbacks() const { return callbacks_; }

 private:
  std::shared_ptr<Container> container_;
  agent::ExecCallbacks callbacks_;
};

Result<void> HostRuntime::run(const agent::ContainerId& id, const HostProcessSpec& spec, std::function<void()> ended) {
  const auto container = std::make_shared<Container>();
  agent::ExecCallbacks callbacks;
  callbacks.on_output = [this, id, container](int stream, const std::string& bytes) {
    log(id, stream, bytes);
    for (auto* client : std::set(container->attached)) client->callbacks().on_output(stream, bytes);
  };
  callbacks.on_exit = [this, id, container, ended = std::move(ended)](int code) {
    containers_.erase(id);
    for (auto* client : std::set(container->attached)) client->callbacks().on_exit(code);
    ended();
  };
  callbacks.on_failure = [](const std::string&) {};
  container->process = std::make_shared<HostProcess>(loop_, std::move(callbacks));
  GW_CHECKED(container->process->start(spec));
  containers_[id] = container;
  return {};
}

std::string HostRuntime::log_file(const agent::ContainerId& id) const {
  return fmt::format("{}/{}-{}-{}.log", folder_, id.pod_uid, id.container, id.attempt);
}

void HostRuntime::log(const agent::ContainerId& id, int stream, const std::string& bytes) {
  const auto found = containers_.find(id);
  if (found == containers_.end()) return;
  auto& unfinished = found->second->unfinished[stream - 1];
  unfinished += bytes;
  std::ofstream file(log_file(id), std::ios::app | std::ios::binary);
  for (auto end = unfinished.find('\n'); end != std::string::npos; end = unfinished.find('\n')) {
    file << to_rfc3339_nano(loop_.clock().wall()) << (stream == 1 ? " stdout F " : " stderr F ")
         << unfinished.substr(0, end) << '\n';
    unfinished.erase(0, end + 1);
  }
}

std::shared_ptr<agent::ExecSession> HostRuntime::exec(agent::ExecSpec spec, agent::ExecCallbacks callbacks) {
  if (spec.command.empty()) return attach(spec, std::move(callbacks));
  const auto on_failure = callbacks.on_failure;
  auto process = std::make_shared<HostProcess>(loop_, std::move(callbacks));
  const auto started = process->start({spec.command, spec.stdin_open, spec.terminal});
  if (!started) loop_.post([on_failure, reason = started.error().message] { on_failure(reason); });
  return std::make_shared<Session>(std::move(process));
}

std::shared_ptr<agent::ExecSession> HostRuntime::attach(const agent::ExecSpec& spec, agent::ExecCallbacks callbacks) {
  const auto found = containers_.find(spec.container);
  if (found != containers_.end()) return std::make_shared<Attached>(found->second, std::move(callbacks));
  loop_.post([on_failure = callbacks.on_failure] { on_failure("the container does not run"); });
  return std::make_shared<Attached>(std::make_shared<Container>(), std::move(callbacks));
}

void HostRuntime::connect(const std::string&, std::uint16_t port, sys::Completion<int> done) {
  sys::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Result<int> answer = 0;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    answer = socket.release();
  else
    answer = bad_request(fmt::format("failed to connect to localhost:{}: {}", port, std::strerror(errno)));
  loop_.post([done = std::move(done), answer = std::move(answer)] { done(answer); });
}

Result<agent::Usage> HostRuntime::usage(const agent::ContainerId& id) const {
  const auto found = containers_.find(id);
  if (found == containers_.end()) return bad_request("no such container");
  const std::string proc = fmt::format("/proc/{}", found->second->process->pid());
  GW_TRY(const auto stat, sys::read_file(proc + "/stat"));
  GW_TRY(const auto statm, sys::read_file(proc + "/statm"));
  // Behind the name in parentheses: state, and eleven fields later the ticks in user and kernel mode.
  std::istringstream fields(stat.substr(stat.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  std::int64_t user = 0;
  std::int64_t kernel = 0;
  fields >> user >> kernel;
  std::istringstream pages(statm);
  std::int64_t total = 0;
  std::int64_t resident = 0;
  pages >> total >> resident;
  return agent::Usage{.cpu_nanoseconds = (user + kernel) * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)),
                      .memory_bytes = resident * ::sysconf(_SC_PAGESIZE)};
}

}  // namespace gangway::test_node
