// gangway explain, plan, top: what happens on a cluster, asked of its API as any client is.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <set>
#include <thread>

#include "cli/cluster_reader.h"
#include "cli/manifests.h"
#include "client/decode.h"
#include "client/resource.h"
#include "cluster_connection.h"
#include "commands.h"
#include "failure.h"
#include "scheduler/explain_subject.h"
#include "scheduler/plan_preview.h"
#include "scheduler/scheduler.h"
#include "scheduler/top_report.h"
#include "sys/event_loop.h"
#include "sys/files.h"

namespace gangway {
namespace {

using client::resources::kPersistentVolumeClaims;
using client::resources::kPods;

struct InsightFlags {
  ConnectionFlags connection;
  std::string output;
  std::string kind;
  std::string name;
  std::string file;
  bool once = false;
  int interval = 2;
  bool is_json() const { return output == "json"; }
};

std::vector<cli::Reading> readings() {
  return cli::readings_for(scheduler::Scheduler());
}

WallTime now() {
  return sys::system_clock().wall();
}

template <class Answer>
void print(const Answer& answer, bool as_json) {
  fmt::print("{}", as_json ? json::serialize(to_json(answer)) + "\n" : to_text(answer));
}

// "job/train" and "job train" mean the same, as they do to kubectl.
Result<void> take_name_from_kind(InsightFlags& flags) {
  const std::size_t slash = flags.kind.find('/');
  if (slash != std::string::npos && flags.name.empty()) {
    flags.name = flags.kind.substr(slash + 1);
    flags.kind.resize(slash);
  }
  if (flags.name.empty()) return bad_request("a name is missing: gangway explain KIND NAME");
  return {};
}

Result<void> explain(InsightFlags flags) {
  GW_CHECKED(take_name_from_kind(flags));
  GW_TRY(const auto kind, scheduler::subject_kind(flags.kind));
  GW_TRY(const auto connection, ClusterConnection::open(flags.connection));
  std::vector<cli::Reading> what = readings();
  for (const client::Resource& resource : scheduler::subject_resources()) {
    cli::Reading reading;
    reading.what.resource = resource;
    reading.what.ns = connection->ns();
    what.push_back(std::move(reading));
  }
  GW_TRY(const auto objects, connection->read(what));
  const client::View view(*objects, now());
  GW_TRY(const auto explanation, scheduler::explain(view, kind, {connection->ns(), flags.name}));
  print(explanation, flags.is_json());
  return {};
}

Result<std::string> read_input(const std::string& file) {
  if (file != "-") return sys::read_file(file);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

// Puts what the server would make of manifests into a view, and remembers which pods those are.
class Rehearsal {
 public:
  Rehearsal(ClusterConnection& connection, cli::ListedObjects& objects) : connection_(connection), objects_(objects) {}

  Result<void> add(const cli::Manifest& manifest) {
    const std::string what = fmt::format("{} {}/{}", manifest.kind, manifest.ns, manifest.name);
    if (!manifest.resource) {
      notes_.push_back(what + " is not placed, and was left out");
      return {};
    }
    auto stored = connection_.dry_run_create(*manifest.resource, manifest.ns, manifest.object);
    if (!stored && stored.error().reason == Reason::kAlreadyExists)
      return bad_request(fmt::format("{} exists already; `gangway explain {} {} -n {}` says how it stands", what,
                                     lower(manifest.kind), manifest.name, manifest.ns));
    // A namespace that is not there is named in the answer; a kind that is not served is not.
    if (!stored && stored.error().reason == Reason::kNotFound && stored.error().subject.name.empty())
      return bad_request(fmt::format("{}: the server does not serve {} of {}", what, manifest.resource->plural,
                                     client::api_version(*manifest.resource)));
    if (!stored) return std::move(stored.error()).within(what);
    if (manifest.kind == "Pod") return keep_pod(std::move(*stored));
    GW_CHECKED(keep(*manifest.resource, *stored));
    const cli::PodsToBe made = cli::pods_made_by(*stored);
    if (!made.note.empty()) notes_.push_back(what + ": " + made.note);
    for (const json::Value& claim : made.claims) {
      auto answer = connection_.dry_run_create(kPersistentVolumeClaims, manifest.ns, claim);
      // A claim of that name is used as it is.
      if (!answer && answer.error().reason == Reason::kAlreadyExists) continue;
      if (!answer) return std::move(answer.error()).within(what);
      GW_CHECKED(keep(kPersistentVolumeClaims, *answer));
    }
    for (const json::Value& pod : made.pods) {
      auto answer = connection_.dry_run_create(kPods, manifest.ns, pod);
      if (!answer) return std::move(answer.error()).within(what);
      GW_CHECKED(keep_pod(std::move(*answer)));
    }
    return {};
  }

  const std::set<api::ObjectName>& pods() const { return pods_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  static std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }

  Result<void> keep(const client::Resource& resource, const json::Value& object) {
    GW_TRY(auto version, client::encode_object(object));
    objects_.of(resource).put(std::move(version));
    return {};
  }
  Result<void> keep_pod(json::Value pod) {
    json::Object& metadata = json::object_at(pod, {"metadata"});
    // Objects that are not stored may have none; the planner tells pods apart by it.
    if (!metadata.contains("uid"))
      metadata["uid"] = fmt::format("{}/{}", json::string_at(pod, {"metadata", "namespace"}),
                                    json::string_at(pod, {"metadata", "name"}));
    GW_TRY(auto version, client::encode_object(pod, {"spec.nodeName", "status.phase"}));
    pods_.insert(version.header->name);
    objects_.of(kPods).put(std::move(version));
    return {};
  }

  ClusterConnection& connection_;
  cli::ListedObjects& objects_;
  std::set<api::ObjectName> pods_;
  std::vector<std::string> notes_;
};

Result<void> plan(const InsightFlags& flags) {
  GW_TRY(const std::string text, read_input(flags.file));
  GW_TRY(const auto connection, ClusterConnection::open(flags.connection));
  auto manifests = cli::read_manifests(text, connection->ns());
  if (!manifests) return std::move(manifests.error()).within(flags.file == "-" ? "standard input" : flags.file);
  if (manifests->empty()) return bad_request(fmt::format("{}: holds no objects", flags.file));
  GW_TRY(const auto objects, connection->read(readings()));
  Rehearsal rehearsal(*connection, *objects);
  for (const cli::Manifest& manifest : *manifests) GW_CHECKED(rehearsal.add(manifest));
  const client::View view(*objects, now());
  scheduler::PlanPreview preview = scheduler::preview(view, rehearsal.pods());
  preview.notes.insert(preview.notes.begin(), rehearsal.notes().begin(), rehearsal.notes().end());
  print(preview, flags.is_json());
  return {};
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

Result<void> top(const InsightFlags& flags) {
  GW_TRY(const auto connection, ClusterConnection::open(flags.connection));
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  const bool goes_on = is_terminal && !flags.once && !flags.is_json();
  constexpr const char* kHomeAndClear = "\x1b[H\x1b[J";
  do {
    GW_TRY(const auto objects, connection->read(readings()));
    const scheduler::TopReport report = scheduler::top_of(client::View(*objects, now()));
    if (flags.is_json()) {
      print(report, true);
    } else {
      fmt::print("{}{}", goes_on ? kHomeAndClear : "", to_text(report, is_terminal ? terminal_width() : 0));
    }
    std::fflush(stdout);
    if (goes_on) std::this_thread::sleep_for(std::chrono::seconds(flags.interval));
  } while (goes_on);
  return {};
}

template <class Run>
void on_command(CLI::App* command, const std::shared_ptr<InsightFlags>& flags, int& status, Run run) {
  add_connection_flags(*command, flags->connection);
  command->add_option("-o,--output", flags->output, "json, or nothing for text")->check(CLI::IsMember({"json"}));
  command->callback([flags, &status, run] {
    if (auto done = run(*flags); !done) status = fail(done.error());
  });
}

}  // namespace

void add_insight_commands(CLI::App& app, int& status) {
  auto* explaining = app.add_subcommand("explain", "Say why something waits, and the smallest change that lets it run");
  explaining->footer(
      "Examples:\n"
      "  gangway explain pod train-0              what it waits for, who holds it, what would help\n"
      "  gangway explain job/train -n research    the same for all pods of a job\n"
      "  gangway explain podgroup train -o json   for programs: changes as lists of steps\n");
  auto flags = std::make_shared<InsightFlags>();
  explaining->add_option("kind", flags->kind, "pod, podgroup, job, deployment, replicaset or statefulset")->required();
  explaining->add_option("name", flags->name, "Its name");
  on_command(explaining, flags, status, explain);

  auto* planning = app.add_subcommand("plan", "Say where objects would go and at whose cost, without creating them");
  planning->footer(
      "Examples:\n"
      "  gangway plan -f job.yaml             where its pods would go, who would be preempted, work lost\n"
      "  helm template train | gangway plan -f -\n");
  flags = std::make_shared<InsightFlags>();
  planning->add_option("-f,--filename", flags->file, "The manifests; - for standard input")->required();
  on_command(planning, flags, status, plan);

  auto* watching = app.add_subcommand("top", "Show nodes and their GPUs, who holds them and who waits, live");
  watching->footer(
      "Examples:\n"
      "  gangway top            until Ctrl-C\n"
      "  gangway top --once     one look; also when the output is no terminal\n");
  flags = std::make_shared<InsightFlags>();
  watching->add_flag("--once", flags->once, "One look, then end");
  watching->add_option("--interval", flags->interval, "Seconds between looks")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  on_command(watching, flags, status, top);
}

}  // namespace gangway
