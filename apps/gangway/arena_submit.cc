// arena submit: judges what was given, then creates the job and what belongs to it, or nothing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "arena_commands.h"
#include "cli/arena/render.h"
#include "cli/arena/submission.h"
#include "cli/arena/submit_options.h"
#include "cli/cluster_reader.h"
#include "client/resource.h"
#include "json/yaml.h"
#include "rehearsal.h"
#include "scheduler/plan_preview.h"
#include "scheduler/scheduler.h"
#include "sys/files.h"

namespace gangway::arena {
namespace {

using cli::arena::JobTypeInfo;
using cli::arena::Rendered;
using cli::arena::Submission;
using cli::arena::SubmitFacts;
using cli::arena::SubmitFlags;

const client::Resource kPriorityClasses{"scheduling.k8s.io", "v1", "priorityclasses"};
const client::Resource kLocalQueues[] = {{"kueue.x-k8s.io", "v1beta1", "localqueues"},
                                         {"kueue.x-k8s.io", "v1beta2", "localqueues"}};

struct SubmitCommand {
  SubmitFlags flags;
  std::string dry_run;
  std::string output;
  bool wait = false;
};

cli::arena::Strings names_of(const std::vector<json::Value>& objects) {
  cli::arena::Strings names;
  for (const json::Value& object : objects) names.emplace_back(json::string_at(object, {"metadata", "name"}));
  return names;
}

Result<SubmitFacts> facts_for(Session& session, const SubmitFlags& flags) {
  const JobTypeInfo& info = cli::arena::info_of(flags.type);
  SubmitFacts facts;
  facts.read_file = [](const std::string& path) { return sys::read_file(path); };
  if (const char* home = std::getenv("HOME"); home != nullptr) facts.home = home;
  facts.image_pull_secrets = user_settings().image_pull_secrets;
  if (!flags.priority.empty()) {
    GW_TRY(const auto classes, session.connection().list({kPriorityClasses, "", "", ""}));
    facts.priority_classes = names_of(classes);
  }
  if (flags.queue) {
    for (const client::Resource& resource : kLocalQueues) {
      auto queues = session.connection().list({resource, flags.ns, "", ""});
      if (!queues && queues.error().reason != Reason::kNotFound) return std::move(queues.error());
      if (!queues) continue;
      facts.serves_queues = true;
      facts.queues = names_of(*queues);
      break;
    }
  }
  if (flags.name.empty()) return facts;
  const std::string record = cli::arena::record_name(flags.name, flags.type);
  for (const auto& [kind, resource, name] :
       {std::tuple{std::string(info.kind), info.resource, flags.name},
        std::tuple{std::string("ConfigMap"), client::resources::kConfigMaps, record}}) {
    const auto there = session.connection().object(resource, {flags.ns, name});
    if (there) facts.taken.push_back(fmt::format("{}/{}", kind, name));
    // A name that no object can have is for the judgement to complain about, not for the server.
    if (!there && there.error().reason != Reason::kNotFound && there.error().reason != Reason::kBadRequest)
      return there.error();
  }
  return facts;
}

client::Resource resource_of(const json::Value& object) {
  const std::string_view kind = json::string_at(object, {"kind"});
  if (kind == "ConfigMap") return client::resources::kConfigMaps;
  if (kind == "Service") return client::resources::kServices;
  return client::resources::kDeployments;
}

std::string line_of(const json::Value& object) {
  return fmt::format(
      "{}/{}", cli::arena::printed_resource(json::string_at(object, {"kind"}), json::string_at(object, {"apiVersion"})),
      json::string_at(object, {"metadata", "name"}));
}

Error told_about_kind(Error error, const JobTypeInfo& info) {
  if (error.reason != Reason::kNotFound || !error.subject.name.empty()) return error;
  return bad_request(
      fmt::format("this cluster does not serve {} of {}", info.resource.plural, client::api_version(info.resource)));
}

void print_objects(const Rendered& rendered, const std::string& output) {
  if (output == "json") {
    json::Array items{rendered.record};
    for (const json::Value& helper : rendered.helpers) items.push_back(helper);
    items.push_back(rendered.job);
    print_as("json", json::Object{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}});
    return;
  }
  fmt::print("{}", json::to_yaml(rendered.record));
  for (const json::Value& helper : rendered.helpers) fmt::print("---\n{}", json::to_yaml(helper));
  fmt::print("---\n{}", json::to_yaml(rendered.job));
}

Result<void> try_on_server(Session& session, const Submission& submission, const Rendered& rendered) {
  const JobTypeInfo& info = cli::arena::info_of(submission.flags.type);
  std::vector<std::pair<client::Resource, const json::Value*>> all{{client::resources::kConfigMaps, &rendered.record}};
  for (const json::Value& helper : rendered.helpers) all.emplace_back(resource_of(helper), &helper);
  all.emplace_back(info.resource, &rendered.job);
  for (const auto& [resource, object] : all) {
    auto answer = session.connection().dry_run_create(resource, submission.flags.ns, *object);
    if (!answer) return told_about_kind(std::move(answer.error()), info);
    fmt::print("{} created (server dry run)\n", line_of(*object));
  }
  return {};
}

Result<void> show_plan(Session& session, const Submission& submission, const Rendered& rendered,
                       const std::string& output) {
  GW_TRY(const auto objects, session.connection().read(cli::readings_for(scheduler::Scheduler())));
  Rehearsal rehearsal(session.connection(), *objects);
  cli::Manifest manifest;
  manifest.kind = json::string_at(rendered.job, {"kind"});
  manifest.ns = submission.flags.ns;
  manifest.name = submission.flags.name;
  manifest.resource = cli::arena::info_of(submission.flags.type).resource;
  manifest.object = rendered.job;
  GW_CHECKED(rehearsal.add(manifest));
  scheduler::PlanPreview preview = scheduler::preview(client::View(*objects, now()), rehearsal.pods());
  preview.notes.insert(preview.notes.begin(), rehearsal.notes().begin(), rehearsal.notes().end());
  if (!print_as(output, to_json(preview))) fmt::print("{}", to_text(preview));
  return {};
}

// Creates everything, or takes back what it has made.
class Creation {
 public:
  Creation(Session& session, const Submission& submission) : session_(session), submission_(submission) {}

