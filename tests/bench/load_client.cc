// load_client: one operation against an API server, measured. Prints one JSON object.
//
// One thread, one request at a time on each of C connections, which are open before the clock starts. It reads the
// servers' CPU time itself, so that the window is exactly that of the requests.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "connection.h"
#include "workload.h"

namespace gangway::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  Target target;
  std::string operation;
  std::string ns = "bench";
  std::size_t first = 0;     // index of the first pod
  std::size_t pods = 5000;   // how many pods there are for gets
  std::size_t requests = 1;  // how many requests to send
  std::size_t connections = 1;
  std::size_t watchers = 100;
  std::size_t turn = 0;
  std::string pod_file;  // the pod to create, with {index} where its number goes; none: the built-in one
  std::vector<int> server_pids;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string numbered(std::string text, std::size_t index) {
  constexpr std::string_view kIndex = "{index}";
  const std::string number = std::to_string(index);
  for (auto at = text.find(kIndex); at != std::string::npos; at = text.find(kIndex, at + number.size()))
    text.replace(at, kIndex.size(), number);
  return text;
}

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

double client_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// User and system time of a process so far. Its name, in parentheses, may hold anything but the last ')'.
double cpu_seconds(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  auto end = text.rfind(')');
  if (end == std::string::npos) fail(fmt::format("the server with pid {} is gone", pid));
  std::istringstream fields(text.substr(end + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;  // state … cmajflt
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double server_cpu_seconds(const Options& options) {
  double sum = 0;
  for (int pid : options.server_pids) sum += cpu_seconds(pid);
  return sum;
}

double percentile(std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

struct Measured {
  double seconds = 0;
  double client_cpu = 0;
  double server_cpu = 0;
  std::vector<double> latencies;  // seconds, sorted
  std::size_t bytes = 0;
  std::size_t events = 0;
};

class Poller {
 public:
  Poller() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {}
  ~Poller() { ::close(fd_); }
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  void add(const Connection& connection, std::size_t id) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = id}};
    if (::epoll_ctl(fd_, EPOLL_CTL_ADD, connection.fd(), &event) != 0) fail("epoll_ctl failed");
  }
  // Calls `visit(id)` for each connection that has something to read.
  template <class Visit>
  void wait(Visit visit) {
    epoll_event events[64];
    int count = ::epoll_wait(fd_, events, 64, 120'000);
    if (count == 0) fail("no answer within two minutes");
    for (int i = 0; i < count; ++i) visit(static_cast<std::size_t>(events[i].data.u64));
  }

 private:
  int fd_;
};

void check_status(const Connection& connection) {
  const auto& response = connection.response();
  if (response.status() / 100 != 2)
    fail(fmt::format("the server answered {}: {}", response.status(), response.opening()));
}

class Load {
 public:
  explicit Load(const Options& options) : options_(options), context_(make_context(options.target)) {
    for (std::size_t i = 0; i < options.connections; ++i) connect();
  }

  Measured requests(const std::function<std::string(std::size_t)>& make) {
    begin();
    std::size_t sent = 0;
    std::vector<Clock::time_point> sent_at(connections_.size());
    auto send_next = [&](std::size_t id) {
      auto request = make(sent++);
      sent_at[id] = Clock::now();
      connections_[id].send(request);
    };
    for (std::size_t id = 0; id < connections_.size() && sent < options_.requests; ++id) send_next(id);
    while (measured_.latencies.size() < options_.requests) {
      poller_.wait([&](std::size_t id) {
        auto& connection = connections_[id];
        connection.advance();
        if (!connection.response().complete()) return;
        measured_.latencies.push_back(seconds_between(sent_at[id], Clock::now()));
        check_status(connection);
        measured_.bytes += connection.response().body_bytes();
        if (sent < options_.requests) send_next(id);
      });
    }
    return end();
  }

  // Patches while `watchers` connections watch; over when every watcher has seen every patch.
  Measured fan_out(const std::string& watch, const std::function<std::string(std::size_t)>& make) {
    const auto writers = connections_.size();
    start_watches(watch);

    begin();
    std::size_t sent = 0;
    std::vector<std::size_t> idle(writers);
    std::iota(idle.begin(), idle.end(), 0);
    while (slowest_watcher(writers) < options_.requests) {
      auto may_send = std::min(options_.requests, slowest_watcher(writers) + kMostBehind);
      for (; sent < may_send && !idle.empty(); idle.pop_back()) connections_[idle.back()].send(make(sent++));
      poller_.wait([&](std::size_t id) {
        auto& connection = connections_[id];
        connection.advance();
        if (!connection.response().complete()) return;
        if (id >= writers) fail("a watch ended early: " + connection.response().opening());
        check_status(connection);
        idle.push_back(id);
      });
    }
    for (std::size_t id = writers; id < connections_.size(); ++id) {
      measured_.events += connections_[id].response().lines();
      measured_.bytes += connections_[id].response().body_bytes();
    }
    return end();
  }

  // One request outside of the measurement.
  std::string opening_of(const std::string& request) {
    connections_.front().send(request);
    while (!connections_.front().response().complete()) {
      poller_.wait([&](std::size_t id) { connections_[id].advance(); });
    }
    check_status(connections_.front());
    return connections_.front().response().opening();
  }

 private:
  // Writers wait for the slowest watcher at this distance. Servers end the watch of a reader that is too far behind;
  // what is measured is how fast all can follow, not when one is given up.
  static constexpr std::size_t kMostBehind = 64;

  void start_watches(const std::string& watch) {
    for (std::size_t i = 0; i < options_.watchers; ++i) {
      connect();
      connections_.back().send(watch);
    }
    std::size_t started = 0;
    while (started < options_.watchers) {
      poller_.wait([&](std::size_t id) {
        bool had = connections_[id].response().has_head();
        connections_[id].advance();
        if (had || !connections_[id].response().has_head()) return;
        check_status(connections_[id]);
        ++started;
      });
    }
  }

  std::size_t slowest_watcher(std::size_t first) const {
    std::size_t fewest = options_.requests;
    for (std::size_t id = first; id < connections_.size(); ++id)
      fewest = std::min(fewest, connections_[id].response().lines());
    return fewest;
  }

  void connect() {
    connections_.emplace_back(context_.get(), options_.target);
    poller_.add(connections_.back(), connections_.size() - 1);
  }

  void begin() {
    measured_.client_cpu = -client_cpu_seconds();
    measured_.server_cpu = -server_cpu_seconds(options_);
    began_ = Clock::now();
  }

  Measured end() {
    measured_.seconds = seconds_between(began_, Clock::now());
    measured_.client_cpu += client_cpu_seconds();
    measured_.server_cpu += server_cpu_seconds(options_);
    std::sort(measured_.latencies.begin(), measured_.latencies.end());
    return std::move(measured_);
  }

  const Options& options_;
  TlsContext context_;
  Poller poller_;
  std::deque<Connection> connections_;
  Measured measured_;
  Clock::time_point began_;
};

std::string resource_version_in(const std::string& opening) {
  constexpr std::string_view kKey = R"("resourceVersion":")";
  auto at = opening.find(kKey);
  if (at == std::string::npos) fail("no resourceVersion in: " + opening);
  at += kKey.size();
  return opening.substr(at, opening.find('"', at) - at);
}

Measured run(const Options& options) {
  const auto base = fmt::format("/api/v1/namespaces/{}/pods", options.ns);
  auto pod = [&](std::size_t i) { return base + "/" + pod_name(options.first + i); };
  auto patch = [&](std::size_t i) {
    return http_request("PATCH", pod(i % options.pods) + "/status", status_patch(i, options.turn + i / options.pods),
                        "application/merge-patch+json");
  };
  Load load(options);
  const auto& operation = options.operation;
  if (operation == "create") {
    const std::string pod_text = options.pod_file.empty() ? "" : read_file(options.pod_file);
    return load.requests([&](std::size_t i) {
      const auto index = options.first + i;
      return http_request("POST", base, pod_text.empty() ? pod_body(index) : numbered(pod_text, index));
    });
  }
  // 7919 is prime: gets jump about and still meet every pod equally often.
  if (operation == "get")
    return load.requests([&](std::size_t i) { return http_request("GET", pod(i * 7919 % options.pods)); });
  if (operation == "patch") return load.requests(patch);
  if (operation == "delete") return load.requests([&](std::size_t i) { return http_request("DELETE", pod(i)); });
  if (operation == "list") return load.requests([&](std::size_t) { return http_request("GET", base); });
  if (operation == "select") {
    return load.requests([&](std::size_t i) {
      return http_request("GET", fmt::format("{}?labelSelector=app%3Dapp-{}", base, i % kApps));
    });
  }
  auto revision = resource_version_in(load.opening_of(http_request("GET", base + "?limit=1")));
  return load.fan_out(http_request("GET", fmt::format("{}?watch=1&resourceVersion={}", base, revision)), patch);
}

void print(const Options& options, Measured measured) {
  auto count = options.operation == "watch" ? measured.events : options.requests;
  fmt::print(
      R"({{"operation":"{}","count":{},"connections":{},"seconds":{:.6f},"per_second":{:.3f},"p50_ms":{:.4f},"p99_ms":{:.4f},)"
      R"("bytes":{},"client_cpu_ms":{:.5f},"server_cpu_ms":{:.5f}}})"
      "\n",
      options.operation, count, options.connections, measured.seconds, static_cast<double>(count) / measured.seconds,
      percentile(measured.latencies, 0.5) * 1e3, percentile(measured.latencies, 0.99) * 1e3, measured.bytes,
      measured.client_cpu * 1e3 / static_cast<double>(count), measured.server_cpu * 1e3 / static_cast<double>(count));
}

}  // namespace
}  // namespace gangway::bench

