// gangway manager: the scheduler for a cluster that somebody else runs. gangway crds: the kinds that it needs there.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <memory>

#include "apiserver/embedded_kinds.h"
#include "cli/server_process.h"
#include "commands.h"
#include "failure.h"
#include "manager_process.h"
#include "sys/log.h"

namespace gangway {
namespace {

struct ManagerFlags {
  std::string kubeconfig;
  std::string context;
  std::string log_level = "info";
  std::string lease_duration = "15s";
  ManagerOptions options;
};

Result<ManagerOptions> options_of(const ManagerFlags& flags) {
  ManagerOptions options = flags.options;
  const auto duration = parse_duration(flags.lease_duration);
  // The Lease says it in whole seconds, and must outlast some slow answers.
  if (!duration || *duration < std::chrono::seconds(3) || *duration % std::chrono::seconds(1) != Duration::zero())
    return bad_request(
        fmt::format("--lease-duration: must be whole seconds, 3s or more (got \"{}\")", flags.lease_duration));
  options.lease_duration = *duration;
  GW_TRY(options.cluster, find_cluster(flags.kubeconfig, flags.context));
  return options;
}

int run_manager(const ManagerFlags& flags) {
  cli::block_stop_signals();
  std::signal(SIGPIPE, SIG_IGN);
  auto level = sys::parse_log_level(flags.log_level);
  if (!level) return fail(level.error());
  if (auto configured = sys::configure_log({.level = *level}); !configured) return fail(configured.error());
  auto options = options_of(flags);
  if (!options) return fail(options.error());
  std::atomic<bool> failed = false;
  auto process = ManagerProcess::start(std::move(*options), [&failed](const Error& error) {
    fail(error);
    failed = true;
    kill(getpid(), SIGTERM);  // whoever waits for it stops everything in order
  });
  if (!process) return fail(process.error());
  if (const auto port = (*process)->port()) sys::log_info("serving /healthz, /readyz and /metrics", {{"port", port}});
  cli::wait_for_stop_signal();
  sys::log_info("stopping: handing over");
  (*process)->stop();
  process->reset();
  sys::flush_log();
  return failed ? kFailed : 0;
}

constexpr std::string_view kPodGroups = "\n  name: podgroups.scheduling.x-k8s.io\n";

void print_crds(bool without_podgroup) {
  constexpr std::string_view kSeparator = "---\n";
  std::string_view rest = apiserver::embedded_crds();
  while (!rest.empty()) {
    const std::size_t end = rest.find("\n---\n", kSeparator.size());
    const std::string_view document = rest.substr(0, end == std::string_view::npos ? rest.size() : end + 1);
    rest.remove_prefix(document.size());
    if (without_podgroup && document.find(kPodGroups) != std::string_view::npos) continue;
    fmt::print("{}", document);
  }
}

void add_crds(CLI::App& app) {
  auto without_podgroup = std::make_shared<bool>(false);
  auto* command = app.add_subcommand("crds", "Print the CustomResourceDefinitions that `gangway manager` needs");
  command->footer(
      "Examples:\n"
      "  gangway crds | kubectl apply -f -\n"
      "  gangway crds --without-podgroup | kubectl apply -f -    where another scheduler has brought PodGroup\n");
  command->add_flag("--without-podgroup", *without_podgroup, "All but PodGroup of scheduling.x-k8s.io");
  command->callback([without_podgroup] { print_crds(*without_podgroup); });
}

}  // namespace

void add_manager_commands(CLI::App& app, int& status) {
  add_crds(app);
  auto flags = std::make_shared<ManagerFlags>();
  auto* command =
      app.add_subcommand("manager", "Place the pods with schedulerName: gangway on a Kubernetes that exists already");
  command->footer(
      "Once, as an administrator of that cluster:\n"
      "  gangway crds | kubectl apply -f -\n"
      "  kubectl apply -f deploy/rbac.yaml -f deploy/manager.yaml    to run it there, or\n"
      "  gangway manager --kubeconfig FILE                           to run it here\n"
      "It says what is missing until nothing is. Of several that run, one leads; SIGTERM hands over.\n");
  command->add_option("--kubeconfig", flags->kubeconfig,
                      "The kubeconfig (default: $KUBECONFIG, ~/.kube/config, or in a pod its service account)");
  command->add_option("--context", flags->context, "The context of the kubeconfig (default: its current one)");
  command->add_option("-n,--namespace", flags->options.lease_namespace, "Namespace of the Lease gangway-scheduler")
      ->capture_default_str();
  command
      ->add_option("--leader-elect", flags->options.elect,
                   "false: lead at once, whoever holds the Lease; for when you know that nobody does")
      ->capture_default_str();
  command
      ->add_option("--lease-duration", flags->lease_duration,
                   "How long the others wait for a leader who says nothing any more")
      ->capture_default_str();
  command->add_option("--listen", flags->options.listen,
                      "ADDRESS:PORT for /healthz, /readyz and /metrics over HTTP (default: nowhere)");
  command->add_option("--flight-dir", flags->options.flight_dir,
                      "Where to keep the last cycles for `gangway replay --flight-dir` (default: nowhere)");
  command->add_option("--log-level", flags->log_level, "debug, info, warning, error or off")->capture_default_str();
  command->callback([flags, &status] { status = run_manager(*flags); });
}

}  // namespace gangway
