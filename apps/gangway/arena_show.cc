// arena get, list, describe, events, logs, data list: what becomes of jobs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "arena_commands.h"
#include "arena_watch.h"
#include "cli/arena/print_jobs.h"
#include "cli/arena/print_others.h"
#include "cli/arena/table.h"
#include "client/http_client.h"
#include "client/resource.h"

namespace gangway::arena {
namespace {

using cli::arena::JobView;

struct ShowFlags {
  std::string name, type, output;
  bool events = false, gpus = false;
  bool all_namespaces = false, watch = false;
  cli::arena::LogFlags logs;
};

Result<std::vector<json::Value>> events_of(Session& session, const JobView& job) {
  GW_TRY(auto events, session.connection().list({client::resources::kEvents, job.ns, "", ""}));
  return cli::arena::events_of(job, std::move(events));
}

json::Value with_events(json::Value job, const std::vector<json::Value>& events) {
  json::Array all;
  for (const json::Value& event : events)
    all.push_back(json::Object{{"source", fmt::format("{}/{}", json::string_at(event, {"involvedObject", "kind"}),
                                                      json::string_at(event, {"involvedObject", "name"}))},
                               {"type", json::string_at(event, {"type"})},
                               {"reason", json::string_at(event, {"reason"})},
                               {"message", json::string_at(event, {"message"})},
                               {"lastTimestamp", json::string_at(event, {"lastTimestamp"})}});
  job.as_object()["events"] = std::move(all);
  return job;
}

Result<void> get(const GlobalFlags& global, const ShowFlags& flags) {
  if (flags.name.empty()) return bad_request("the job's name is missing: arena get JOB");
  GW_TRY(const auto session, Session::open(global));
  GW_TRY(const JobView job, session->job(flags.name, flags.type));
  std::vector<json::Value> events;
  if (flags.events) {
    GW_TRY(events, events_of(*session, job));
  }
  json::Value document = to_json(job, now());
  if (print_as(flags.output, flags.events ? with_events(std::move(document), events) : std::move(document))) return {};
  fmt::print("{}", flags.output == "wide" ? get_wide_text(job, now()) : get_text(job, now()));
  if (flags.gpus) fmt::print("{}", gpus_text(job));
  if (flags.events) fmt::print("\nEvents:\n{}", cli::arena::events_text(events, now()));
  return {};
}

std::string conditions_text(const JobView& job) {
  cli::arena::Table table;
  const std::vector<std::string> header = {"TYPE", "STATUS", "REASON", "MESSAGE"};
  table.row(header);
  table.row(cli::arena::dashes_under(header));
  const json::Array& conditions = json::array_at(job.object, {"status", "conditions"});
  for (const json::Value& condition : conditions)
    table.row({std::string(json::string_at(condition, {"type"})), std::string(json::string_at(condition, {"status"})),
               std::string(json::string_at(condition, {"reason"})),
               std::string(json::string_at(condition, {"message"}))});
  return conditions.empty() ? "" : "\nConditions:\n" + table.text("  ");
}

Result<void> describe(const GlobalFlags& global, const ShowFlags& flags) {
  GW_TRY(const auto session, Session::open(global));
  GW_TRY(const JobView job, session->job(flags.name, flags.type));
  GW_TRY(const auto events, events_of(*session, job));
  json::Value document = to_json(job, now());
  document.as_object()["object"] = job.object;
  if (print_as(flags.output, with_events(std::move(document), events))) return {};
  fmt::print("{}{}{}\nEvents:\n{}", get_wide_text(job, now()), gpus_text(job), conditions_text(job),
             cli::arena::events_text(events, now()));
  return {};
}

Result<void> show_events(const GlobalFlags& global, const ShowFlags& flags) {
  GW_TRY(const auto session, Session::open(global));
  GW_TRY(const JobView job, session->job(flags.name, flags.type));
  GW_TRY(const auto events, events_of(*session, job));
  const json::Value document = with_events(json::Object(), events);
  if (!print_as(flags.output, document.at("events"))) fmt::print("{}", cli::arena::events_text(events, now()));
  return {};
}

Result<void> list(const GlobalFlags& global, const ShowFlags& flags) {
  GW_TRY(const auto session, Session::open(global));
  const Session::What what{flags.all_namespaces ? "" : session->ns(), flags.type, false};
  const cli::arena::ListLayout layout{.with_namespace = flags.all_namespaces, .is_wide = flags.output == "wide"};
  if (flags.watch) return watch_list(*session, what, layout, flags.output);
  GW_TRY(const auto jobs, session->jobs(what));
  if (!print_as(flags.output, to_json(jobs, now()))) fmt::print("{}", list_text(jobs, layout, now()));
  return {};
}

void put(std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fflush(stdout);
}

// What a pod has printed that is gone: its node keeps it for a while.
Result<void> earlier_log(Session& session, const JobView& job, const cli::arena::Instance& instance,
                         cli::arena::LogFlags flags) {
  GW_TRY(const auto events, events_of(session, job));
  GW_TRY(const auto pod, cli::arena::earlier_pod(instance, flags.attempt.value_or(1), events));
  const std::string container = flags.container.empty() ? cli::arena::main_container_of(job.object) : flags.container;
  flags.attempt.reset();
  flags.container.clear();
  GW_TRY(const std::string query, cli::arena::log_query(flags, json::Object()));
  const std::string path =
      fmt::format("/api/v1/nodes/{}/proxy/containerLogs/{}/{}/{}/{}", pod.node, job.ns, pod.name, pod.uid, container);
  auto done = session.connection().follow(path + query, put);
  if (!done) return std::move(done.error()).within(fmt::format("--attempt: {} on node {}", pod.name, pod.node));
  return {};
}

Result<void> logs(const GlobalFlags& global, const ShowFlags& flags) {
  GW_TRY(const auto session, Session::open(global));
  GW_TRY(const JobView job, session->job(flags.name, flags.type));
  GW_TRY(const auto instance, cli::arena::log_instance(job, flags.logs.instance));
  const api::ObjectName name{job.ns, instance.name};
  if (flags.logs.attempt && *flags.logs.attempt < instance.attempt)
    return earlier_log(*session, job, instance, flags.logs);
  GW_TRY(const json::Value pod, session->connection().object(client::resources::kPods, name));
  GW_TRY(const std::string query, cli::arena::log_query(flags.logs, pod));
  if (instance.node.empty())
    return bad_request(fmt::format("instance {} is not running ({}){}{}", instance.name, instance.status,
                                   job.message.empty() ? "" : ": ", job.message));
  return session->connection().follow(client::path_of(client::resources::kPods, name, "log") + query, put);
}

Result<void> list_data(const GlobalFlags& global, const ShowFlags& flags) {
  GW_TRY(const auto session, Session::open(global));
  GW_TRY(const auto claims, session->connection().list({client::resources::kPersistentVolumeClaims,
                                                        flags.all_namespaces ? "" : session->ns(), "", ""}));
  if (!print_as(flags.output, cli::arena::claims_json(claims, now())))
    fmt::print("{}", cli::arena::claims_text(claims, flags.all_namespaces, now()));
  return {};
}

using Run = Result<void> (*)(const GlobalFlags&, const ShowFlags&);

// A command about one job, or about all of them.
std::shared_ptr<ShowFlags> add_show(CLI::App& app, const SharedFlags& global, int& status, const std::string& name,
                                    const std::string& about, const std::string& examples, Run run,
                                    CLI::App*& command) {
  auto flags = std::make_shared<ShowFlags>();
  command = add_command(app, global, name, about, examples);
  on_run(command, global, status, [global, flags, run] { return run(*global, *flags); });
  return flags;
}

void add_logs(CLI::App& app, const SharedFlags& global, int& status) {
  CLI::App* command = nullptr;
  auto flags = add_show(app, global, status, "logs", "Print the log of a job's instance",
                        "  arena logs demo -f                  that of its chief, as it comes\n"
                        "  arena logs demo -i demo-worker-1    that of another instance\n"
                        "  arena logs demo --attempt 1         that of an earlier attempt, while its node keeps it\n",
                        logs, command);
  command->alias("log");
  command->add_option("job", flags->name, "The job")->required();
  add_type_flag(command, flags->type);
  command->add_flag("-f,--follow", flags->logs.follow, "Until it ends");
  command->add_option("--since", flags->logs.since, "Only the last 5s, 2m or 3h");
  command->add_option("--since-time", flags->logs.since_time, "Only since a time, as 2026-01-02T03:04:05Z");
  command->add_option("-t,--tail", flags->logs.tail, "Only the last lines");
  command->add_flag("--timestamps", flags->logs.timestamps, "With the time of each line");
  command->add_option("-i,--instance", flags->logs.instance, "The instance (default: the only one, or the chief)");
  command->add_option("-c,--container", flags->logs.container, "The container");
  command->add_option("--attempt", flags->logs.attempt, "Which attempt, counted from 1");
}

}  // namespace

void add_show_commands(CLI::App& app, const SharedFlags& global, int& status) {
  CLI::App* command = nullptr;
  auto flags = add_show(app, global, status, "get", "Show a job and its instances",
                        "  arena get demo\n"
                        "  arena get demo -e            with its events\n"
                        "  arena get demo -o json\n",
                        get, command);
  command->add_option("job", flags->name, "The job");
  add_type_flag(command, flags->type);
  add_output_flag(command, flags->output, true);
  command->add_flag("-e,--events", flags->events, "With events");
  command->add_flag("-g,--gpus", flags->gpus, "With GPUs");

  flags = add_show(app, global, status, "list", "List jobs",
                   "  arena list\n"
                   "  arena list -A -o wide        of all namespaces, with PRIORITY and REASON\n"
                   "  arena list --watch           and how they go on, with a bar for those that tell their progress\n",
                   list, command);
  command->alias("ls");
  add_type_flag(command, flags->type);
  add_output_flag(command, flags->output, true);
  command->add_flag("-A,--all-namespaces", flags->all_namespaces, "Of all namespaces");
  command->add_flag("-w,--watch", flags->watch, "Go on with what changes");

  for (const auto& [name, about, run] :
       {std::tuple{"describe", "Show all there is to say about a job", Run{describe}},
        std::tuple{"events", "Show the events of a job and its instances", Run{show_events}}}) {
    flags = add_show(app, global, status, name, about, fmt::format("  arena {} demo\n", name), run, command);
    command->add_option("job", flags->name, "The job")->required();
    add_type_flag(command, flags->type);
    add_output_flag(command, flags->output, false);
  }
  add_logs(app, global, status);

  CLI::App* data = add_family(app, global, "data", "Show data volumes", "  arena data list\n");
  flags = add_show(*data, global, status, "list", "List volume claims", "  arena data list -A\n", list_data, command);
  command->alias("ls");
  command->add_flag("-A,--all-namespaces", flags->all_namespaces, "Of all namespaces");
  add_output_flag(command, flags->output, false);
}

}  // namespace gangway::arena
