#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "arena_commands.h"
#include "cli/arena/arguments.h"
#include "cli/arena/job_type.h"
#include "cli/completion.h"
#include "failure.h"

namespace gangway::arena {
namespace {

constexpr const char* kAbout =
    "arena submits training jobs and shows what becomes of them.\n\n"
    "  arena submit pytorch --name=mnist --gpus=1 --workers=2 --image=IMAGE \"python train.py\"\n"
    "  arena list\n"
    "  arena get mnist\n"
    "  arena logs mnist -f\n";

std::vector<cli::CommandDescription> describe(const CLI::App& app) {
  std::vector<cli::CommandDescription> commands;
  for (const CLI::App* command : app.get_subcommands({})) {
    cli::CommandDescription description{command->get_name(), command->get_description(), {}, {}};
    const auto add_flags = [&](const CLI::App* from) {
      for (const auto* option : from->get_options())
        for (const auto& name : option->get_lnames()) {
          const std::string flag = "--" + name;
          if (std::find(description.flags.begin(), description.flags.end(), flag) == description.flags.end())
            description.flags.push_back(flag);
        }
    };
    add_flags(command);
    for (const CLI::App* below : command->get_subcommands({})) {
      description.words.push_back(below->get_name());
      add_flags(below);
    }
    if (command->get_name() == "completion") description.words = {"bash", "zsh"};
    commands.push_back(std::move(description));
  }
  return commands;
}

void add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print a completion script for bash or zsh");
  command->footer("Examples:\n  source <(arena completion bash)\n");
  command->add_option("shell", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  command->callback([shell, &app] { fmt::print("{}", cli::completion_script(*shell, describe(app), "arena")); });
}

// In the words that users of Arena know.
std::string words_of(const CLI::ParseError& problem) {
  std::string said = problem.what();
  const std::size_t colon = said.find(": ");
  const bool is_unknown = problem.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (!is_unknown || colon == std::string::npos) return said;
  // The parser lists them last first.
  std::istringstream left(said.substr(colon + 2));
  std::string first;
  for (std::string word; left >> word;) first = word;
  if (first.starts_with("-")) return fmt::format("unknown flag: {}", first.substr(0, first.find('=')));
  return fmt::format("unknown command or argument: {}", first);
}

}  // namespace

CLI::App* add_command(CLI::App& app, const SharedFlags& global, const std::string& name, const std::string& about,
                      const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, about);
  if (!examples.empty()) command->footer("Examples:\n" + examples);
  command->get_formatter()->column_width(34);
  add_global_flags(*command, *global);
  return command;
}

void on_run(CLI::App* command, const SharedFlags& global, int& status, std::function<Result<void>()> run) {
  command->callback([global, &status, run = std::move(run)] {
    set_log_level(global->log_level);
    if (auto done = run(); !done) status = arena::fail(done.error());
  });
}

CLI::App* add_family(CLI::App& app, const SharedFlags& global, const std::string& name, const std::string& about,
                     const std::string& examples) {
  CLI::App* family = add_command(app, global, name, about, examples);
  family->callback([family] {
    if (family->get_subcommands().empty()) fmt::print("{}", family->help());
  });
  return family;
}

void add_output_flag(CLI::App* command, std::string& output, bool with_wide) {
  const auto allowed =
      with_wide ? std::vector<std::string>{"wide", "json", "yaml"} : std::vector<std::string>{"json", "yaml"};
  command->add_option("-o,--output", output, with_wide ? "wide, json or yaml" : "json or yaml")
      ->check(CLI::Validator(
          [allowed](std::string& text) -> std::string {
            if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return "";
            return fmt::format("must be one of [{}] (got {})", allowed.size() == 3 ? "wide|json|yaml" : "json|yaml",
                               text.empty() ? "nothing" : text);
          },
          ""));
}

void add_type_flag(CLI::App* command, std::string& type) {
  command->add_option("-T,--type", type, "mpijob, pytorchjob, tfjob, rayjob, etjob or horovodjob");
}

int run_arena(const std::vector<std::string>& arguments) {
  cli::arena::Arguments given = cli::arena::todays_arguments(arguments);
  for (const std::string& warning : given.warnings) fmt::print(stderr, "{}\n", warning);
  CLI::App app{kAbout, "arena"};
  app.get_formatter()->column_width(34);
  auto global = std::make_shared<GlobalFlags>();
  add_global_flags(app, *global);
  int status = 0;
  add_submit_command(app, global, status);
  add_show_commands(app, global, status);
  add_top_commands(app, global, status);
  add_change_commands(app, global, status);
  add_about_commands(app, global, status);
  add_completion(app);
  app.callback([&app] {
    if (app.get_subcommands().empty()) fmt::print("{}", app.help());
  });
  // The parser takes them last first.
  std::reverse(given.words.begin(), given.words.end());
  try {
    app.parse(std::move(given.words));
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) return app.exit(problem);
    error(words_of(problem));
    return kFailed;
  }
  return status;
}

}  // namespace gangway::arena
