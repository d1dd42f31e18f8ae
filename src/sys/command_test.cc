#include "sys/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "sys/spawn.h"
#include "testing/manual_loop.h"

namespace gangway::sys {
namespace {

using std::chrono::seconds;
using testing::ManualLoop;

class CommandTest : public ::testing::Test {
 protected:
  Result<CommandResult> run(Command command) {
    std::optional<Result<CommandResult>> answer;
    runner_.run(std::move(command), [&](Result<CommandResult> result) { answer = std::move(result); });
    EXPECT_FALSE(answer) << "answered inside the call";
    EXPECT_TRUE(loop_.wait_for([&] { return answer.has_value(); }));
    return answer ? *answer : internal_error("no answer");
  }
  static Command shell(std::string script) { return {.argv = {"/bin/sh", "-c", std::move(script)}}; }

  ManualLoop loop_;
  SpawningCommandRunner runner_{loop_};
};

TEST_F(CommandTest, GivesBothStreamsAndTheExitCode) {
  const auto result = run(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->code, 3);
  EXPECT_EQ(result->signal, 0);
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_FALSE(result->ok());
}

TEST_F(CommandTest, TellsTheSignalThatEndedIt) {
  const auto result = run(shell("kill -TERM $$"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->signal, SIGTERM);
  EXPECT_EQ(result->code, 143);
}

TEST_F(CommandTest, PassesArgumentsAsTheyAre) {
  const auto result = run({.argv = {"/bin/echo", "a b", "$(id)", "; ls"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "a b $(id) ; ls\n");
}

TEST_F(CommandTest, FeedsInputLargerThanAPipe) {
  Command command{.argv = {"/usr/bin/wc", "-c"}, .input = std::string(300'000, 'x')};
  const auto result = run(std::move(command));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "300000\n");
}

TEST_F(CommandTest, KeepsTheBeginningOfTooMuchOutput) {
  auto command = shell("printf 0123456789; head -c 200000 /dev/zero");
  command.max_output = 10;
  const auto result = run(std::move(command));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->code, 0);
  EXPECT_EQ(result->out, "0123456789");
}

TEST_F(CommandTest, ShowsLinesAsTheyCome) {
  auto command = shell("echo one; echo two; printf three");
  std::vector<std::string> lines;
  command.on_line = [&](std::string_view line) { lines.emplace_back(line); };
  ASSERT_TRUE(run(std::move(command)));
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three"}));
}

TEST_F(CommandTest, HasLongValuesInItsEnvironment) {
  auto command = shell("printf %s \"$LONG\"");
  const std::string value(100, 'x');  // too long for the string object itself
  command.environment = {"LONG=" + value, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"};
  const auto result = run(std::move(command));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, value);
}

TEST_F(CommandTest, HasTheEnvironmentAndFolderItIsGiven) {
  auto command = shell("echo $A; pwd; echo ${HOME:-none}");
  command.environment = {"A=1"};
  command.working_directory = "/usr";
  const auto result = run(std::move(command));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "1\n/usr\nnone\n");
}

TEST_F(CommandTest, GetsOnlyTheDescriptorsItIsGiven) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  const FileDescriptor leak(::dup(0));  // not closed on exec
  auto command = shell("echo hello >&3; ls /proc/self/fd | wc -w");
  command.descriptors = {pipe->writer.get()};
  const auto result = run(std::move(command));
  ASSERT_TRUE(result);
  char block[16];
  EXPECT_EQ(::read(pipe->reader.get(), block, sizeof block), 6);
  EXPECT_EQ(result->out, "5\n");  // 0, 1, 2, 3 and the folder that ls reads
}

TEST_F(CommandTest, DoesNotWaitForADaemonThatKeepsThePipe) {
  const auto result = run(shell("sleep 60 & echo $!"));
  ASSERT_TRUE(result);
  const auto daemon = static_cast<pid_t>(std::stol(result->out));
  EXPECT_EQ(::kill(daemon, SIGKILL), 0);
}

TEST_F(CommandTest, KillsTheWholeGroupThatTakesTooLong) {
  auto command = shell("sleep 60 & echo $!; wait");
  command.timeout = seconds(5);
  std::optional<Result<CommandResult>> answer;
  bool printed = false;
  command.on_line = [&](std::string_view) { printed = true; };
  runner_.run(std::move(command), [&](Result<CommandResult> result) { answer = std::move(result); });
  ASSERT_TRUE(loop_.wait_for([&] { return printed; }));
  loop_.advance(seconds(6));
  ASSERT_TRUE(loop_.wait_for([&] { return answer.has_value(); }));
  ASSERT_TRUE(*answer);
  EXPECT_TRUE((*answer)->timed_out);
  EXPECT_EQ((*answer)->signal, SIGKILL);
  const auto child = static_cast<pid_t>(std::stol((*answer)->out));
  // The killed child is collected by whoever adopted it, or is a zombie until then.
  EXPECT_TRUE(loop_.wait_for([&] {
    const std::string stat = "/proc/" + std::to_string(child) + "/cmdline";
    const FileDescriptor file(::open(stat.c_str(), O_RDONLY | O_CLOEXEC));
    char c = 0;
    return !file || ::read(file.get(), &c, 1) <= 0;
  }));
}

TEST_F(CommandTest, AProgramThatDoesNotExistIsNotFound) {
  const auto result = run({.argv = {"/no/such/program"}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, Reason::kNotFound);
  EXPECT_EQ(result.error().message, "cannot run \"/no/such/program\": No such file or directory");
}

TEST_F(CommandTest, AnswersNobodyAfterItsEnd) {
  int answers = 0;
  {
    SpawningCommandRunner runner(loop_);
    runner.run(shell("exit 0"), [&](Result<CommandResult>) { ++answers; });
    runner.run({.argv = {"/no/such/program"}}, [&](Result<CommandResult>) { ++answers; });
  }
  loop_.run_until_idle();
  EXPECT_EQ(answers, 0);
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
}

TEST_F(CommandTest, MayBeWaitedFor) {
  const auto result = run_and_wait(
      {.argv = {"/bin/sh", "-c", "cat; echo err >&2; head -c 100 /dev/zero; exit 4"}, .input = "in", .max_output = 3});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->code, 4);
  EXPECT_EQ(result->out, std::string("in\0", 3));
  EXPECT_EQ(result->err, "err");
  EXPECT_FALSE(run_and_wait({.argv = {"/no/such/program"}}));

  const auto late = run_and_wait({.argv = {"/bin/sleep", "60"}, .timeout = std::chrono::milliseconds(50)});
  ASSERT_TRUE(late);
  EXPECT_TRUE(late->timed_out);
  EXPECT_EQ(late->signal, SIGKILL);
}

TEST_F(CommandTest, SaysWhyACommandThatMustSucceedDidNot) {
  const auto failed = require_success(shell(""), run(shell("echo first >&2; echo no such table >&2; exit 2")));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "sh failed with exit code 2: no such table");
  EXPECT_EQ(require_success(shell(""), run(shell("echo fine"))).value_or(""), "fine\n");
}

}  // namespace
}  // namespace gangway::sys
