// gangway agent: the agent of this machine as a process. gangway node-token: what it logs in with on another machine.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "agent_process.h"
#include "apiserver/auth/token_issuer.h"
#include "base/names.h"
#include "cli/agent_config.h"
#include "cli/cluster_file.h"
#include "cli/data_dir.h"
#include "cli/machine.h"
#include "commands.h"
#include "crypto/tokens.h"
#include "failure.h"
#include "issuer.h"
#include "machine_runtime.h"
#include "sys/file_descriptor.h"
#include "sys/files.h"
#include "sys/log.h"

namespace gangway {
namespace {

struct AgentFlags {
  std::string config;  // of `gangway up`; the others are for machines that join by themselves
  std::string server;
  std::string token_file;
  std::string node_name;
  std::string address;
  std::string runtime;
  std::string image_policy;
  std::string data_dir = cli::DataDir::default_path() + "-agent";
  std::string log_level = "info";
};

// A token file holds the token in its first line and the certificate of the cluster's authority below, as `gangway
// node-token` prints them.
Result<cli::AgentLogin> login_of(const AgentFlags& flags) {
  GW_TRY(const auto text, sys::read_file(flags.token_file));
  cli::AgentLogin login;
  const std::size_t end = text.find('\n');
  login.server = flags.server;
  login.token = text.substr(0, end);
  if (end != std::string::npos) login.authority_pem = text.substr(end + 1);
  if (login.token.empty())
    return bad_request(fmt::format("{} holds no token; `gangway node-token NAME` prints one", flags.token_file));
  return login;
}

Result<cli::AgentConfig> joining_config(const AgentFlags& flags) {
  if (flags.server.empty() || flags.token_file.empty())
    return bad_request("a machine joins a cluster with --server URL and --token-file FILE");
  GW_TRY(auto machine, cli::cluster_of_flags({}, cli::this_machine()));
  cli::AgentConfig config;
  config.data_dir = std::filesystem::absolute(flags.data_dir).lexically_normal().string();
  config.beside_server = false;
  config.log_level = flags.log_level;
  agent::NodeSpec spec = std::move(machine.nodes.front());
  if (!flags.node_name.empty()) spec.name = flags.node_name;
  spec.address = flags.address;
  spec.runtime = flags.runtime;
  spec.image_policy = flags.image_policy;
  GW_TRY(auto login, login_of(flags));
  config.client_authority_pem = login.authority_pem;
  cli::UpOptions choice;
  choice.data_dir = config.data_dir;
  choice.nodes = {spec};
  GW_CHECKED(choose_runtimes(choice));
  for (const auto& warning : choice.warnings) fmt::print(stderr, "warning: {}\n", warning);
  config.runtime = choice.nodes.front().runtime;
  const auto& node = choice.nodes.front();
  config.nodes.push_back({node, std::move(login), node.address.empty() ? "127.0.0.1" : node.address});
  return config;
}

Result<cli::AgentConfig> config_of(const AgentFlags& flags) {
  if (flags.config.empty()) return joining_config(flags);
  GW_TRY(const auto text, sys::read_file(flags.config));
  auto config = cli::read_agent_config(text);
  if (!config) return std::move(config.error()).within(flags.config);
  return config;
}

// Two agents of one data directory would undo each other's work.
Result<sys::FileDescriptor> lock(const cli::DataDir& data) {
  const std::string path = data.agent() + "/lock";
  sys::FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return internal_error(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return bad_request(fmt::format("an agent is already running on {}", data.path()));
  return file;
}

sigset_t signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR2}) sigaddset(&set, signal);
  return set;
}

