#include "manager_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <future>

#include "client/http_client.h"
#include "json/access.h"
#include "manager_endpoints.h"
#include "net/asio_loop.h"
#include "net/http_server.h"
#include "rbac.h"
#include "run_on.h"
#include "scheduler/candidate.h"
#include "scheduler/flight/flight_recorder.h"
#include "scheduler/preflight.h"
#include "scheduler/requeue.h"
#include "sys/entropy.h"
#include "sys/log.h"
#include "version.h"

namespace gangway {
namespace {

constexpr Duration kAskAgain = std::chrono::seconds(2);

// A record of each term, since each has a model of its own.
class TermRecorder final : public scheduler::CycleSink {
 public:
  explicit TermRecorder(const std::string& folder) : log_({.folder = folder}), recorder_(log_) {}
  bool wants(const scheduler::Cycle& cycle) override { return recorder_.wants(cycle); }
  void record(const scheduler::Cycle& cycle, const scheduler::Changes& changes) override {
    recorder_.record(cycle, changes);
  }

 private:
  scheduler::flight::FlightLog log_;
  scheduler::flight::FlightRecorder recorder_;
};

// No two processes have the same, not even two in one pod's place.
std::string new_identity() {
  char host[256] = "unnamed";
  gethostname(host, sizeof(host) - 1);
  return fmt::format("{}_{}", host, sys::name_suffix(sys::system_entropy(), 8));
}

Result<net::HttpServerOptions> listen_options(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  net::HttpServerOptions options;
  const std::string_view digits =
      std::string_view(listen).substr(colon == std::string::npos ? listen.size() : colon + 1);
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), options.port);
  if (digits.empty() || failure != std::errc() || end != digits.data() + digits.size())
    return bad_request(fmt::format("--listen: must be ADDRESS:PORT, as in 127.0.0.1:8080 (got \"{}\")", listen));
  options.address = listen.substr(0, colon);
  if (options.address.starts_with('[') && options.address.ends_with(']'))
    options.address = options.address.substr(1, options.address.size() - 2);
  if (options.address.empty()) options.address = "0.0.0.0";
  return options;
}

Result<scheduler::Requirements> requirements(const std::string& ns) {
  scheduler::Requirements all;
  all.kinds = {scheduler::kAllotments, scheduler::kConfigurations, scheduler::kPodGroups, scheduler::kRequeuedPods,
               scheduler::kUsageRecords};
  GW_TRY(all.rights, scheduler::rights_of(kRbacManifest, ns));
  return all;
}

}  // namespace

struct ManagerProcess::Parts {
  explicit Parts(ManagerOptions given, std::function<void(const Error&)> failed)
      : options(std::move(given)), on_failure(std::move(failed)) {}

  ManagerOptions options;
  std::function<void(const Error&)> on_failure;
  net::LoopThread thread{"gw-manager"};
  // The rest is made and ended on the loop.
  std::unique_ptr<net::HttpTransport> transport;
  std::unique_ptr<client::HttpClient> client;
  std::unique_ptr<scheduler::Candidate> candidate;
  std::unique_ptr<scheduler::Preflight> preflight;
  std::unique_ptr<ManagerEndpoints> endpoints;
  std::unique_ptr<net::HttpServer> http;
  std::string server_version;
  bool is_stopping = false;

  Result<void> connect();
  Result<void> serve();
  void make_candidate();
  void ask_version();
  void got_version(const Result<client::HttpClientResponse>& response);
  std::vector<std::string> unready() const;
};

Result<void> ManagerProcess::Parts::connect() {
  GW_TRY(transport, net::HttpTransport::create(options.cluster.transport, thread.loop()));
  client = std::make_unique<client::HttpClient>(
      *transport, client::HttpClientOptions{.user_agent = fmt::format("gangway-manager/{}", kVersion)});
  make_candidate();
  GW_TRY(auto needed, requirements(options.lease_namespace));
  preflight =
      std::make_unique<scheduler::Preflight>(*client, thread.loop(), std::move(needed), [this] { ask_version(); });
  GW_CHECKED(serve());
  preflight->start();
  return {};
}