  Result<json::Value> run(const Rendered& rendered) {
    auto made = create_all(rendered);
    if (!made) {
      for (auto at = made_.rbegin(); at != made_.rend(); ++at)
        if (auto removed = session_.connection().remove(at->first, {ns(), at->second}); !removed)
          warn(fmt::format("{} stays behind: {}", at->second, removed.error().message));
      return told_about_kind(std::move(made.error()), cli::arena::info_of(submission_.flags.type));
    }
    give_to(*made);
    return made;
  }

 private:
  const std::string& ns() const { return submission_.flags.ns; }

  Result<json::Value> create(const client::Resource& resource, const json::Value& object) {
    GW_TRY(json::Value stored, session_.connection().create(resource, ns(), object));
    made_.emplace_back(resource, std::string(json::string_at(object, {"metadata", "name"})));
    return stored;
  }

  Result<json::Value> create_all(const Rendered& rendered) {
    const JobTypeInfo& info = cli::arena::info_of(submission_.flags.type);
    // A job that would be refused is refused before anything is there.
    GW_TRY(const json::Value judged, session_.connection().dry_run_create(info.resource, ns(), rendered.job));
    GW_TRY(const json::Value record, create(client::resources::kConfigMaps, rendered.record));
    const std::string line = line_of(rendered.record);
    lines_ += fmt::format("{} created\n{} labeled\n", line, line);
    for (const json::Value& helper : rendered.helpers) {
      GW_TRY(const json::Value stored, create(resource_of(helper), helper));
      lines_ += line_of(helper) + " created\n";
    }
    GW_TRY(json::Value job, session_.connection().create(info.resource, ns(), rendered.job));
    fmt::print("{}{} created\n", lines_, line_of(rendered.job));
    return job;
  }

  // What was made for the job goes with it.
  void give_to(const json::Value& job) {
    const json::Value owner = json::Object{{"apiVersion", json::string_at(job, {"apiVersion"})},
                                           {"kind", json::string_at(job, {"kind"})},
                                           {"name", json::string_at(job, {"metadata", "name"})},
                                           {"uid", json::string_at(job, {"metadata", "uid"})},
                                           {"controller", true},
                                           {"blockOwnerDeletion", false}};
    const json::Value changes = json::Object{{"metadata", json::Object{{"ownerReferences", json::Array{owner}}}}};
    for (const auto& [resource, name] : made_)
      if (auto given = session_.connection().patch(resource, {ns(), name}, changes); !given)
        warn(fmt::format("{} will stay when the job is deleted with kubectl: {}", name, given.error().message));
  }

