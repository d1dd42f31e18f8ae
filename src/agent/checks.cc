#include "agent/checks.h"

#include <fmt/format.h>

#include "agent/pod/status.h"

namespace gangway::agent {
namespace {

constexpr std::size_t kLongestOutput = 10 * 1024;

}  // namespace

// A command in a container: it ends, or its time is up, whichever comes first.
struct Checks::Execution {
  std::string output;
  sys::Completion<std::string> done;
  std::shared_ptr<ExecSession> session;
  sys::TimerId timer = sys::TimerId::kNone;

  void finish(sys::EventLoop& loop, Result<std::string> result) {
    if (!done) return;
    loop.cancel(timer);
    auto told = std::exchange(done, nullptr);
    session.reset();
    told(std::move(result));
  }
};

void Checks::run(const Handler& handler, const ContainerId& container, const std::string& address, Duration timeout,
                 sys::Completion<std::string> done) {
  if (const auto* command = std::get_if<ExecHandler>(&handler)) return exec(*command, container, timeout, done);
  if (const auto* request = std::get_if<HttpHandler>(&handler)) return http(*request, address, timeout, done);
  if (const auto* tcp = std::get_if<TcpHandler>(&handler)) {
    return fetch_.connect(tcp->host.empty() ? address : tcp->host, tcp->port, timeout,
                          [done = std::move(done)](Result<void> result) {
                            if (result) return done(std::string());
                            done(std::move(result).error());
                          });
  }
  if (const auto* sleep = std::get_if<SleepHandler>(&handler)) {
    const Duration time = timeout > Duration::zero() ? std::min(timeout, sleep->time) : sleep->time;
    loop_.run_after(time, [done = std::move(done)] { done(std::string()); });
    return;
  }
  const auto& unknown = std::get<UnknownHandler>(handler);
  loop_.post([done = std::move(done), what = unknown.what] {
    done(bad_request(fmt::format("checks by {} are not run here; use exec, httpGet or tcpSocket", what)));
  });
}

void Checks::exec(const ExecHandler& handler, const ContainerId& container, Duration timeout,
                  sys::Completion<std::string> done) {
  auto execution = std::make_shared<Execution>();
  execution->done = std::move(done);
  ExecCallbacks callbacks;
  callbacks.on_output = [execution](int, const std::string& bytes) {
    const std::size_t room = kLongestOutput - std::min(kLongestOutput, execution->output.size());
    execution->output.append(bytes, 0, room);
  };
  callbacks.on_exit = [execution, &loop = loop_](int code) {
    if (code == 0) return execution->finish(loop, std::move(execution->output));
    execution->finish(loop, internal_error(execution->output.empty() ? fmt::format("exit status {}", code)
                                                                     : std::move(execution->output)));
  };
  callbacks.on_failure = [execution, &loop = loop_](std::string reason) {
    execution->finish(loop, internal_error(std::move(reason)));
  };
  ExecSpec spec;
  spec.container = container;
  spec.command = handler.command;
  execution->session = runtime_.exec(std::move(spec), std::move(callbacks));
  if (timeout <= Duration::zero()) return;
  execution->timer = loop_.run_after(timeout, [execution, &loop = loop_, command = handler.command, timeout] {
    if (execution->session) execution->session->kill();
    execution->finish(loop, internal_error(fmt::format("command timed out: \"{}\" timed out after {}",
                                                       fmt::join(command, " "), go_duration(timeout))));
  });
}

void Checks::http(const HttpHandler& handler, const std::string& address, Duration timeout,
                  sys::Completion<std::string> done) {
  sys::FetchRequest request;
  request.tls = handler.tls;
  request.host = handler.host.empty() ? address : handler.host;
  request.port = handler.port;
  request.path = handler.path.starts_with('/') ? handler.path : "/" + handler.path;
  request.headers = handler.headers;
  request.timeout = timeout;
  const std::string url =
      fmt::format("{}://{}:{}{}", request.tls ? "https" : "http", request.host, request.port, request.path);
  fetch_.fetch(std::move(request), [url, done = std::move(done)](Result<sys::FetchAnswer> answer) {
    if (!answer) return done(internal_error(fmt::format("Get \"{}\": {}", url, answer.error().message)));
    // Redirects are taken for success, as kubelet does with those to other hosts: somebody answers.
    if (answer->status >= 200 && answer->status < 400) return done(std::move(answer->body));
    done(internal_error(fmt::format("HTTP probe failed with statuscode: {}", answer->status)));
  });
}

}  // namespace gangway::agent
