// gangway and arena: the command line. Flags and wiring; what commands do is in src/cli and in the files beside this
// one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "arena_commands.h"
#include "cli/arena/arguments.h"
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
  // One binary, two names: a link called arena is all there is to install.
  const std::string_view called = argc > 0 ? argv[0] : "gangway";
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (called.substr(called.rfind('/') + 1) == "arena") return gangway::arena::run_arena(arguments);
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
  auto global = std::make_shared<gangway::arena::GlobalFlags>();
  gangway::arena::add_submit_command(app, global, status);
  gangway::arena::add_show_commands(app, global, status);
  gangway::arena::add_change_commands(app, global, status);
  gangway::arena::add_about_commands(app, global, status);
  gangway::cli::arena::Arguments given = gangway::cli::arena::todays_arguments(arguments);
  for (const std::string& warning : given.warnings) fmt::print(stderr, "{}\n", warning);
  // The parser takes them last first.
  std::reverse(given.words.begin(), given.words.end());
  try {
    app.parse(std::move(given.words));
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return status;
}
