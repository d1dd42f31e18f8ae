#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "cli/cluster_reader.h"
#include "client/resource.h"
#include "cluster_connection.h"
#include "commands.h"
#include "failure.h"
#include "scheduler/usage.h"

namespace gangway {
namespace {

struct UsageFlags {
  ConnectionFlags connection;
  std::string by = "user";
  std::string since = "24h";
  std::string output;
};

cli::Reading reading_of(const client::Resource& resource, const std::string& ns) {
  cli::Reading reading;
  reading.what.resource = resource;
  reading.what.ns = ns;
  return reading;
}

// Only an embedded server says who made a pod; elsewhere the annotation is anybody's word.
Result<bool> knows_users(ClusterConnection& connection) {
  GW_TRY(const json::Value version, connection.get("/version"));
  return json::string_at(version, {"gitVersion"}).find("+gangway") != std::string_view::npos;
}

Result<std::string> report_usage(const UsageFlags& flags) {
  auto since = parse_duration(flags.since);
  if (!since || *since <= Duration::zero())
    return bad_request(fmt::format("--since: must be a duration such as 90m or 24h (got {})", flags.since));
  GW_TRY(auto connection, ClusterConnection::open(flags.connection));
  const std::string& ns = flags.connection.ns;  // none given: all of them
  GW_TRY(auto objects,
         connection->read({reading_of(client::resources::kPods, ns), reading_of(client::resources::kReplicaSets, ns),
                           reading_of(scheduler::kUsageRecords, ns)}));
  scheduler::UsageQuestion question;
  question.by = *scheduler::usage_by_word(flags.by);
  question.now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  question.since = question.now - *since;
  GW_TRY(question.knows_users, knows_users(*connection));
  const client::View view(*objects, question.now);
  std::vector<scheduler::PodUsage> pods;
  for (const auto& [name, pod] : view.objects(client::resources::kPods).all()) {
    pods.push_back(scheduler::read_usage(pod));
    pods.back().job = scheduler::shown_job(pods.back().job, view.objects(client::resources::kReplicaSets));
  }
  std::vector<scheduler::Account> accounts;
  for (const auto& [name, record] : view.objects(scheduler::kUsageRecords).all())
    accounts.push_back(scheduler::read_account(record));
  const auto lines = scheduler::usage_of(accounts, pods, question);
  if (flags.output == "json") return json::serialize(scheduler::usage_json(lines, question)) + "\n";
  if (lines.empty()) return fmt::format("Nobody has had or waited for GPUs in the last {}.\n", flags.since);
  return scheduler::usage_table(lines, question.by);
}

int show_usage(const UsageFlags& flags) {
  auto text = report_usage(flags);
  if (!text) return fail(text.error());
  fmt::print("{}", *text);
  return 0;
}

}  // namespace

void add_usage_command(CLI::App& app, int& status) {
  auto flags = std::make_shared<UsageFlags>();
  auto* command = app.add_subcommand("usage", "Show who has used, waited for and lost how many GPU-hours");
  command->footer(
      "Examples:\n"
      "  gangway usage                              by user, the last 24 hours\n"
      "  gangway usage --by job --since 1h -n team  by job, in one namespace\n");
  command->add_option("--by", flags->by, "user, namespace, priority or job")
      ->capture_default_str()
      ->check(CLI::IsMember({"user", "namespace", "priority", "job"}));
  command->add_option("--since", flags->since, "How far to look back, as 90m or 24h")->capture_default_str();
  command->add_option("-o,--output", flags->output, "json (in GPU-seconds), or nothing for a table")
      ->check(CLI::IsMember({"json"}));
  command->add_option("--kubeconfig", flags->connection.kubeconfig,
                      "The kubeconfig (default: $KUBECONFIG, ~/.kube/config, or that of `gangway up`)");
  command->add_option("--context", flags->connection.context,
                      "The context of the kubeconfig (default: its current one)");
  command->add_option("-n,--namespace", flags->connection.ns, "One namespace (default: all of them)");
  command->callback([flags, &status] { status = show_usage(*flags); });
}

}  // namespace gangway
