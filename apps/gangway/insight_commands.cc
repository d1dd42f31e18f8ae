// gangway explain, plan, top: what happens on a cluster, asked of its API as any client is.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <thread>

#include "cli/cluster_reader.h"
#include "cli/manifests.h"
#include "client/resource.h"
#include "cluster_connection.h"
#include "commands.h"
#include "failure.h"
#include "rehearsal.h"
#include "scheduler/explain_subject.h"
#include "scheduler/plan_preview.h"
#include "scheduler/scheduler.h"
#include "scheduler/top_report.h"
#include "sys/event_loop.h"
#include "sys/files.h"

namespace gangway {
namespace {

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
