#include "agent/oci/init_program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>

#include "agent/oci/mounts.h"
#include "agent/oci/test_folder.h"
#include "sys/command.h"
#include "sys/files.h"
#include "sys/spawn.h"
#include "testing/manual_loop.h"

namespace gangway::agent::oci {
namespace {

class InitTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(replace_file(init(), init_program(), 0755)); }
  std::string init() const { return folder_.path() + "/init"; }
  void start(std::vector<std::string> argv, sys::Command command = {}) {
    command.argv = std::move(argv);
    command.argv.insert(command.argv.begin(), init());
    command.on_line = [this](std::string_view line) { lines_.emplace_back(line); };
    command.on_started = [this](pid_t pid) { pid_ = pid; };
    answer_.reset();
    runner_.run(std::move(command), [this](Result<sys::CommandResult> result) { answer_ = std::move(*result); });
  }
  sys::CommandResult finish() {
    EXPECT_TRUE(loop_.wait_for([&] { return answer_.has_value(); }));
    return answer_.value_or(sys::CommandResult{});
  }
  bool printed(const std::string& line) {
    return loop_.wait_for([&] { return std::find(lines_.begin(), lines_.end(), line) != lines_.end(); });
  }

  TestFolder folder_;
  testing::ManualLoop loop_;
  sys::SpawningCommandRunner runner_{loop_};
  std::vector<std::string> lines_;
  std::optional<sys::CommandResult> answer_;
  pid_t pid_ = 0;
};

TEST_F(InitTest, EndsAsItsProgramEnds) {
  struct Case {
    const char* script;
    int code;
  };
  for (const auto& [script, code] :
       {Case{"exit 0", 0}, Case{"exit 7", 7}, Case{"kill -9 $$", 137}, Case{"kill -15 $$", 143}}) {
    start({"/bin/sh", "-c", script});
    EXPECT_EQ(finish().code, code) << script;
  }
}

TEST_F(InitTest, SaysThatAProgramIsMissingOrNoProgram) {
  start({"/no/such/program"});
  auto result = finish();
  EXPECT_EQ(result.code, 127);
  EXPECT_EQ(result.err, "exec /no/such/program: No such file or directory\n");
  start({"/etc/passwd"});
  result = finish();
  EXPECT_EQ(result.code, 126);
  EXPECT_EQ(result.err, "exec /etc/passwd: Permission denied\n");
}

TEST_F(InitTest, ForwardsSignalsToTheWholeGroup) {
  // The shell runs its own trap once its child has ended.
  start({"/bin/sh", "-c",
         "trap 'echo outer' TERM; sh -c 'trap \"echo inner; exit 3\" TERM; echo ready; while :; do sleep 0.05; done'; "
         "exit 5"});
  ASSERT_TRUE(printed("ready"));
  ASSERT_EQ(::kill(pid_, SIGTERM), 0);
  EXPECT_EQ(finish().code, 5);
  EXPECT_EQ(lines_, (std::vector<std::string>{"ready", "inner", "outer"}));
}

TEST_F(InitTest, CollectsOrphans) {
  // The orphan's parent ends at once; its zombie would stay below us if nobody collected it.
  start({"/bin/sh", "-c",
         "(sleep 0.05 & echo $! > " + folder_.path() + "/pid); p=$(cat " + folder_.path() +
             "/pid); while [ -e /proc/$p ]; do sleep 0.01; done; echo gone"});
  EXPECT_EQ(finish().code, 0);
  EXPECT_EQ(lines_, std::vector<std::string>{"gone"});
}

TEST_F(InitTest, PausesUntilItIsTold) {
  start({"--pause"});
  // It ignores SIGTTOU (bit 21 of "SigIgn:") before it sleeps for the first time.
  ASSERT_TRUE(loop_.wait_for([&] {
    const auto status = sys::read_file("/proc/" + std::to_string(pid_) + "/status").value_or("");
    const auto at = status.find("SigIgn:");
    return at != std::string::npos && (std::stoull(status.substr(at + 7), nullptr, 16) >> 21U & 1U) != 0 &&
           status.find("State:\tS") != std::string::npos;
  }));
  ASSERT_EQ(::kill(pid_, SIGTERM), 0);
  EXPECT_EQ(finish().code, 0);
}

// Stands for runc: starts a process, writes its pid and ends.
std::vector<std::string> runtime_that(const std::string& pid_file, const std::string& script) {
  return {"--exec", pid_file, "/bin/sh", "-c", "setsid sh -c '" + script + "' & echo $! > " + pid_file};
}

TEST_F(InitTest, WatchesAProcessThatAnotherProgramStarted) {
  auto pipe = sys::make_pipe();
  ASSERT_TRUE(pipe);
  // It ends after the shell has: unlike the real runtime, a shell may collect the processes that it started.
  const std::string go = folder_.path() + "/go";
  start(runtime_that(folder_.path() + "/pid", "until [ -e " + go + " ]; do sleep 0.01; done; echo hello; exit 9"),
        {.argv = {}, .descriptors = {pipe->writer.get()}});
  pipe->writer.reset();
  const auto told = [&] {
    char text[64] = {};
    EXPECT_TRUE(loop_.wait_for([&] { return ::read(pipe->reader.get(), text, sizeof text - 1) > 0; }));
    return std::string(text);
  };
  int pid = 0;
  ASSERT_EQ(std::sscanf(told().c_str(), "started %d\n", &pid), 1);
  EXPECT_GT(pid, 1);
  std::ofstream(go).put('\n');
  EXPECT_EQ(finish().code, 0);
  EXPECT_EQ(lines_, std::vector<std::string>{"hello"});
  int code = 0;
  ASSERT_EQ(std::sscanf(told().c_str(), "exited %d\n", &code), 1);
  EXPECT_EQ(code, 9);
  EXPECT_NE(::access((folder_.path() + "/pid").c_str(), F_OK), 0);
}

TEST_F(InitTest, SaysWhenTheProcessWasNotStarted) {
  auto pipe = sys::make_pipe();
  ASSERT_TRUE(pipe);
  start({"--exec", folder_.path() + "/pid", "/bin/sh", "-c", "echo no such container >&2; exit 1"},
        {.argv = {}, .descriptors = {pipe->writer.get()}});
  pipe->writer.reset();
  EXPECT_EQ(finish().err, "no such container\n");
  char text[64] = {};
  ASSERT_GT(::read(pipe->reader.get(), text, sizeof text - 1), 0);
  EXPECT_STREQ(text, "failed\n");
}

}  // namespace
}  // namespace gangway::agent::oci
