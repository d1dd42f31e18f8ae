#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <future>

#include "agent_supervisor.h"
#include "base/quantity.h"
#include "cli/cluster_file.h"
#include "cli/completion.h"
#include "cli/data_dir.h"
#include "cli/server_process.h"
#include "cli/status_report.h"
#include "cli/up_options.h"
#include "commands.h"
#include "embedded_cluster.h"
#include "failure.h"
#include "machine_runtime.h"
#include "net/asio_loop.h"
#include "remote.h"
#include "scheduler/explain_subject.h"
#include "store/sqlite_store.h"
#include "sys/files.h"
#include "sys/log.h"
#include "version.h"

namespace gangway {
namespace {

struct UpFlags {
  std::string cluster_file;
  std::string data_dir = cli::DataDir::default_path();
  std::string bind = "127.0.0.1";
  std::uint16_t port = 6443;
  std::string kubeconfig;
  std::string log_level = "info";
  bool detach = false;
  std::string runtime;
  std::vector<std::string> without;
  std::string flight_size = "64Mi";
  cli::NodeFlags nodes;
};

Result<cli::UpOptions> options_of(const UpFlags& flags) {
  cli::UpOptions options;
  options.data_dir = std::filesystem::absolute(flags.data_dir).lexically_normal().string();
  options.bind = flags.bind;
  options.port = flags.port;
  options.without = flags.without;
  const auto flight_size = Quantity::parse(flags.flight_size);
  if (!flight_size || flight_size->is_negative())
    return bad_request(fmt::format("--flight-size: must be a size, as in 64Mi (got \"{}\")", flags.flight_size));
  options.flight_bytes = static_cast<std::uint64_t>(flight_size->value());
  if (!flags.kubeconfig.empty()) options.kubeconfig = std::filesystem::absolute(flags.kubeconfig).string();
  if (flags.cluster_file.empty()) {
    GW_TRY(auto cluster, cli::cluster_of_flags(flags.nodes, cli::this_machine()));
    options.nodes = std::move(cluster.nodes);
    options.warnings = std::move(cluster.warnings);
    return options;
  }
  if (flags.nodes.any())
    return bad_request("--cluster describes the nodes: it cannot be used together with --nodes and --…-per-node");
  GW_TRY(auto text, sys::read_file(flags.cluster_file));
  auto cluster = cli::parse_cluster_file(text);
  if (!cluster) return std::move(cluster.error()).within(flags.cluster_file);
  options.nodes = std::move(cluster->nodes);
  options.warnings = std::move(cluster->warnings);
  return options;
}

std::string welcome(const cli::UpOptions& options, const std::string& url) {
  auto kubeconfig = options.kubeconfig.empty() ? cli::DataDir(options.data_dir).kubeconfig() : options.kubeconfig;
  return fmt::format("The cluster is ready at {} with {} node{}.\n\n  export KUBECONFIG={}\n", url,
                     options.nodes.size(), options.nodes.size() == 1 ? "" : "s", kubeconfig);
}

// Runs the server until it is told to stop. `report` hears once whether it came up.
int serve(const cli::UpOptions& options, const cli::ReportReady& report) {
  cli::block_stop_signals();
  auto cluster = EmbeddedCluster::start(options);
  if (!cluster) {
    report(cluster.error());
    return kFailed;
  }
  cli::DataDir data(options.data_dir);
  if (auto written = data.write_pid(getpid()); !written) {
    report(written.error());
    return kFailed;
  }
  report(welcome(options, (*cluster)->url()));
  const auto pods = cli::wait_for_stop_signal();
  sys::log_info("stopping", {{"pods", pods == cli::PodsThen::kEnd ? "end with it" : "go on"}});
  (*cluster)->stop(pods);
  data.remove_pid();
  if (pods == cli::PodsThen::kEnd) {
    if (auto cleaned = clean_machine(data.path()); !cleaned)
      sys::log_error("something is left on this machine", {{"error", cleaned.error().message}});
  }
  sys::flush_log();
  return 0;
}

int up(const UpFlags& flags) {
  auto options = options_of(flags);
  if (!options) return fail(options.error());
  if (!flags.runtime.empty()) {
    for (auto& node : options->nodes) node.runtime = flags.runtime;
  }
  cli::DataDir data(options->data_dir);
  if (auto pid = cli::lasting_server(data)) {
    return fail(bad_request(
        fmt::format("a cluster is already running on {} (process {}); `gangway down --data-dir {}` ends it, or choose "
                    "another --data-dir",
                    data.path(), *pid, data.path())));
  }
  if (auto chosen = choose_runtimes(*options); !chosen) return fail(chosen.error());
  auto level = sys::parse_log_level(flags.log_level);
  if (!level) return fail(level.error());
  if (auto configured = sys::configure_log({.level = *level}); !configured) return fail(configured.error());
  for (const auto& warning : options->warnings) fmt::print(stderr, "warning: {}\n", warning);
  if (flags.detach) {
    auto message = cli::detach(data, [&](const cli::ReportReady& report) { return serve(*options, report); });
    if (!message) return fail(message.error());
    fmt::print("{}", *message);
    return 0;
  }
  return serve(*options, [](const Result<std::string>& message) {
    if (!message) return void(fail(message.error()));
    fmt::print("{}\nPress Ctrl-C to stop it.\n", *message);
    std::fflush(stdout);
  });
}

int down(const std::string& data_dir, cli::PodsThen pods) {
  cli::DataDir data(std::filesystem::absolute(data_dir).lexically_normal().string());
  auto pid = data.running();
  // A server that died may have left its agent, or that its pods; a machine that joined another's cluster has only
  // that.
  const bool leftover = !pid && data.running_agent();
  if (leftover) {
    if (auto ended = end_agent(data, pods); !ended) return fail(ended.error());
  }
  const bool end_pods = pods == cli::PodsThen::kEnd;
  if (!pid && end_pods) {
    if (auto cleaned = clean_machine(data.path()); !cleaned) return fail(cleaned.error());
  }
  if (leftover) {
    fmt::print("The agent on {} is stopped{}.\n", data.path(),
               end_pods ? ", and its pods with it" : "; its pods go on");
    return 0;
  }
  if (auto stopped = cli::stop_server(data, pods); !stopped) return fail(stopped.error());
  fmt::print("The cluster on {} is stopped (process {}). Its data stays{}.\n", data.path(), *pid,
             end_pods ? "" : ", and its pods go on");
  return 0;
}

int show_status(const std::string& data_dir, const std::string& output) {
  cli::DataDir data(data_dir);
  auto status = ask_server(data, "/gangway/status");
  if (!status) return fail(status.error());
  fmt::print("{}", output == "json" ? json::serialize(*status) + "\n" : cli::status_report(*status));
  return 0;
}

// A running server copies its own store; the store of one that does not run is opened for the purpose.
Result<void> make_backup(const cli::DataDir& data, const std::string& path) {
  if (data.running()) {
    json::Value body = json::Object{{"path", path}};
    GW_CHECKED(ask_server(data, "/gangway/backup", &body));
    return {};
  }
  if (!std::filesystem::exists(data.database())) return bad_request(fmt::format("{} holds no cluster", data.path()));
  net::LoopThread thread("gw-backup");
  std::promise<Result<void>> made;
  thread.loop().post([&] {
    auto opened = store::SqliteStore::open(thread.loop(), {.path = data.database(), .vfs = {}, .watch = {}});
    made.set_value(opened ? (*opened)->backup(path) : Result<void>(opened.error()));
  });
  return made.get_future().get();
}

int backup(const std::string& data_dir, const std::string& file) {
  auto path = std::filesystem::absolute(file).lexically_normal().string();
  if (auto made = make_backup(cli::DataDir(data_dir), path); !made) return fail(made.error());
  fmt::print("Backed up to {}.\n", path);
  return 0;
}

int restore(const std::string& data_dir, const std::string& file) {
  cli::DataDir data(data_dir);
  if (auto pid = data.running()) {
    return fail(bad_request(
        fmt::format("a cluster is running on {} (process {}); end it with `gangway down` first", data.path(), *pid)));
  }
  if (auto made = data.create(); !made) return fail(made.error());
  if (auto restored = store::SqliteStore::restore(file, data.database()); !restored) return fail(restored.error());
  fmt::print("{} now holds what {} held. Start it with `gangway up --data-dir {}`.\n", data.path(), file, data.path());
  return 0;
}

// What completion needs to know of the commands, read off the parser itself.
std::vector<cli::CommandDescription> describe_commands(const CLI::App& app) {
  std::vector<cli::CommandDescription> commands;
  for (const auto* command : app.get_subcommands({})) {
    cli::CommandDescription description{command->get_name(), command->get_description(), {}, {}};
    for (const auto* option : command->get_options()) {
      for (const auto& name : option->get_lnames()) description.flags.push_back("--" + name);
    }
    if (command->get_name() == "completion") description.words = {"bash", "zsh"};
    if (command->get_name() == "explain")
      for (const auto& kind : scheduler::subject_kinds()) description.words.emplace_back(kind.word);
    commands.push_back(std::move(description));
  }
  return commands;
}

void add_up(CLI::App& app, int& status) {
  auto flags = std::make_shared<UpFlags>();
  auto* command = app.add_subcommand("up", "Start a cluster on this machine");
  command->footer(
      "Examples:\n"
      "  gangway up                                   one node: this machine\n"
      "  gangway up --nodes 3 --gpus-per-node 4       three nodes with 4 GPUs each\n"
      "  gangway up --cluster cluster.yaml --detach   nodes from a file, in the background\n");
  command->add_option("--cluster", flags->cluster_file, "File that describes the nodes (kind: Cluster)")
      ->check(CLI::ExistingFile);
  command->add_option("--nodes", flags->nodes.nodes, "Number of nodes")->check(CLI::Range(1, 100000));
  command->add_option("--gpus-per-node", flags->nodes.gpus, "GPUs of each node")->check(CLI::Range(0, 1024));
  command->add_option("--cpus-per-node", flags->nodes.cpus, "CPUs of each node, as a quantity (4, 500m)");
  command->add_option("--memory-per-node", flags->nodes.memory, "Memory of each node, as a quantity (16Gi)");
  command->add_option("--runtime", flags->runtime, "oci or simulated, for all nodes (default: what this machine can)")
      ->check(CLI::IsMember({"oci", "simulated"}));
  command->add_option("--data-dir", flags->data_dir, "Where the cluster lives")->capture_default_str();
  command->add_option("--bind", flags->bind, "Address to listen on")->capture_default_str()->check(CLI::ValidIPV4);
  command->add_option("--port", flags->port, "Port to listen on; 0 picks a free one")->capture_default_str();
  command->add_option("--kubeconfig", flags->kubeconfig, "Where to write the kubeconfig (default: DIR/kubeconfig)");
  command->add_option("--log-level", flags->log_level, "debug, info, warning, error or off")->capture_default_str();
  command
      ->add_option("--without-controllers", flags->without,
                   "Controllers to leave out, as `gangway status` names them (deployment-controller,…)")
      ->delimiter(',');
  command
      ->add_option("--flight-size", flags->flight_size,
                   "How much of the scheduler's last cycles to keep for `gangway replay`; 0 for none")
      ->capture_default_str();
  command->add_flag("--detach", flags->detach, "Return when the cluster is ready; it goes on in the background");
  command->callback([flags, &status] { status = up(*flags); });
}

}  // namespace

void add_server_commands(CLI::App& app, int& status) {
  add_up(app, status);
  auto data_dir = std::make_shared<std::string>(cli::DataDir::default_path());
  auto file = std::make_shared<std::string>();
  auto output = std::make_shared<std::string>();
  auto add = [&](const char* name, const char* text) {
    auto* command = app.add_subcommand(name, text);
    command->add_option("--data-dir", *data_dir, "Where the cluster lives")->capture_default_str();
    return command;
  };
  auto keep_pods = std::make_shared<bool>();
  auto* stop = add("down", "Stop the cluster; its data stays");
  stop->add_flag("--keep-pods", *keep_pods, "Pods go on without it, and the next `up` finds them; for an upgrade");
  stop->callback([=, &status] { status = down(*data_dir, *keep_pods ? cli::PodsThen::kGoOn : cli::PodsThen::kEnd); });

  auto* show = add("status", "Show the cluster's parts, versions, nodes, store and loops");
  show->add_option("-o,--output", *output, "json, or nothing for text")->check(CLI::IsMember({"json"}));
  show->callback([=, &status] { status = show_status(*data_dir, *output); });

  auto* save = add("backup", "Copy everything the cluster has stored to a file, while it runs");
  save->add_option("file", *file, "The file to make")->required();
  save->callback([=, &status] { status = backup(*data_dir, *file); });

  auto* bring_back = add("restore", "Replace what a stopped cluster has stored by a backup");
  bring_back->add_option("file", *file, "The backup")->required()->check(CLI::ExistingFile);
  bring_back->callback([=, &status] { status = restore(*data_dir, *file); });

  auto* completion = app.add_subcommand("completion", "Print a completion script for bash or zsh");
  completion->footer("Example: source <(gangway completion bash)");
  completion->add_option("shell", *file, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  completion->callback([=, &app] { fmt::print("{}", cli::completion_script(*file, describe_commands(app))); });
}

}  // namespace gangway
