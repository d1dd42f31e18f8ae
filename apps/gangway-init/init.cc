// gangway-init: the parent of what runs in a container. A static program that needs nothing but the kernel.
//
//   gangway-init PROGRAM [ARGUMENT]...       PID 1: runs it, forwards every signal to its process group, collects every
//                                            orphan, ends with its exit code (128 + signal when a signal ended it)
//   gangway-init --pause                     PID 1 of a pod whose containers share one process namespace: waits
//   gangway-init --exec PIDFILE RUNC...      on the machine, beside the container: runs RUNC, which must start a
//   process
//                                            with this one's streams, write its pid to PIDFILE and end; then waits
//                                            for that process. Writes to descriptor 3, a line each:
//                                            "started PID" or "failed", then "exited CODE"
//
// PID 1 ignores signals it has no handler for, so without this a program would only ever end by SIGKILL.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;
constexpr int kStatus = 3;

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Faults must reach the process they happen in, and job control is the terminal's business.
sigset_t awaited_signals() {
  sigset_t set;
  sigfillset(&set);
  for (const int own : {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGABRT, SIGTRAP, SIGSYS, SIGTTIN, SIGTTOU}) {
    sigdelset(&set, own);
  }
  return set;
}

// The child's group becomes the foreground one, if there is a terminal: Ctrl-C is for the program, not for us.
void lead_own_group() {
  setpgid(0, 0);
  if (isatty(STDIN_FILENO) != 0) tcsetpgrp(STDIN_FILENO, getpid());
}

[[noreturn]] void become(char** command, const sigset_t& before) {
  lead_own_group();
  signal(SIGTTIN, SIG_DFL);
  signal(SIGTTOU, SIG_DFL);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  execvp(command[0], command);
  const int failure = errno;
  std::fprintf(stderr, "exec %s: %s\n", command[0], std::strerror(failure));
  _exit(failure == ENOENT || failure == ENOTDIR ? kNotFound : kNotExecutable);
}

// Collects all that have ended; true with `code` when the program itself is among them.
bool collect(pid_t program, int& code) {
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    if (ended <= 0) return false;
    if (ended != program) continue;
    code = code_of(status);
    return true;
  }
}

int pause_until_term(const sigset_t& awaited) {
  for (;;) {
    siginfo_t info;
    const int got = sigwaitinfo(&awaited, &info);
    if (got == SIGTERM || got == SIGINT) return 0;
    int code = 0;
    if (got == SIGCHLD) collect(-1, code);
  }
}

int run(char** command, const sigset_t& awaited, const sigset_t& before) {
  const pid_t program = fork();
  if (program < 0) {
    std::fprintf(stderr, "fork: %s\n", std::strerror(errno));
    return kNotExecutable;
  }
  if (program == 0) become(command, before);
  // Both sides do it, so that no signal can come before the group is there.
  setpgid(program, program);
  for (;;) {
    siginfo_t info;
    const int got = sigwaitinfo(&awaited, &info);
    if (got < 0) continue;
    int code = 0;
    if (got == SIGCHLD) {
      if (collect(program, code)) return code;
    } else if (kill(-program, got) != 0 && errno == ESRCH) {
      kill(program, got);
    }
  }
}

pid_t pid_in(const char* file) {
  char text[32] = {};
  const int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) return -1;
  close(fd);
  return static_cast<pid_t>(std::atol(text));
}

// The process becomes our child when RUNC has ended, because we collect orphans; nobody else can know how it ends.
int watch_process(const char* pid_file, char** runtime) {
  fcntl(kStatus, F_SETFD, FD_CLOEXEC);
  signal(SIGPIPE, SIG_IGN);
  const pid_t starter = fork();
  if (starter == 0) {
    signal(SIGPIPE, SIG_DFL);
    execv(runtime[0], runtime);
    std::fprintf(stderr, "exec %s: %s\n", runtime[0], std::strerror(errno));
    _exit(kNotFound);
  }
  int status = 0;
  while (starter > 0 && waitpid(starter, &status, 0) < 0 && errno == EINTR) {
  }
  const pid_t process = starter > 0 && code_of(status) == 0 ? pid_in(pid_file) : -1;
  unlink(pid_file);
  if (process <= 0) {
    dprintf(kStatus, "failed\n");
    return 1;
  }
  // The process has its own; ours would keep its pipes from ending.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(fd);
  dprintf(kStatus, "started %d\n", process);
  for (;;) {
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno != EINTR) return 1;
    if (ended != process) continue;
    dprintf(kStatus, "exited %d\n", code_of(status));
    return 0;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: gangway-init PROGRAM [ARGUMENT]... | --pause | --exec PIDFILE RUNC...\n");
    return 2;
  }
  // Where the process namespace is not our own we are not PID 1, and orphans come to us only by this.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (argc > 3 && std::strcmp(argv[1], "--exec") == 0) return watch_process(argv[2], argv + 3);
  const sigset_t awaited = awaited_signals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &awaited, &before);
  // Handing the terminal over from the background would stop us. That SIGTTOU is ignored is also how the agent sees
  // that no signal gets lost any more.
  signal(SIGTTIN, SIG_IGN);
  signal(SIGTTOU, SIG_IGN);
  if (std::strcmp(argv[1], "--pause") == 0) return pause_until_term(awaited);
  return run(argv + 1, awaited, before);
}
