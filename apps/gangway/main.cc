// gangway: the command line. Flags and wiring; what commands do is in src/cli and in the files beside this one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "version.h"

namespace {

constexpr std::string_view kAbout =
    "Gangway shares a GPU cluster between training jobs of different priority.\n\n"
    "  gangway up                     start a cluster on this machine\n"
    "  export KUBECONFIG=…            (the line that `up` prints)\n"
    "  kubectl get nodes\n";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{std::string(kAbout), "gangway"};
  app.set_version_flag("--version",
                       fmt::format("gangway {} (Kubernetes {})", gangway::kVersion, gangway::kKubernetesVersion));
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  int status = 0;
  gangway::add_server_commands(app, status);
  gangway::add_agent_commands(app, status);
  gangway::add_manager_commands(app, status);
  gangway::add_usage_command(app, status);
  gangway::add_replay_command(app, status);
  gangway::add_insight_commands(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return status;
}
