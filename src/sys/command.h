// CommandRunner: the seam to other programs that are asked for one thing and end (runc, nft, skopeo, …).
//
// No shell: arguments are a vector, so nothing a user wrote is ever taken for syntax. What a program printed and how it
// ended is a value; only a program that could not be started is an error. Belongs to its loop's thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sys/completion.h"
#include "sys/event_loop.h"

namespace gangway::sys {

struct Command {
  std::vector<std::string> argv;                             // argv[0] is looked up in PATH unless it has a slash
  std::optional<std::vector<std::string>> environment = {};  // "NAME=value"; none: ours
  std::string working_directory = {};                        // empty: ours
  std::string input = {};                                    // what it reads from stdin
  std::size_t max_output = std::size_t{1} << 20;             // of each stream; what is more is dropped
  std::optional<Duration> timeout =
      std::chrono::minutes(1);        // then its process group is killed; none: it may take for ever
  std::vector<int> descriptors = {};  // open during run(); become 3, 4, … in the child
  // Each line of stdout as it comes, without its end; `out` has them all the same.
  std::function<void(std::string_view line)> on_line = {};
  // Called inside run(), with the process that has just been started.
  std::function<void(pid_t pid)> on_started = {};
};

struct CommandResult {
  int code = 0;  // its exit code, 128 + the signal that ended it
  int signal = 0;
  bool timed_out = false;
  std::string out;
  std::string err;

  bool ok() const { return code == 0 && !timed_out; }
};

// What a command that must succeed printed, or an error that says which program failed and why.
Result<std::string> require_success(const Command& command, Result<CommandResult> result);

// The same, blocking, for threads that may: worker threads, start-up, tear-down. on_line is not called.
Result<CommandResult> run_and_wait(const Command& command);

// Collects a child whose end means nothing to anybody, whoever started it and is gone by then.
void collect_later(EventLoop& loop, pid_t child);

class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  // Answers when the program itself has ended, whatever it left running behind. Nothing is answered after the runner
  // is gone; programs under way then go on unseen.
  virtual void run(Command command, Completion<CommandResult> done) = 0;
};

class SpawningCommandRunner final : public CommandRunner {
 public:
  explicit SpawningCommandRunner(EventLoop& loop);
  ~SpawningCommandRunner() override;
  SpawningCommandRunner(const SpawningCommandRunner&) = delete;
  SpawningCommandRunner& operator=(const SpawningCommandRunner&) = delete;

  void run(Command command, Completion<CommandResult> done) override;

 private:
  struct Run;
  struct Stream;
  Result<void> start(Run& run);
  void finish(std::uint64_t id, int status);
  void fail(Error error, Completion<CommandResult> done);

  EventLoop& loop_;
  std::map<std::uint64_t, std::unique_ptr<Run>> runs_;
  std::uint64_t last_ = 0;
  std::shared_ptr<void> alive_;
};

}  // namespace gangway::sys
