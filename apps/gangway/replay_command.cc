#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/data_dir.h"
#include "commands.h"
#include "failure.h"
#include "json/value.h"
#include "scheduler/flight/archive.h"
#include "scheduler/flight/replay.h"
#include "sys/files.h"

namespace gangway {
namespace {

namespace flight = scheduler::flight;

struct ReplayFlags {
  std::string file;
  std::string cycle;
  bool list = false;
  std::string data_dir = cli::DataDir::default_path();
  std::string flight_dir;
  std::string export_to;
  std::string output = "text";

  bool is_json() const { return output == "json"; }
};

Result<std::vector<std::string>> files_of(const ReplayFlags& flags) {
  if (!flags.file.empty()) return std::vector<std::string>{flags.file};
  const std::string folder = flags.flight_dir.empty() ? cli::DataDir(flags.data_dir).flight() : flags.flight_dir;
  auto files = flight::flight_files(folder);
  if (!files && files.error().reason == Reason::kNotFound)
    return bad_request(
        fmt::format("{} does not exist: no scheduler has recorded there; name the place with --data-dir "
                    "or --flight-dir",
                    folder));
  if (files && files->empty()) return bad_request(fmt::format("nothing has been recorded in {} yet", folder));
  return files;
}

// None: the last.
Result<std::optional<std::uint64_t>> cycle_of(const ReplayFlags& flags) {
  if (flags.cycle == "last" || (flags.cycle.empty() && !flags.file.empty())) return std::optional<std::uint64_t>();
  if (flags.cycle.empty())
    return bad_request("say which cycle: --cycle N, --cycle last, or --list to see which there are");
  std::uint64_t number = 0;
  const char* const end = flags.cycle.data() + flags.cycle.size();
  const auto read = std::from_chars(flags.cycle.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number == 0)
    return bad_request(fmt::format("--cycle: must be a number above 0, or \"last\" (got \"{}\")", flags.cycle));
  return std::optional<std::uint64_t>(number);
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
}

int list(const ReplayFlags& flags, const std::vector<std::string>& files) {
  std::vector<std::string> notes;
  const auto cycles = flight::list_cycles(files, notes);
  print_notes(notes);
  if (flags.is_json()) {
    json::Array all;
    for (const flight::Summary& one : cycles) {
      all.push_back(json::Object{{"cycle", one.cycle},
                                 {"now", one.now},
                                 {"tickets", one.tickets},
                                 {"evicted", one.evicted},
                                 {"waiting", one.waiting}});
    }
    fmt::print("{}\n", json::serialize(json::Value(std::move(all))));
    return 0;
  }
  fmt::print("{:<10}{:<32}{:<10}{:<10}{}\n", "CYCLE", "TIME", "TICKETS", "EVICTED", "WAITING");
  for (const flight::Summary& one : cycles)
    fmt::print("{:<10}{:<32}{:<10}{:<10}{}\n", one.cycle, one.now, one.tickets, one.evicted, one.waiting);
  return 0;
}

int replay(const ReplayFlags& flags) {
  const auto files = files_of(flags);
  if (!files) return fail(files.error());
  if (flags.list) return list(flags, *files);
  const auto number = cycle_of(flags);
  if (!number) return fail(number.error());
  std::vector<std::string> notes;
  auto record = flight::find_cycle(*files, *number, notes);
  print_notes(notes);
  if (!record) return fail(std::move(record.error()));
  if (!flags.export_to.empty()) {
    const auto written = sys::atomic_write(flags.export_to, flight::exported(*record), 0600);
    if (!written) return fail(written.error());
    fmt::print("Cycle {} is in {}; `gangway replay {}` plans it again anywhere.\n", record->number, flags.export_to,
               flags.export_to);
    return 0;
  }
  const auto again = flight::replay(std::move(*record));
  if (!again) return fail(again.error());
  fmt::print("{}", flags.is_json() ? json::serialize(flight::report_json(*again)) + "\n" : flight::report(*again));
  return again->is_same() ? 0 : kFailed;
}

}  // namespace

void add_replay_command(CLI::App& app, int& status) {
  auto flags = std::make_shared<ReplayFlags>();
  auto* command = app.add_subcommand("replay", "Plan a recorded cycle of the scheduler again, and compare");
  command->footer(
      "The scheduler records every cycle that decided something, with all that it knew then. Replaying one changes\n"
      "nothing and needs no cluster. It ends with 1 when another plan comes out than was recorded.\n\n"
      "Examples:\n"
      "  gangway replay --list                        which cycles there are\n"
      "  gangway replay --cycle last                  what was decided last, and why the others wait\n"
      "  gangway replay --cycle 17 --export odd.flight   one cycle, to carry to another machine\n"
      "  gangway replay odd.flight                    there\n"
      "  gangway replay --cycle 17 -o json | jq .plan\n");
  auto* file = command->add_option("file", flags->file, "A file that --export made, or one of the recorder's own");
  file->check(CLI::ExistingFile);
  auto* cycle = command->add_option("--cycle", flags->cycle, "Its number, or `last`");
  auto* all = command->add_flag("--list", flags->list, "List the cycles that are kept");
  auto* data = command->add_option("--data-dir", flags->data_dir, "Where the cluster lives")->capture_default_str();
  auto* folder = command->add_option("--flight-dir", flags->flight_dir, "Where cycles are kept (default: DIR/flight)");
  auto* copy = command->add_option("--export", flags->export_to, "Write the cycle to a file of its own instead");
  command->add_option("-o,--output", flags->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  folder->excludes(data);
  file->excludes(data)->excludes(folder);
  all->excludes(cycle)->excludes(copy);
  command->callback([flags, &status] { status = replay(*flags); });
}

}  // namespace gangway
