// The commands about training jobs: those of `arena`, which `gangway` has as well where it has none of that name.
#pragma once

#include <memory>

#include "arena_session.h"

namespace CLI {
class App;
}

namespace gangway::arena {

using SharedFlags = std::shared_ptr<GlobalFlags>;

// submit.
void add_submit_command(CLI::App& app, const SharedFlags& global, int& status);
// get, list, describe, events, logs, data.
void add_show_commands(CLI::App& app, const SharedFlags& global, int& status);
// top node, top job.
void add_top_commands(CLI::App& app, const SharedFlags& global, int& status);
// delete, prune, suspend, resume, restart, scaleout, scalein, attach.
void add_change_commands(CLI::App& app, const SharedFlags& global, int& status);
// whoami, version.
void add_about_commands(CLI::App& app, const SharedFlags& global, int& status);

// A command with the global flags, whose result becomes the exit code.
CLI::App* add_command(CLI::App& app, const SharedFlags& global, const std::string& name, const std::string& about,
                      const std::string& examples);
void on_run(CLI::App* command, const SharedFlags& global, int& status, std::function<Result<void>()> run);
// A command that only has others below it: alone it shows them.
CLI::App* add_family(CLI::App& app, const SharedFlags& global, const std::string& name, const std::string& about,
                     const std::string& examples);
void add_output_flag(CLI::App* command, std::string& output, bool with_wide);
void add_type_flag(CLI::App* command, std::string& type);

// The program `arena`.
int run_arena(const std::vector<std::string>& arguments);

}  // namespace gangway::arena