int run_agent(const AgentFlags& flags) {
  const auto set = signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  auto config = config_of(flags);
  if (!config) return fail(config.error());
  auto level = sys::parse_log_level(config->log_level);
  if (!level) return fail(level.error());
  if (auto configured = sys::configure_log({.level = *level}); !configured) return fail(configured.error());
  const cli::DataDir data(config->data_dir);
  if (auto made = data.create(); !made) return fail(made.error());
  auto locked = lock(data);
  if (!locked) return fail(locked.error());
  if (auto written = sys::atomic_write(data.agent_pid_file(), fmt::format("{}\n", getpid()), 0644); !written)
    return fail(written.error());

  auto process = AgentProcess::start(std::move(*config));
  if (!process) return fail(process.error());
  sys::log_info("the agent runs", {{"pid", getpid()}});
  int signal = 0;
  while (sigwait(&set, &signal) != 0) {
  }
  // SIGUSR2: the cluster goes down, and its pods with it. Otherwise only the agent goes, and another goes on.
  sys::log_info("the agent ends", {{"pods", signal == SIGUSR2 ? "end with it" : "go on"}});
  if (signal == SIGUSR2) (*process)->stop_pods();
  process->reset();
  unlink(data.agent_pid_file().c_str());
  sys::flush_log();
  return 0;
}

struct TokenFlags {
  std::string node;
  std::string data_dir = cli::DataDir::default_path();
  int days = 365;
};

Result<std::string> make_node_token(const TokenFlags& flags) {
  if (const auto problems = names::check_dns1123_subdomain(flags.node); !problems.empty())
    return bad_request(fmt::format("{} is not a node's name: {}", flags.node, problems.front()));
  const cli::DataDir data(flags.data_dir);
  GW_TRY(const auto key, sys::read_file(data.pki() + "/sa.key"));
  GW_TRY(const auto authority, sys::read_file(data.pki() + "/ca.crt"));
  GW_TRY(const auto signer, crypto::EcTokenSigner::create(key));
  const auto claims = apiserver::node_token_claims(std::string(kTokenIssuer), flags.node, sys::system_clock().wall(),
                                                   std::chrono::hours(24) * flags.days);
  GW_TRY(const auto token, signer->sign(json::serialize(claims)));
  return token + "\n" + authority;
}

int print_node_token(const TokenFlags& flags) {
  const auto token = make_node_token(flags);
  if (!token) return fail(token.error());
  fmt::print("{}", *token);
  return 0;
}

void add_node_token(CLI::App& app, int& status) {
  auto flags = std::make_shared<TokenFlags>();
  auto* command = app.add_subcommand("node-token", "Print what an agent on another machine joins this cluster with");
  command->footer("Example: gangway node-token worker-1 > worker-1.token");
  command->add_option("node", flags->node, "Name of the node")->required();
  command->add_option("--days", flags->days, "How long it is good for")
      ->capture_default_str()
      ->check(CLI::Range(1, 3650));
  command->add_option("--data-dir", flags->data_dir, "Where the cluster lives")->capture_default_str();
  command->callback([flags, &status] { status = print_node_token(*flags); });
}

}  // namespace

void add_agent_commands(CLI::App& app, int& status) {
  add_node_token(app, status);
  auto flags = std::make_shared<AgentFlags>();
  auto* command = app.add_subcommand("agent", "Run pods on this machine for a cluster elsewhere");
  command->footer(
      "Example, with a file that `gangway node-token worker-1 > FILE` made beside the server:\n"
      "  gangway agent --server https://10.0.0.1:6443 --token-file FILE --node-name worker-1 --address 10.0.0.2\n");
  command->add_option("--config", flags->config, "What `gangway up` tells the agent that it starts")->group("");
  command->add_option("--server", flags->server, "URL of the API server");
  command->add_option("--token-file", flags->token_file, "File with the token of the node")->check(CLI::ExistingFile);
  command->add_option("--node-name", flags->node_name, "Name of the node (default: this machine's)");
  command->add_option("--address", flags->address, "Address at which the server reaches this machine");
  command->add_option("--runtime", flags->runtime, "oci or simulated (default: what this machine can)")
      ->check(CLI::IsMember({"oci", "simulated"}));
  command->add_option("--image-policy", flags->image_policy, "host or pull (default: host)")
      ->check(CLI::IsMember({"host", "pull"}));
  command->add_option("--data-dir", flags->data_dir, "Where the agent keeps its state")->capture_default_str();
  command->add_option("--log-level", flags->log_level, "debug, info, warning, error or off")->capture_default_str();
  command->callback([flags, &status] { status = run_agent(*flags); });
}

}  // namespace gangway
