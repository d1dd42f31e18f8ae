// The commands of `gangway`, by what they are about.
#pragma once

namespace CLI {
class App;
}

namespace gangway {

// up, down, status, backup, restore, completion. `status` becomes the exit code of the one that ran.
void add_server_commands(CLI::App& app, int& status);
// agent, node-token.
void add_agent_commands(CLI::App& app, int& status);
// manager, crds.
void add_manager_commands(CLI::App& app, int& status);
// usage.
void add_usage_command(CLI::App& app, int& status);
// replay.
void add_replay_command(CLI::App& app, int& status);
// explain, plan, top.
void add_insight_commands(CLI::App& app, int& status);

}  // namespace gangway
