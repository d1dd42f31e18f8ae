// sim: runs seeds of the whole-system simulation.
//
//   sim --seed 7 --trace        one world, told as it happens
//   sim --seeds 1..1000 --twice many, each run twice: the same seed must give the same run
//   sim --seeds 1..4 --training-jobs 500
//                               so many training jobs of all kinds in each
//
// A seed that fails prints the command that repeats it.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "sim/world.h"
#include "sys/log.h"

namespace gangway::sim {
namespace {

struct Options {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
  bool trace = false;
  bool twice = false;
  bool sites = false;
  bool stop = false;
  unsigned jobs = 2;
  std::int64_t training_jobs = 0;
};

std::string program;  // how to call this again
std::uint64_t current_seed = 0;

void show(MonoTime at, std::string_view who, std::string_view what, std::string_view detail) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count();
  fmt::print("{:>12.6f} {:<12} {} {}\n", static_cast<double>(micros) / 1e6, who, what, detail);
}

// Steps are bounded, what happens within one is not: a seed that takes so long will never end.
constexpr unsigned kLongestSeconds = 900;
constexpr unsigned kLongestSecondsOfAJob = 10;

// An invariant inside of the product ended the process, or it goes in circles: say which seed did it.
void on_signal(int signal) {
  const auto text =
      fmt::format("seed {} FAILED: {}\n  again: {} --seed {} --trace\n", current_seed,
                  signal == SIGALRM ? "it does not end" : "the program ended itself", program, current_seed);
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  ::_exit(1);
}

bool run_seed(const Options& options, std::uint64_t seed, std::map<std::string, std::uint64_t>& sites) {
  current_seed = seed;
  ::alarm(kLongestSeconds + static_cast<unsigned>(options.training_jobs) * kLongestSecondsOfAJob);
  const auto began = std::chrono::steady_clock::now();
  auto once = [&] {
    return World({.seed = seed,
                  .training_jobs = options.training_jobs,
                  .show = options.trace ? show : testing::Trace::Show()})
        .run();
  };
  auto report = once();
  if (options.twice && report.broken.empty()) {
    const auto again = once();
    if (again.hash != report.hash)
      report.broken.push_back(fmt::format("two runs differ: {:016x} and {:016x}", report.hash, again.hash));
  }
  for (const auto& [name, site] : report.sites) sites[name] += site.happened;
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began).count();
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(report.virtual_time).count();
  if (report.broken.empty()) {
    if (options.first == options.last)
      fmt::print("seed {} ok: {:016x}, {} steps, {} writes, {} min, {} ms\n", seed, report.hash, report.steps,
                 report.writes, minutes, took);
    return true;
  }
  fmt::print("seed {} FAILED after {} min, {} steps:\n", seed, minutes, report.steps);
  for (const auto& what : report.broken) fmt::print("  {}\n", what);
  const auto training =
      options.training_jobs > 0 ? fmt::format(" --training-jobs {}", options.training_jobs) : std::string();
  fmt::print("  again: {} --seed {}{}{} --trace\n", program, seed, training, options.twice ? " --twice" : "");
  return false;
}

// Every jobs-th seed, beginning with the worker's own.
int run_worker(const Options& options, unsigned worker) {
  std::size_t failed = 0;
  std::map<std::string, std::uint64_t> sites;
  for (auto seed = options.first + worker; seed <= options.last; seed += options.jobs) {
    if (!run_seed(options, seed, sites)) ++failed;
    std::fflush(stdout);
    if (failed > 0 && options.stop) break;
  }
  if (options.sites)
    for (const auto& [name, happened] : sites) fmt::print("site {} {}\n", name, happened);
  std::fflush(stdout);
  return failed == 0 ? 0 : 1;
}

int run_workers(const Options& options) {
  builtin_kinds();  // read once for all
  std::vector<pid_t> workers;
  for (unsigned worker = 0; worker < options.jobs; ++worker) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(run_worker(options, worker));
    workers.push_back(pid);
  }
  int failed = 0;
  for (std::size_t left = workers.size(); left > 0; --left) {
    int status = 0;
    std::erase(workers, ::waitpid(-1, &status, 0));
    if (status == 0) continue;
    failed = 1;
    // One that failed is enough: the others need not go on.
    if (options.stop)
      for (const pid_t pid : workers) ::kill(pid, SIGTERM);
  }
  return failed;
}

int run_all(const Options& options) {
  if (options.first == options.last) return run_worker(options, 0);
  const int failed = options.jobs == 1 ? run_worker(options, 0) : run_workers(options);
  fmt::print("sim: {} seeds, {}..{}{}: {}\n", options.last - options.first + 1, options.first, options.last,
             options.twice ? ", each twice" : "", failed == 0 ? "all laws held" : "FAILED");
  return failed;
}

bool parse_range(const std::string& text, Options& options) {
  const auto dots = text.find("..");
  if (dots == std::string::npos) return false;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), text.data() + dots, options.first);
  const auto last = std::from_chars(text.data() + dots + 2, end, options.last);
  return first.ptr == text.data() + dots && last.ptr == end && options.first <= options.last;
}

}  // namespace
}  // namespace gangway::sim

int main(int argc, char** argv) {
  using namespace gangway;
  sim::Options options;
  std::string range;
  std::uint64_t seed = 0;
  CLI::App app("The whole cluster under virtual time, seeded order and faults.");
  auto* one = app.add_option("--seed", seed, "one seed");
  app.add_option("--seeds", range, "A..B, both included")->excludes(one);
  app.add_flag("--trace", options.trace, "tell what happens");
  app.add_flag("--twice", options.twice, "run each seed twice and compare");
  app.add_flag("--sites", options.sites, "say how often each fault happened");
  app.add_flag("--stop", options.stop, "stop at the first seed that fails");
  app.add_option("--training-jobs", options.training_jobs,
                 "a larger cluster with so many training jobs of all kinds, and nothing else")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--jobs", options.jobs, "processes at once")->check(CLI::Range(1, 64));
  CLI11_PARSE(app, argc, argv);
  if (*one) options.first = options.last = seed;
  if (!range.empty() && !sim::parse_range(range, options)) {
    fmt::print(stderr, "--seeds: must be like 1..100 (got {})\n", range);
    return 2;
  }
  sim::program = argv[0];
  static_cast<void>(sys::configure_log({.level = sys::LogLevel::kOff}));
  for (const int signal : {SIGABRT, SIGSEGV, SIGALRM}) std::signal(signal, sim::on_signal);
  return sim::run_all(options);
}
