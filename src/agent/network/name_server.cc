#include "agent/network/name_server.h"

#include <csignal>
#include <utility>

#include "agent/network/service_names.h"
#include "sys/log.h"

namespace gangway::agent {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(100);
constexpr Duration kLongestPause = std::chrono::seconds(30);
// Who served this long has earned a quick restart.
constexpr Duration kGoodService = std::chrono::minutes(1);

}  // namespace

std::string name_server_mark(const NetworkLayout& layout) {
  return "--pid-file=" + layout.dns_pid_file();
}

std::vector<std::string> name_server_arguments(const NetworkLayout& layout, const std::string& resolv_conf) {
  return {
      "dnsmasq",
      name_server_mark(layout),
      "--conf-file=/dev/null",
      "--no-hosts",
      "--hostsdir=" + layout.hosts_dir(),
      "--listen-address=" + layout.gateway_text(),
      "--bind-interfaces",
      "--resolv-file=" + resolv_conf,
      // What is the cluster's, or private and unknown, is nobody else's business: the answer is no, at once.
      "--local=/" + std::string(kClusterDomain) + "/",
      "--bogus-priv",
      // It would log every file that it reads.
      "--log-facility=/dev/null",
  };
}

NameServer::NameServer(sys::EventLoop& loop, sys::CommandRunner& runner, const NetworkLayout& layout,
                       const std::string& resolv_conf)
    : loop_(loop),
      runner_(runner),
      argv_(name_server_arguments(layout, resolv_conf)),
      pid_file_(layout.dns_pid_file()),
      mark_(name_server_mark(layout)),
      pause_(kFirstPause) {}

NameServer::~NameServer() {
  loop_.cancel(timer_);
}

void NameServer::start(sys::Completion<void> done) {
  done_ = std::move(done);
  auto found = find_process(pid_file_, mark_);
  if (!found) return launch();
  if (found->argv != argv_) {
    found->signal(SIGKILL);
    return supervise(std::move(*found));  // its end starts the new one
  }
  supervise(std::move(*found));
  answer({});
}

void NameServer::launch() {
  // It goes into the background when it is ready to serve, and says on stderr why it is not.
  sys::Command command{.argv = argv_};
  runner_.run(command, [this, command, life = std::weak_ptr(life_)](Result<sys::CommandResult> result) {
    if (!life.expired()) launched(sys::require_success(command, std::move(result)));
  });
}

void NameServer::launched(const Result<std::string>& result) {
  auto process = result ? find_process(pid_file_, mark_) : std::nullopt;
  if (process) {
    supervise(std::move(*process));
    return answer({});
  }
  auto error = result ? internal_error("dnsmasq ended as soon as it was started") : result.error();
  sys::log_warning("the name server does not start; trying again", {{"error", error.message}});
  answer(std::move(error));
  again();
}

void NameServer::supervise(PidFileProcess process) {
  process_ = std::move(process);
  serving_since_ = loop_.clock().mono();
  end_watch_ = loop_.watch_fd(process_->pidfd.get(), sys::EventLoop::FdEvent::kReadable, [this] { ended(); });
}

void NameServer::ended() {
  end_watch_.reset();
  process_.reset();
  if (done_) return launch();  // it was ended to be replaced
  sys::log_warning("the name server has ended; starting it again");
  if (loop_.clock().mono() - serving_since_ >= kGoodService) pause_ = kFirstPause;
  again();
}

void NameServer::again() {
  timer_ = loop_.run_after(pause_, [this] {
    timer_ = sys::TimerId::kNone;
    launch();
  });
  pause_ = std::min(2 * pause_, kLongestPause);
}

void NameServer::answer(const Result<void>& result) {
  // By post: start() may still be running.
  if (auto done = std::exchange(done_, nullptr)) loop_.post([done, result] { done(result); });
}

}  // namespace gangway::agent
