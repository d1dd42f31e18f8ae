#include "agent/network/bridge_setup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>

#include "agent/network/forward_policy.h"
#include "agent/network/machine_facts.h"
#include "agent/network/name_server.h"
#include "agent/network/netns.h"
#include "agent/network/nft_text.h"
#include "agent/network/pid_file_process.h"
#include "sys/descriptor.h"

namespace gangway::agent {
namespace {

namespace fs = std::filesystem;

Result<void> write_setting(const std::string& path, const std::string& value) {
  sys::Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return {};  // a kernel without IPv6, say
  if (!file || ::write(file.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    return internal_error(fmt::format("cannot write {} to {}: {}", value, path, std::strerror(errno)));
  return {};
}

// Both ends of a pod's cable go when one does; those whose pods' namespaces still live would stay.
std::string removal_batch(const NetworkLayout& layout) {
  std::string batch;
  std::error_code error;
  for (const auto& port : fs::directory_iterator(fmt::format("/sys/class/net/{}/brif", layout.bridge()), error))
    batch += fmt::format("link del dev {}\n", port.path().filename().string());
  if (interface_exists(layout.bridge())) batch += fmt::format("link del dev {}\n", layout.bridge());
  return batch;
}

class TearDown : public std::enable_shared_from_this<TearDown> {
 public:
  TearDown(const NetworkLayout& layout, sys::EventLoop& loop, sys::CommandRunner& runner, sys::Completion<void> done)
      : layout_(layout), loop_(loop), runner_(runner), done_(std::move(done)) {}

  void end_name_server() {
    process_ = find_process(layout_.dns_pid_file(), name_server_mark(layout_));
    if (!process_) return loop_.post([self = shared_from_this()] { self->remove_interfaces(); });
    process_->signal(SIGKILL);
    watch_ = loop_.watch_fd(process_->pidfd.get(), sys::EventLoop::FdEvent::kReadable, [self = shared_from_this()] {
      auto alive = self;
      self->watch_.reset();
      alive->remove_interfaces();
    });
  }

 private:
  void remove_interfaces() {
    for (const auto& uid : pod_namespaces(layout_)) note(remove_namespace(layout_.netns_path(uid)));
    // A namespace that died with its last holder takes its cable along, perhaps before our command does.
    run({.argv = {"ip", "-force", "-batch", "-"}, .input = removal_batch(layout_)}, false,
        [self = shared_from_this()] { self->remove_rules(); });
  }

  void remove_rules() {
    if (interface_exists(layout_.bridge()))
      note(internal_error("the bridge " + layout_.bridge() + " could not be removed"));
    run({.argv = {"nft", "-f", "-"}, .input = remove_tables({layout_.pod_table(), layout_.service_table()})}, true,
        [self = shared_from_this()] { self->forget_accepts(); });
  }

  void forget_accepts() {
    forget_forwarding(layout_, runner_, [self = shared_from_this()](Result<void> result) {
      self->note(std::move(result));
      self->remove_files();
    });
  }

  void remove_files() {
    std::error_code error;
    fs::remove_all(layout_.run_dir(), error);
    if (error) note(internal_error(fmt::format("cannot remove {}: {}", layout_.run_dir(), error.message())));
    done_(std::move(first_error_));
  }

  void run(sys::Command command, bool must_succeed, sys::Task next) {
    runner_.run(command, [self = shared_from_this(), command, must_succeed, next](Result<sys::CommandResult> result) {
      auto done = sys::require_success(command, std::move(result));
      if (must_succeed && !done) self->note(done.error());
      next();
    });
  }

  // What cannot be removed does not keep us from removing the rest.
  void note(Result<void> result) {
    if (!result && first_error_) first_error_ = std::move(result);
  }

  NetworkLayout layout_;
  sys::EventLoop& loop_;
  sys::CommandRunner& runner_;
  sys::Completion<void> done_;
  std::optional<PidFileProcess> process_;
  std::unique_ptr<sys::Subscription> watch_;
  Result<void> first_error_;
};

}  // namespace

std::string bridge_batch(const NetworkLayout& layout, bool exists) {
  std::string batch;
  // An address of its own: the kernel would give it that of whichever pod has the lowest, and change it with them.
  const auto& id = layout.id;
  if (!exists) {
    batch = fmt::format("link add name {} address 02:67:{}:{}:{}:{} type bridge\n", layout.bridge(), id.substr(2, 2),
                        id.substr(4, 2), id.substr(6, 2), id.substr(8, 2));
  }
  return batch + fmt::format("addr replace {}/{} dev {}\nlink set dev {} group {} up\n", layout.gateway_text(),
                             layout.subnet.prefix, layout.bridge(), layout.bridge(), kBridgeGroup);
}

std::vector<std::pair<std::string, std::string>> bridge_settings(const NetworkLayout& layout) {
  return {
      {"/proc/sys/net/ipv4/ip_forward", "1"},
      // Lets the machine's own connections to 127.0.0.1 reach ports of pods; those of pods to it are dropped by rule.
      {fmt::format("/proc/sys/net/ipv4/conf/{}/route_localnet", layout.bridge()), "1"},
      // No rule of ours looks at IPv6, so the machine does not speak it with pods.
      {fmt::format("/proc/sys/net/ipv6/conf/{}/disable_ipv6", layout.bridge()), "1"},
  };
}

void ensure_bridge(const NetworkLayout& layout, sys::CommandRunner& runner, sys::Completion<void> done) {
  sys::Command command{.argv = {"ip", "-batch", "-"}, .input = bridge_batch(layout, interface_exists(layout.bridge()))};
  runner.run(command, [layout, command, &runner, done](Result<sys::CommandResult> result) {
    if (auto made = sys::require_success(command, std::move(result)); !made) return done(made.error());
    for (const auto& [path, value] : bridge_settings(layout)) {
      if (auto written = write_setting(path, value); !written) return done(written);
    }
    accept_forwarding(layout, runner, done);
  });
}

void tear_down_network(const NetworkLayout& layout, sys::EventLoop& loop, sys::CommandRunner& runner,
                       sys::Completion<void> done) {
  std::make_shared<TearDown>(layout, loop, runner, std::move(done))->end_name_server();
}

}  // namespace gangway::agent
