// arena delete, prune, suspend, resume, restart, scaleout, scalein, attach: what is done to jobs that exist.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "arena_commands.h"
#include "cli/arena/print_others.h"
#include "cli/arena/render.h"
#include "cli/arena/text.h"
#include "client/resource.h"

namespace gangway::arena {
namespace {

using cli::arena::JobView;

struct ChangeFlags {
  std::vector<std::string> names;
  std::string type, since, output;
  bool all_namespaces = false;
  std::int64_t count = 1;
  std::string timeout = "60s", script;
  std::int64_t retry = 0;
  std::vector<std::string> env;
  std::string job, instance, container;
  std::vector<std::string> command;
};

// The record of a submission and what it lists: gone with the job, also where nobody collects what has lost its owner.
std::vector<std::pair<client::Resource, std::string>> helpers_of(Session& session, const JobView& job) {
  std::vector<std::pair<client::Resource, std::string>> helpers;
  const std::string record = cli::arena::record_name(job.name, job.type);
  const auto stored = session.connection().object(client::resources::kConfigMaps, {job.ns, record});
  if (!stored) return helpers;
  std::string_view lines = json::string_at(*stored, {"data", "app"});
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines = end == std::string_view::npos ? std::string_view() : lines.substr(end + 1);
    const std::size_t slash = line.find('/');
    if (slash == std::string_view::npos) continue;
    const std::string_view kind = line.substr(0, slash);
    const std::string name(line.substr(slash + 1));
    if (kind == "service") helpers.emplace_back(client::resources::kServices, name);
    if (kind == "deployment.apps") helpers.emplace_back(client::resources::kDeployments, name);
    if (kind == "configmap") helpers.emplace_back(client::resources::kConfigMaps, name);
  }
  helpers.emplace_back(client::resources::kConfigMaps, record);
  return helpers;
}

Result<void> remove_job(Session& session, const JobView& job) {
  const auto helpers = helpers_of(session, job);
  GW_CHECKED(session.connection().remove(job.resource, {job.ns, job.name}));
  for (const auto& [resource, name] : helpers) {
    auto removed = session.connection().remove(resource, {job.ns, name});
    if (!removed && removed.error().reason != Reason::kNotFound) return std::move(removed.error());
  }
  return {};
}

// All of them, whatever becomes of the first; an error at the end says how many could not be.
Result<void> delete_jobs(const GlobalFlags& global, const ChangeFlags& flags) {
  GW_TRY(const auto session, Session::open(global));
  std::size_t failed = 0;
  for (const std::string& name : flags.names) {
    auto job = session->job(name, flags.type);
    Result<void> done = job ? remove_job(*session, *job) : Result<void>(job.error());
    if (done) {
      info(fmt::format("The training job {} has been deleted successfully", name));
    } else {
      ++failed;
      error(done.error().message);
    }
  }
  if (failed > 0) return bad_request(fmt::format("{} of {} jobs were not deleted", failed, flags.names.size()));
  return {};
}

// Only what is over: a job that waits for its turn is not rubbish.
Result<void> prune(const GlobalFlags& global, const ChangeFlags& flags) {
  const auto since = parse_duration(flags.since);
  if (!since || *since < Duration::zero())
    return bad_request("--since: must be a duration; for example, `arena prune --since 10h` removes what is older");
  GW_TRY(const auto session, Session::open(global));
  GW_TRY(const auto jobs, session->jobs({flags.all_namespaces ? "" : session->ns(), "", false}));
  bool any = false;
  for (const JobView& job : jobs) {
    if (!job.is_over() || now() - job.created < *since) continue;
    any = true;
    GW_CHECKED(remove_job(*session, job));
    fmt::print("Delete {} {} with Age {} \n", cli::arena::info_of(job.type).name, job.name,
               cli::arena::short_duration(now() - job.created));
  }
  if (!any) fmt::print("No job need to be deleted\n");
  return {};
}

Result<void> set_suspended(const GlobalFlags& global, const ChangeFlags& flags, bool suspend) {
  GW_TRY(const auto session, Session::open(global));
  for (const std::string& name : flags.names) {
    GW_TRY(const JobView job, session->job(name, flags.type));
    if (job.is_over())
      return bad_request(
          fmt::format("the training job {} is over ({}); `arena restart {}` runs it again", name, job.status, name));
    const bool is_suspended = cli::arena::is_suspended(job.object);
    if (suspend == is_suspended) {
      info(fmt::format("The training job {} {}", name, suspend ? "is suspended already" : "is not suspended"));
      continue;
    }
    if (!suspend && !json::string_at(job.object, {"metadata", "labels", cli::arena::kQueueLabel}).empty())
      return bad_request(
          fmt::format("the training job {} waits in a queue, which lets it go on when it is its turn", name));
    auto patched =
        session->connection().patch(job.resource, {job.ns, job.name}, cli::arena::suspend_patch(job.object, suspend));
    if (!patched) return std::move(patched.error());
    if (cli::arena::is_suspended(*patched) != suspend)
      return bad_request(
          fmt::format("{} of {} cannot be suspended", job.resource.plural, client::api_version(job.resource)));
    info(fmt::format("The training job {} has been {}", name, suspend ? "suspended" : "resumed"));
  }
  return {};
}

// What a user would have written: without anything that the server added.
json::Value as_written(json::Value object, bool keep_owner) {
  json::Object& metadata = json::object_at(object, {"metadata"});
  for (const char* field : {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields",
                            "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "finalizers"})
    metadata.erase(field);
  if (!keep_owner) metadata.erase("ownerReferences");
  object.as_object().erase("status");
  if (json::Value* spec = json::find(object, {"spec"}); spec != nullptr && spec->is_object()) {
    for (const char* field : {"clusterIP", "clusterIPs"}) spec->get_object().erase(field);
  }
  return object;
}

Result<void> wait_until_gone(Session& session, const client::Resource& resource, const api::ObjectName& name,
                             const std::string& uid) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (std::chrono::steady_clock::now() < deadline) {
    const auto there = session.connection().object(resource, name);
    if (!there && there.error().reason == Reason::kNotFound) return {};
    if (!there) return there.error();
    if (json::string_at(*there, {"metadata", "uid"}) != uid) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return bad_request(fmt::format("{} {} does not go away", resource.plural, name.name));
}

struct Kept {
  client::Resource resource;
  std::string name, uid;
  json::Value object;
};

Result<void> wait_for_pods_to_go(Session& session, const JobView& job) {
  for (const auto& instance : job.instances)
    GW_CHECKED(wait_until_gone(session, client::resources::kPods, {job.ns, instance.name}, instance.uid));
  return {};
}

// A new job of the same name and words, with all that belongs to it. The old one's pods are gone before.
Result<void> restart_one(Session& session, const JobView& job) {
  std::vector<Kept> kept;
  for (const auto& [resource, name] : helpers_of(session, job)) {
    auto object = session.connection().object(resource, {job.ns, name});
    if (!object) continue;
    std::string uid(json::string_at(*object, {"metadata", "uid"}));
    kept.push_back({resource, name, std::move(uid), as_written(std::move(*object), false)});
  }
  GW_CHECKED(remove_job(session, job));
  GW_CHECKED(wait_until_gone(session, job.resource, {job.ns, job.name}, job.uid));
  GW_CHECKED(wait_for_pods_to_go(session, job));
  for (const Kept& each : kept) GW_CHECKED(wait_until_gone(session, each.resource, {job.ns, each.name}, each.uid));
  json::Value written = as_written(job.object, true);
  if (cli::arena::is_suspended(written)) {
    for (json::Value* holder : {json::find(written, {"spec"}), json::find(written, {"spec", "runPolicy"})})
      if (holder != nullptr && holder->is_object()) holder->get_object().erase("suspend");
  }
  GW_TRY(const json::Value stored, session.connection().create(job.resource, job.ns, written));
  const json::Value owner = json::Object{{"apiVersion", json::string_at(stored, {"apiVersion"})},
                                         {"kind", json::string_at(stored, {"kind"})},
                                         {"name", job.name},
                                         {"uid", json::string_at(stored, {"metadata", "uid"})},
                                         {"controller", true}};
  for (Kept& each : kept) {
    json::object_at(each.object, {"metadata"})["ownerReferences"] = json::Array{owner};
    auto created = session.connection().create(each.resource, job.ns, each.object);
    if (!created) return std::move(created.error()).within(each.name);
  }
  return {};
}

Result<void> restart(const GlobalFlags& global, const ChangeFlags& flags) {
  GW_TRY(const auto session, Session::open(global));
  for (const std::string& name : flags.names) {
    GW_TRY(const JobView job, session->job(name, flags.type));
    GW_CHECKED(restart_one(*session, job));
    info(fmt::format("The training job {} has been restarted", name));
  }
  return {};
}

Result<void> scale(const GlobalFlags& global, const ChangeFlags& flags, bool out) {
  if (flags.names.size() != 1) return bad_request("required flag(s) \"name\" not set");
  const std::string& name = flags.names.front();
  if (flags.count < 1) return bad_request(fmt::format("--count: must be at least 1 (got {})", flags.count));
  if (!flags.script.empty() || !flags.env.empty())
    return bad_request("--script, --env: workers are found by discover_hosts.sh; nothing runs a script for them");
  GW_TRY(const auto session, Session::open(global));
  GW_TRY(const JobView job, session->job(name, "etjob"));
  if (job.status != "RUNNING")
    return bad_request(fmt::format("the training job {} is {}; try again when it is RUNNING", name, job.status));
  const cli::arena::Elasticity size = cli::arena::elasticity_of(job.object);
  const std::int64_t wanted = size.count + (out ? flags.count : -flags.count);
  if (wanted > size.maximum)
    return bad_request(fmt::format("--count: {} workers would exceed the maximum of {} (it has {})", wanted,
                                   size.maximum, size.count));
  if (wanted < size.minimum)
    return bad_request(fmt::format("--count: {} workers would be below the minimum of {} (it has {})", wanted,
                                   size.minimum, size.count));
  auto patched =
      session->connection().patch(job.resource, {job.ns, job.name}, cli::arena::scale_patch(job.object, wanted));
  if (!patched) return std::move(patched.error());
  const char* verb = out ? "scaleout" : "scalein";
  fmt::print("mpijob.kubeflow.org/{} scaled\n", name);
  info(fmt::format("The {} job {} has been submitted successfully: {} workers instead of {}", verb, name, wanted,
                   size.count));
  return {};
}

Result<void> attach(const GlobalFlags& global, const ChangeFlags& flags) {
  GW_TRY(const auto session, Session::open(global));
  GW_TRY(const JobView job, session->job(flags.job, flags.type));
  GW_TRY(const auto instance, cli::arena::log_instance(job, flags.instance));
  if (instance.phase != "Running")
    return bad_request(fmt::format("instance {} is not running ({})", instance.name, instance.status));
  std::vector<std::string> words = {"kubectl", "exec", "-i"};
  if (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1) words.emplace_back("-t");
  // Found by rules that kubectl does not know, and is to follow.
  if (const std::string& found = session->connection().source(); std::filesystem::exists(found))
    words.push_back("--kubeconfig=" + found);
  if (!global.connection.context.empty()) words.push_back("--context=" + global.connection.context);
  words.insert(words.end(), {"-n", job.ns, instance.name});
  if (!flags.container.empty()) words.insert(words.end(), {"-c", flags.container});
  words.emplace_back("--");
  words.insert(words.end(), flags.command.begin(), flags.command.end());
  if (flags.command.empty()) words.emplace_back("sh");
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp("kubectl", argv.data());
  return bad_request(fmt::format("attach needs kubectl in PATH: {}", std::strerror(errno)));
}

using Run = std::function<Result<void>(const GlobalFlags&, const ChangeFlags&)>;

CLI::App* add_change(CLI::App& app, const SharedFlags& global, int& status, const std::string& name,
                     const std::string& about, const std::string& examples, std::shared_ptr<ChangeFlags>& flags,
                     Run run) {
  flags = std::make_shared<ChangeFlags>();
  CLI::App* command = add_command(app, global, name, about, examples);
  on_run(command, global, status, [global, flags, run = std::move(run)] { return run(*global, *flags); });
  return command;
}

void add_scaling(CLI::App& app, const SharedFlags& global, int& status, bool out) {
  const std::string example = fmt::format("  arena {} etjob --name=demo --count=2\n", out ? "scaleout" : "scalein");
  CLI::App* family = add_family(app, global, out ? "scaleout" : "scalein",
                                out ? "Add workers to an elastic job" : "Take workers from an elastic job", example);
  std::shared_ptr<ChangeFlags> flags;
  CLI::App* command =
      add_change(*family, global, status, "etjob", out ? "Add workers to an etjob" : "Take workers from an etjob",
                 example, flags, [out](const GlobalFlags& g, const ChangeFlags& f) { return scale(g, f, out); });
  command->alias("et");
  command->add_option("--name", flags->names, "The job")->allow_extra_args(false);
  command->add_option("--count", flags->count, "How many workers");
  command->add_option("-t,--timeout", flags->timeout, "Taken; the scheduler decides when there is room");
  command->add_option("--retry", flags->retry, "Taken; it is tried until it succeeds");
  command->add_option("--script", flags->script, "Not supported: see --help of submit etjob");
  command->add_option("-e,--env", flags->env, "Not supported")->allow_extra_args(false);
}

}  // namespace

void add_change_commands(CLI::App& app, const SharedFlags& global, int& status) {
  std::shared_ptr<ChangeFlags> flags;
  CLI::App* command = add_change(app, global, status, "delete", "Delete jobs and all that belongs to them",
                                 "  arena delete demo other\n", flags, delete_jobs);
  command->alias("del");
  command->add_option("jobs", flags->names, "The jobs")->required();
  add_type_flag(command, flags->type);

  command = add_change(app, global, status, "prune", "Delete jobs that ended, and are older than --since",
                       "  arena prune --since 10h -A\n", flags, prune);
  command->add_option("-s,--since", flags->since, "As 10h");
  command->add_flag("-A,--all-namespaces", flags->all_namespaces, "Of all namespaces");

  for (const bool suspend : {true, false}) {
    const char* verb = suspend ? "suspend" : "resume";
    command =
        add_change(app, global, status, verb,
                   suspend ? "Take jobs off their nodes until they are resumed" : "Let suspended jobs go on",
                   fmt::format("  arena {} demo\n", verb), flags,
                   [suspend](const GlobalFlags& g, const ChangeFlags& f) { return set_suspended(g, f, suspend); });
    command->add_option("jobs", flags->names, "The jobs")->required();
    add_type_flag(command, flags->type);
  }
  command = add_change(app, global, status, "restart", "Run jobs again from the start, those that ended included",
                       "  arena restart demo\n", flags, restart);
  command->add_option("jobs", flags->names, "The jobs")->required();
  add_type_flag(command, flags->type);

  add_scaling(app, global, status, true);
  add_scaling(app, global, status, false);

  command = add_change(app, global, status, "attach", "Run a command in an instance of a job (sh, in its chief)",
                       "  arena attach demo\n"
                       "  arena attach demo -i demo-worker-0 -- nvidia-smi\n",
                       flags, attach);
  command->add_option("job", flags->job, "The job")->required();
  command->add_option("command", flags->command, "What to run, behind --");
  command->add_option("-i,--instance", flags->instance, "The instance");
  command->add_option("-c,--container", flags->container, "The container");
  add_type_flag(command, flags->type);
}

}  // namespace gangway::arena