  Session& session_;
  const Submission& submission_;
  std::vector<std::pair<client::Resource, std::string>> made_;
  std::string lines_;
};

Result<void> wait_for_start(Session& session, const SubmitFlags& flags) {
  std::string seen;
  while (true) {
    GW_TRY(const auto job, session.job(flags.name, std::string(cli::arena::info_of(flags.type).name)));
    const std::string now_seen = job.message.empty() ? job.status : job.status + ": " + job.message;
    if (now_seen != seen) info(fmt::format("The Job {} is {}", flags.name, now_seen));
    seen = now_seen;
    if (job.status == "FAILED") return bad_request(fmt::format("the job {} has failed", flags.name));
    if (job.status == "RUNNING" || job.status == "SUCCEEDED") return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
}

Result<void> submit(const GlobalFlags& global, SubmitCommand command) {
  GW_TRY(const auto session, Session::open(global));
  command.flags.ns = session->ns();
  GW_TRY(const SubmitFacts facts, facts_for(*session, command.flags));
  GW_TRY(const Submission submission, cli::arena::check_submission(command.flags, facts));
  const Rendered rendered = cli::arena::render(submission);
  if (command.dry_run == "client") {
    print_objects(rendered, command.output);
    return {};
  }
  if (command.dry_run == "server") return try_on_server(*session, submission, rendered);
  if (command.dry_run == "plan") return show_plan(*session, submission, rendered, command.output);
  GW_TRY(const json::Value job, Creation(*session, submission).run(rendered));
  print_as(command.output, job);
  info(fmt::format("The Job {} has been submitted successfully", command.flags.name));
  info(fmt::format("You can run `arena get {} --type {}` to check the job status", command.flags.name,
                   cli::arena::info_of(command.flags.type).name));
  return command.wait ? wait_for_start(*session, command.flags) : Result<void>();
}

std::string example_of(const JobTypeInfo& info) {
  const std::string start = fmt::format("  arena submit {} --name=demo --image=IMAGE --gpus=1 ", info.words.front());
  switch (info.type) {
    case cli::arena::JobType::kRay:
      return start + "--worker-replicas=2 \"python train.py\"\n";
    case cli::arena::JobType::kEt:
      return start +
             "--workers=2 --min-workers=1 --max-workers=4 \\\n"
             "      \"horovodrun --min-np 1 --max-np 4 --host-discovery-script /etc/mpi/discover_hosts.sh python "
             "train.py\"\n";
    case cli::arena::JobType::kMpi:
    case cli::arena::JobType::kHorovod:
      return start + "--workers=2 \"mpirun python train.py\"\n" + start +
             "--workers=2 --priority=medium --on-preempt=requeue --dry-run=plan \"mpirun python train.py\"\n";
    default:
      return start + "--workers=2 \"python train.py\"\n" + start +
             "--workers=4 --min-workers=2 --on-preempt=shrink --wait \"python train.py\"\n";
  }
}

}  // namespace

void add_submit_command(CLI::App& app, const SharedFlags& global, int& status) {
  std::string examples;
  for (const JobTypeInfo& info : cli::arena::job_types()) examples += example_of(info);
  CLI::App* family = add_family(app, global, "submit", "Submit a training job", examples);
  for (const JobTypeInfo& info : cli::arena::job_types()) {
    auto command = std::make_shared<SubmitCommand>();
    command->flags.type = info.type;
    CLI::App* submitting =
        add_command(*family, global, std::string(info.name), fmt::format("Submit {}", info.about), example_of(info));
    for (const std::string_view word : info.words) submitting->alias(std::string(word));
    cli::arena::add_submit_flags(*submitting, command->flags);
    submitting
        ->add_option("--dry-run", command->dry_run,
                     "Create nothing: print the objects; =server: let the server judge them; =plan: say where the "
                     "pods would go and at whose cost")
        ->check(CLI::IsMember({"client", "server", "plan"}));
    submitting->add_flag("--wait", command->wait, "Return when it runs; fail when it fails");
    add_output_flag(submitting, command->output, false);
    on_run(submitting, global, status, [global, command] { return submit(*global, *command); });
  }
}

}  // namespace gangway::arena
