// arena top node, top job: who has which GPUs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <thread>

#include "arena_commands.h"
#include "cli/arena/nodes_report.h"
#include "cli/arena/print_jobs.h"
#include "client/resource.h"

namespace gangway::arena {
namespace {

struct TopFlags {
  std::vector<std::string> names;
  std::string output, type, instance, metric, mode;
  bool details = false, refresh = false, all_namespaces = false;
};

Result<std::string> nodes_once(Session& session, const TopFlags& flags) {
  auto read =
      session.connection().list_all({{client::resources::kNodes, "", "", ""}, {client::resources::kPods, "", "", ""}});
  for (auto& answer : read)
    if (!answer) return std::move(answer.error());
  GW_TRY(auto reports, cli::arena::report_nodes(*read[0], *read[1], flags.names));
  if (print_as(flags.output, to_json(reports))) return std::string();
  return flags.details ? nodes_details(reports) : nodes_text(reports);
}

Result<void> top_node(const GlobalFlags& global, const TopFlags& flags) {
  if (flags.refresh && (!flags.details || flags.names.size() != 1))
    return bad_request("--refresh: needs -d and one node");
  GW_TRY(const auto session, Session::open(global));
  do {
    GW_TRY(const std::string text, nodes_once(*session, flags));
    fmt::print("{}", text);
    std::fflush(stdout);
    if (flags.refresh) std::this_thread::sleep_for(std::chrono::seconds(2));
  } while (flags.refresh);
  return {};
}

Result<void> top_one_job(Session& session, const TopFlags& flags) {
  do {
    GW_TRY(auto job, session.job(flags.names.front(), flags.type));
    if (!flags.instance.empty())
      std::erase_if(job.instances, [&](const auto& instance) { return instance.name != flags.instance; });
    if (!flags.instance.empty() && job.instances.empty())
      return bad_request(fmt::format("--instance: job {} has no instance {}", job.name, flags.instance));
    if (!print_as(flags.output, to_json(job, now()))) fmt::print("{}", top_job_text(job, now()));
    if (!flags.refresh) return {};
    fmt::print("------------------------------------------- {} -----------------------------------------------\n",
               to_rfc3339(now()));
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::seconds(2));
  } while (true);
}

Result<void> top_job(const GlobalFlags& global, const TopFlags& flags) {
  if (flags.names.size() > 1) return bad_request("only one job can be named");
  if (flags.names.empty() && flags.refresh) return bad_request("--refresh: needs a job");
  GW_TRY(const auto session, Session::open(global));
  if (!flags.names.empty()) return top_one_job(*session, flags);
  GW_TRY(const auto jobs, session->jobs({flags.all_namespaces ? "" : session->ns(), flags.type, false}));
  if (!print_as(flags.output, to_json(jobs, now())))
    fmt::print("{}", top_jobs_text(jobs, {flags.all_namespaces, flags.output == "wide"}, now()));
  return {};
}

}  // namespace

void add_top_commands(CLI::App& app, const SharedFlags& global, int& status) {
  CLI::App* family = add_family(app, global, "top", "Show who has which GPUs", "  arena top node\n  arena top job\n");
  auto flags = std::make_shared<TopFlags>();
  CLI::App* node = add_command(*family, global, "node", "Show the GPUs of nodes",
                               "  arena top node\n"
                               "  arena top node -d            with the pods that have them\n");
  node->add_option("nodes", flags->names, "Only these");
  node->add_flag("-d,--details", flags->details, "With the pods that have them");
  node->add_flag("-r,--refresh", flags->refresh, "Every two seconds");
  node->add_option("-m,--gpu-mode", flags->mode, "Taken, and of no effect: all GPUs are exclusive");
  node->add_option("--metric", flags->metric, "Taken, and of no effect");
  add_output_flag(node, flags->output, true);
  on_run(node, global, status, [global, flags] { return top_node(*global, *flags); });

  flags = std::make_shared<TopFlags>();
  CLI::App* job = add_command(*family, global, "job", "Show the GPUs of jobs",
                              "  arena top job -A\n"
                              "  arena top job demo\n");
  job->add_option("job", flags->names, "Only this one");
  job->add_flag("-A,--all-namespaces", flags->all_namespaces, "Of all namespaces");
  job->add_flag("-r,--refresh", flags->refresh, "Every two seconds");
  job->add_option("-i,--instance", flags->instance, "Only this instance");
  add_type_flag(job, flags->type);
  add_output_flag(job, flags->output, true);
  on_run(job, global, status, [global, flags] { return top_job(*global, *flags); });
}

}  // namespace gangway::arena
