#include "arena_session.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "cli/arena/text.h"
#include "client/resource.h"
#include "failure.h"
#include "json/yaml.h"
#include "scheduler/requeue.h"
#include "sys/event_loop.h"
#include "sys/files.h"

namespace gangway::arena {
namespace {

using cli::arena::JobKind;
using cli::arena::JobView;
using cli::arena::ReadObjects;

enum class Level { kDebug, kInfo, kWarn, kError };
Level shown = Level::kInfo;
const auto started = std::chrono::steady_clock::now();

void write_line(Level level, std::string_view word, std::string_view message) {
  if (level < shown) return;
  std::fflush(stdout);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - started);
  fmt::print(stderr, "{}[{:04}] {}\n", word, seconds.count(), message);
}

client::ListRequest list_of(const client::Resource& resource, const std::string& ns, const std::string& fields = "") {
  client::ListRequest request;
  request.resource = resource;
  request.ns = ns;
  request.field_selector = fields;
  return request;
}

Result<std::optional<cli::arena::JobType>> type_of(const Session::What& what) {
  if (what.type.empty()) return std::optional<cli::arena::JobType>();
  GW_TRY(const cli::arena::JobType type, cli::arena::job_type_of(what.type));
  return std::optional(type);
}

}  // namespace

void add_global_flags(CLI::App& command, GlobalFlags& flags) {
  const char* group = "Global flags";
  command.add_option("-n,--namespace", flags.connection.ns, "The namespace (default: that of the context)")
      ->group(group);
  command
      .add_option("--config,--kubeconfig", flags.connection.kubeconfig,
                  "The kubeconfig (default: $KUBECONFIG, ~/.kube/config, or that of `gangway up`)")
      ->group(group);
  command.add_option("--context", flags.connection.context, "The context of the kubeconfig")->group(group);
  command.add_option("--loglevel", flags.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->group(group);
  command.add_option("--arena-namespace", flags.arena_namespace, "Where Arena's own settings are")->group(group);
  // Switches of Arena's own machinery, which is not here.
  command.add_flag("--pprof", flags.pprof)->group("");
  command.add_flag("--trace", flags.trace)->group("");
  command.add_flag("--helm-binary", flags.helm_binary)->group("");
}

void set_log_level(const std::string& level) {
  shown = level == "debug"   ? Level::kDebug
          : level == "warn"  ? Level::kWarn
          : level == "error" ? Level::kError
                             : Level::kInfo;
}

void info(std::string_view message) {
  write_line(Level::kInfo, "INFO", message);
}
void warn(std::string_view message) {
  write_line(Level::kWarn, "WARN", message);
}
void error(std::string_view message) {
  write_line(Level::kError, "ERRO", message);
}

int fail(const Error& failure) {
  if (failure.causes.empty()) error(failure.message);
  for (const Cause& cause : failure.causes)
    error(fmt::format("{}: {}{}{}", failure.message, cause.field, cause.field.empty() ? "" : ": ", cause.message));
  return kFailed;
}

cli::arena::Settings user_settings() {
  std::string path;
  if (const char* chosen = std::getenv("ARENA_CONFIG"); chosen != nullptr && *chosen != '\0') {
    path = chosen;
  } else if (const char* home = std::getenv("HOME"); home != nullptr) {
    path = std::string(home) + "/.arena/config";
  }
  const auto text = sys::read_file(path);
  return text ? cli::arena::parse_settings(*text) : cli::arena::Settings();
}

WallTime now() {
  return sys::system_clock().wall();
}

Result<std::unique_ptr<Session>> Session::open(const GlobalFlags& flags) {
  auto session = std::make_unique<Session>();
  GW_TRY(session->connection_, ClusterConnection::open(flags.connection));
  session->ns_ = flags.connection.ns.empty() ? user_settings().ns : flags.connection.ns;
  if (session->ns_.empty()) session->ns_ = session->connection_->ns();
  if (session->ns_.empty()) session->ns_ = "default";
  return session;
}

// The first version after the preferred one that the server knows; kNotFound: it does not serve the kind.
Result<ReadObjects::Jobs> Session::list_other_versions(const JobKind& kind, const std::string& ns) {
  Error missing = bad_request(fmt::format("this cluster does not serve {}", kind.kind));
  missing.reason = Reason::kNotFound;
  for (std::size_t i = 1; i < kind.resources.size(); ++i) {
    auto listed = connection_->list(list_of(kind.resources[i], ns));
    if (listed) return ReadObjects::Jobs{kind.resources[i], std::move(*listed), kind.kind};
    if (listed.error().reason != Reason::kNotFound) return std::move(listed.error());
  }
  return missing;
}

Result<ReadObjects> Session::read(const What& what) {
  GW_TRY(const auto type, type_of(what));
  std::vector<client::ListRequest> requests;
  std::vector<const JobKind*> kinds;
  for (const JobKind& kind : cli::arena::job_kinds()) {
    if (type && cli::arena::info_of(*type).kind != kind.kind) continue;
    kinds.push_back(&kind);
    requests.push_back(list_of(kind.resources.front(), what.ns));
  }
  requests.push_back(list_of(client::resources::kPods, what.ns));
  requests.push_back(list_of(scheduler::kRequeuedPods, what.ns));
  if (what.with_details) {
    requests.push_back(list_of(client::resources::kEvents, what.ns, "reason=Preempted"));
    requests.push_back(list_of(client::resources::kServices, what.ns));
    requests.push_back(list_of(client::resources::kNodes, ""));
  }
  auto answers = connection_->list_all(requests);
  ReadObjects objects;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (answers[i]) {
      objects.jobs.push_back({kinds[i]->resources.front(), std::move(*answers[i]), kinds[i]->kind});
      continue;
    }
    if (answers[i].error().reason != Reason::kNotFound) return std::move(answers[i].error());
    auto other = list_other_versions(*kinds[i], what.ns);
    if (!other && other.error().reason != Reason::kNotFound) return std::move(other.error());
    if (other) objects.jobs.push_back(std::move(*other));
  }
  // Pods must be read; the rest only says more, and not everybody may see it.
  if (!answers[kinds.size()]) return std::move(answers[kinds.size()].error());
  std::vector<json::Value>* const rest[] = {&objects.pods, &objects.requeued_pods, &objects.events, &objects.services,
                                            &objects.nodes};
  for (std::size_t i = kinds.size(); i < answers.size(); ++i)
    if (answers[i]) *rest[i - kinds.size()] = std::move(*answers[i]);
  return objects;
}

