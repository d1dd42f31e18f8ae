// Sessions in real containers: exec with pipes and terminals, attach, connections to ports.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "agent/oci/test_node.h"

namespace gangway::agent::oci {
namespace {

namespace fs = std::filesystem;

const ContainerId kMain{.pod_uid = "p1", .container = "main", .attempt = 0};

// What a session said.
struct Heard {
  std::string out;
  std::string err;
  std::optional<int> code;
  std::optional<std::string> failure;
  int drained = 0;

  ExecCallbacks callbacks() {
    return {.on_output = [this](int stream, std::string bytes) { (stream == 1 ? out : err) += bytes; },
            .on_drained = [this] { ++drained; },
            .on_exit =
                [this](int exit_code) {
                  EXPECT_FALSE(code || failure) << "told twice";
                  code = exit_code;
                },
            .on_failure =
                [this](std::string reason) {
                  EXPECT_FALSE(code || failure) << "told twice";
                  failure = std::move(reason);
                }};
  }
};

class OciSessionTest : public NodeTest {
 protected:
  void begin(const std::string& script, const std::function<void(ContainerSpec&)>& change = {}) {
    node_.sandbox("p1");
    auto spec = TestNode::shell("p1", script);
    if (change) change(spec);
    node_.begin(spec);
  }
  std::shared_ptr<ExecSession> exec(std::vector<std::string> command, Heard& heard, bool with_stdin = false,
                                    bool terminal = false) {
    ExecSpec spec;
    spec.container = kMain;
    spec.command = std::move(command);
    spec.stdin_open = with_stdin;
    spec.terminal = terminal;
    return node_.runtime().exec(spec, heard.callbacks());
  }
  std::shared_ptr<ExecSession> shell(const std::string& script, Heard& heard, bool with_stdin = false,
                                     bool terminal = false) {
    return exec({"/bin/sh", "-c", script}, heard, with_stdin, terminal);
  }
  bool wait(const std::function<bool()>& done) { return node_.loop().wait_for(done); }
};

TEST_F(OciSessionTest, GivesBothStreamsAndTheExitCode) {
  begin("sleep 1000");
  Heard heard;
  const auto session = shell("echo out; echo err >&2; hostname; exit 5", heard);
  ASSERT_TRUE(wait([&] { return heard.code.has_value(); }));
  EXPECT_EQ(*heard.code, 5);
  EXPECT_EQ(heard.out, "out\nhost-p1\n");
  EXPECT_EQ(heard.err, "err\n");
}

TEST_F(OciSessionTest, SaysWhyAProcessWasNotStarted) {
  begin("sleep 1000");
  Heard missing;
  const auto session = exec({"no-such-program"}, missing);
  ASSERT_TRUE(wait([&] { return missing.failure.has_value(); }));
  EXPECT_NE(missing.failure->find("\"no-such-program\": executable file not found in $PATH"), std::string::npos)
      << *missing.failure;
  EXPECT_EQ(missing.err, "");
  Heard unknown;
  ExecSpec spec;
  spec.container = {.pod_uid = "p1", .container = "none", .attempt = 0};
  spec.command = {"true"};
  const auto none = node_.runtime().exec(spec, unknown.callbacks());
  EXPECT_FALSE(unknown.failure);
  ASSERT_TRUE(wait([&] { return unknown.failure.has_value(); }));
  EXPECT_EQ(*unknown.failure, "container none is not running");
}

TEST_F(OciSessionTest, FeedsStdinAndTellsWhenItIsTaken) {
  begin("sleep 1000");
  Heard heard;
  const auto session = shell("cat | wc -c", heard, true);
  session->write(std::string(3'000'000, 'x'));
  EXPECT_GT(session->unsent(), 0U);
  session->close_stdin();
  ASSERT_TRUE(wait([&] { return heard.code.has_value(); }));
  EXPECT_EQ(heard.out, "3000000\n");
  EXPECT_EQ(session->unsent(), 0U);
  EXPECT_GE(heard.drained, 1);
}

TEST_F(OciSessionTest, WithoutStdinThereIsNothingToRead) {
  begin("sleep 1000");
  Heard heard;
  const auto session = shell("cat; echo end", heard);
  ASSERT_TRUE(wait([&] { return heard.code.has_value(); }));
  EXPECT_EQ(heard.out, "end\n");
}

TEST_F(OciSessionTest, ASlowReaderSlowsTheWriterDown) {
  begin("sleep 1000");
  Heard heard;
  const auto session = shell("echo begin; sleep 0.5; head -c 5000000 /dev/zero; echo; touch /finished", heard);
  ASSERT_TRUE(wait([&] { return heard.out.starts_with("begin"); }));
  session->pause(true);
  const auto before = heard.out.size();
  Heard check;
  const auto other = shell("sleep 1.2; test -e /finished", check);
  ASSERT_TRUE(wait([&] { return check.code.has_value(); }));
  EXPECT_EQ(*check.code, 1);
  EXPECT_EQ(heard.out.size(), before);
  session->pause(false);
  ASSERT_TRUE(wait([&] { return heard.code.has_value(); }));
  EXPECT_EQ(heard.out.size(), 6 + 5'000'000 + 1U);
}

TEST_F(OciSessionTest, HasATerminalOfTheSizeItIsGiven) {
  begin("sleep 1000");
  Heard heard;
  auto session =
      shell("trap 'stty size' WINCH; stty size; tty; read line; echo got $line; sleep 0.5; exit 4", heard, true, true);
  session->resize(100, 40);
  // The program may look before the terminal has its size; then it is told of it.
  const auto hears = [&](std::string_view text) { return heard.out.find(text) != std::string::npos; };
  ASSERT_TRUE(wait([&] { return hears("/dev/pts/") && hears("40 100\r\n"); }))
      << heard.out << heard.failure.value_or("");
  session->write("hello\n");
  ASSERT_TRUE(wait([&] { return heard.out.find("got hello") != std::string::npos; }));
  session->resize(90, 30);
  ASSERT_TRUE(wait([&] { return heard.code.has_value(); }));
  EXPECT_NE(heard.out.find("30 90"), std::string::npos) << heard.out;
  EXPECT_EQ(*heard.code, 4);
  EXPECT_EQ(heard.err, "");
}

TEST_F(OciSessionTest, ALostSessionDoesNotEndWhatItStarted) {
  begin("sleep 1000");
  Heard heard;
  auto session = shell(
      "echo begin; sleep 0.2; i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo $? > /finished",
      heard, true);
  ASSERT_TRUE(wait([&] { return heard.out == "begin\n"; }));
  session.reset();
  for (;;) {
    Heard check;
    const auto other = shell("sleep 0.1; cat /finished", check);
    ASSERT_TRUE(wait([&] { return check.code.has_value(); }));
    if (*check.code != 0) continue;
    EXPECT_EQ(check.out, "0\n");
    break;
  }
  EXPECT_EQ(heard.out, "begin\n");
  EXPECT_FALSE(heard.code);
}

TEST_F(OciSessionTest, ALostTerminalDoesNotHangUp) {
  begin("sleep 1000");
  Heard heard;
  auto session = shell("echo begin; sleep 0.3; echo still > /finished; sleep 0.1", heard, true, true);
  ASSERT_TRUE(wait([&] { return heard.out == "begin\r\n"; })) << heard.out;
  session.reset();
  Heard check;
  const auto other = shell("while ! test -e /finished; do sleep 0.05; done; cat /finished", check);
  ASSERT_TRUE(wait([&] { return check.code.has_value(); }));
  EXPECT_EQ(check.out, "still\n");
}

TEST_F(OciSessionTest, EndsWithItsProcessAndNotWithWhatThatLeftBehind) {
  begin("sleep 1000");
  Heard heard;
  const auto session = shell("sleep 500 & echo started", heard);
  ASSERT_TRUE(wait([&] { return heard.code.has_value(); }));
  EXPECT_EQ(*heard.code, 0);
  EXPECT_EQ(heard.out, "started\n");
}

TEST_F(OciSessionTest, KillEndsTheWholeGroup) {
  begin("sleep 1000");
  Heard heard;
  const auto session = shell("sleep 500; echo not reached", heard);
  session->kill();
  ASSERT_TRUE(wait([&] { return heard.code.has_value(); }));
  EXPECT_EQ(*heard.code, 137);
  Heard check;
  const auto other = shell("ps -eo args | grep -c '^sleep 500'", check);
  ASSERT_TRUE(wait([&] { return check.code.has_value(); }));
  EXPECT_EQ(check.out, "0\n");
}

TEST_F(OciSessionTest, EndsWhenTheContainerDoes) {
  begin("sleep 1000");
  Heard heard;
  const auto session = shell("echo up; sleep 500", heard);
  ASSERT_TRUE(wait([&] { return heard.out == "up\n"; }));
  ASSERT_TRUE(node_.wait<void>([&](auto done) { node_.runtime().signal(kMain, SIGKILL, done); }));
  ASSERT_TRUE(wait([&] { return heard.code.has_value(); }));
  EXPECT_EQ(*heard.code, 137);
}

TEST_F(OciSessionTest, AttachesToTheContainersOwnStreams) {
  begin("while read line; do echo got $line; echo err $line >&2; done; echo end; exit 6", [](ContainerSpec& spec) {
    spec.stdin_open = true;
    spec.stdin_once = true;
  });
  Heard heard;
  const auto session = exec({}, heard, true);
  session->write("one\n");
  ASSERT_TRUE(wait([&] { return heard.out == "got one\n" && heard.err == "err one\n"; }))
      << heard.out << heard.failure.value_or("");
  const std::string large(20'000, 'x');
  for (int i = 0; i < 10; ++i) session->write(large.substr(0, 4000) + "\n");
  ASSERT_TRUE(wait([&] { return heard.out.size() == 8 + 10 * (4 + 4000 + 1); })) << heard.out.size();
  session->close_stdin();
  ASSERT_TRUE(wait([&] { return heard.code.has_value(); }));
  EXPECT_EQ(*heard.code, 6);
  EXPECT_TRUE(heard.out.ends_with("end\n"));
  EXPECT_TRUE(node_.prints(kMain, "got one"));
}

TEST_F(OciSessionTest, StdinStaysOpenForTheNextOne) {
  begin("while read line; do echo got $line; done; echo end", [](ContainerSpec& spec) { spec.stdin_open = true; });
  for (const std::string word : {"one", "two"}) {
    Heard heard;
    auto session = exec({}, heard, true);
    session->write(word + "\n");
    ASSERT_TRUE(wait([&] { return heard.out == "got " + word + "\n"; })) << heard.out;
    session->close_stdin();
  }
  EXPECT_FALSE(node_.has_exit(kMain));
}

TEST_F(OciSessionTest, AttachesToATerminal) {
  // Nothing says that the new size is there before the word is.
  begin("read line; until stty size | grep -x '33 77'; do sleep 0.02; done; echo got $line", [](ContainerSpec& spec) {
    spec.stdin_open = true;
    spec.terminal = true;
  });
  Heard heard;
  const auto session = exec({}, heard, true, true);
  session->resize(77, 33);
  session->write("word\n");
  ASSERT_TRUE(wait([&] { return heard.code.has_value(); }));
  EXPECT_NE(heard.out.find("33 77"), std::string::npos) << heard.out;
  EXPECT_NE(heard.out.find("got word"), std::string::npos);
}

TEST_F(OciSessionTest, ConnectsToAPortOfThePod) {
  begin(
      "exec python3 -c \"import socket; s=socket.socket(); s.bind(('127.0.0.1', 8099)); s.listen(); print('up', "
      "flush=True); "
      "c,_=s.accept(); c.sendall(c.recv(10).upper())\"",
      [](ContainerSpec& spec) { spec.environment = {{"PATH", "/usr/bin:/bin"}}; });
  ASSERT_TRUE(node_.prints(kMain, "up"));
  const auto socket = node_.wait<int>([&](auto done) { node_.runtime().connect("p1", 8099, done); });
  ASSERT_TRUE(socket) << socket.error().message;
  const sys::FileDescriptor connection(*socket);
  ASSERT_EQ(::send(connection.get(), "hello", 5, MSG_NOSIGNAL), 5);
  char answer[8] = {};
  ASSERT_EQ(::recv(connection.get(), answer, sizeof answer, 0), 5);
  EXPECT_STREQ(answer, "HELLO");
  const auto refused = node_.wait<int>([&](auto done) { node_.runtime().connect("p1", 8098, done); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "dial tcp4 127.0.0.1:8098: connect: Connection refused");
}

}  // namespace
}  // namespace gangway::agent::oci