void ManagerProcess::Parts::make_candidate() {
  scheduler::CandidateParts parts{.client = *client, .loop = thread.loop(), .lease = {}};
  parts.lease.lease = {options.lease_namespace, scheduler::kLeaseName};
  parts.lease.identity = new_identity();
  parts.lease.seizes = !options.elect;
  // In the proportions that other components of Kubernetes keep.
  parts.lease.lease_duration = options.lease_duration;
  parts.lease.renew_within = options.lease_duration * 2 / 3;
  parts.lease.retry_every = options.lease_duration * 2 / 15;
  if (!options.flight_dir.empty())
    parts.record = [folder = options.flight_dir] { return std::make_unique<TermRecorder>(folder); };
  candidate = std::make_unique<scheduler::Candidate>(std::move(parts));
}

Result<void> ManagerProcess::Parts::serve() {
  if (options.listen.empty()) return {};
  GW_TRY(auto where, listen_options(options.listen));
  endpoints = std::make_unique<ManagerEndpoints>(*candidate, [this] { return unready(); });
  auto started = net::HttpServer::start(std::move(where), {&thread.loop()}, *endpoints);
  if (!started) return std::move(started.error()).within("cannot listen on " + options.listen);
  http = std::move(*started);
  return {};
}

void ManagerProcess::Parts::ask_version() {
  client::HttpClientRequest request;
  request.target = "/version";
  request.headers.add("Accept", "application/json");
  transport->send(std::move(request), [this](const auto& response) { got_version(response); });
}

// A cluster of `gangway up` is not shared: its own scheduler leads from its start and would take this one for its
// successor.
void ManagerProcess::Parts::got_version(const Result<client::HttpClientResponse>& response) {
  if (!response || response->status != 200) {
    thread.loop().run_after(kAskAgain, [this] {
      if (!is_stopping) ask_version();
    });
    return;
  }
  const auto version = json::parse(response->body);
  server_version = version ? std::string(json::string_at(*version, {"gitVersion"})) : "";
  if (server_version.find("+gangway") != std::string::npos)
    return on_failure(bad_request(
        fmt::format("{} is a cluster of `gangway up`, which places its own pods: nothing is left to do for a manager",
                    options.cluster.transport.server)));
  sys::log_info(
      "all that is needed is there",
      {{"server", options.cluster.transport.server}, {"version", server_version}, {"login", options.cluster.source}});
  if (!is_stopping) candidate->start();
}

std::vector<std::string> ManagerProcess::Parts::unready() const {
  if (!preflight->has_passed())
    return preflight->missing().empty() ? std::vector<std::string>{"the cluster was not asked yet"}
                                        : preflight->missing();
  if (server_version.empty()) return {"the server has not said its version yet"};
  if (candidate->is_ready()) return {};
  return {candidate->is_leading() ? "the first lists are not in yet" : "nobody is known to lead yet"};
}

ManagerProcess::ManagerProcess(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

ManagerProcess::~ManagerProcess() {
  Parts& parts = *parts_;
  if (parts.http) parts.http->stop_and_wait(std::chrono::seconds(1));
  run_on(parts.thread.loop(), [&] {
    parts.is_stopping = true;
    parts.http.reset();
    parts.endpoints.reset();
    parts.preflight.reset();
    parts.candidate.reset();
    parts.client.reset();
    parts.transport.reset();
    return true;
  });
  parts.thread.stop();
}

Result<std::unique_ptr<ManagerProcess>> ManagerProcess::start(ManagerOptions options,
                                                              std::function<void(const Error&)> on_failure) {
  std::unique_ptr<ManagerProcess> process(
      new ManagerProcess(std::make_unique<Parts>(std::move(options), std::move(on_failure))));
  Parts& parts = *process->parts_;
  GW_CHECKED(run_on(parts.thread.loop(), [&] { return parts.connect(); }));
  return process;
}

void ManagerProcess::stop() {
  std::promise<void> handed_over;
  parts_->thread.loop().post([&] {
    parts_->is_stopping = true;
    parts_->candidate->hand_over([&] { handed_over.set_value(); });
  });
  handed_over.get_future().wait();
}

std::uint16_t ManagerProcess::port() const {
  return parts_->http ? parts_->http->port() : 0;
}

}  // namespace gangway