Result<std::vector<JobView>> Session::view(ReadObjects objects, const What& what) {
  GW_TRY(const auto type, type_of(what));
  std::vector<JobView> jobs = cli::arena::view_jobs(std::move(objects), now());
  if (type) std::erase_if(jobs, [&](const JobView& job) { return job.type != *type; });
  return jobs;
}

Result<std::vector<JobView>> Session::jobs(const What& what) {
  GW_TRY(ReadObjects objects, read(what));
  return view(std::move(objects), what);
}

Result<JobView> Session::job(const std::string& name, const std::string& type) {
  GW_TRY(std::vector<JobView> found, jobs({ns_, type, true}));
  std::erase_if(found, [&](const JobView& job) { return job.name != name; });
  if (found.empty()) {
    Error missing = bad_request(
        fmt::format("the training job {} does not exist in namespace {}; `arena submit` makes one", name, ns_));
    missing.reason = Reason::kNotFound;
    return missing;
  }
  if (found.size() > 1)
    return bad_request(fmt::format("{} jobs are named {}; say which with --type (`arena list | grep {}` shows them)",
                                   found.size(), name, name));
  return std::move(found.front());
}

bool print_as(const std::string& output, const json::Value& value) {
  if (output == "json") {
    fmt::print("{}", cli::arena::indented_json(value));
  } else if (output == "yaml") {
    fmt::print("{}", json::to_yaml(value));
  } else {
    return false;
  }
  return true;
}

}  // namespace gangway::arena