int main(int argc, char** argv) {
  using namespace gangway::bench;
  Options options;
  CLI::App app("One operation against an API server, measured; CPU times are per request or delivery");
  app.add_option("operation", options.operation)
      ->required()
      ->check(CLI::IsMember({"create", "get", "patch", "list", "select", "watch", "delete"}));
  app.add_option("--host", options.target.host)->required();
  app.add_option("--port", options.target.port)->required();
  app.add_option("--ca", options.target.ca_file)->required()->check(CLI::ExistingFile);
  app.add_option("--certificate", options.target.certificate_file)->required()->check(CLI::ExistingFile);
  app.add_option("--key", options.target.key_file)->required()->check(CLI::ExistingFile);
  app.add_option("--namespace", options.ns);
  app.add_option("--first", options.first, "index of the first pod");
  app.add_option("--pods", options.pods, "how many pods gets and patches go to")->check(CLI::PositiveNumber);
  app.add_option("--requests", options.requests)->check(CLI::PositiveNumber);
  app.add_option("--connections", options.connections)->check(CLI::PositiveNumber);
  app.add_option("--watchers", options.watchers)->check(CLI::PositiveNumber);
  app.add_option("--turn", options.turn, "makes patches differ from those of an earlier run");
  app.add_option("--pod", options.pod_file, "a file with the pod to create, {index} standing for its number")
      ->check(CLI::ExistingFile);
  app.add_option("--server-pid", options.server_pids, "whose CPU time counts as the server's");
  CLI11_PARSE(app, argc, argv);
  print(options, run(options));
}
