#include "sys/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/quote.h"

namespace gangway::sys {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const auto& text : strings) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// What the child's descriptors are copied from: all above the numbers they are copied to, so that no copy overwrites
// the source of a later one.
Result<std::vector<FileDescriptor>> sources(const std::vector<int>& descriptors) {
  std::vector<FileDescriptor> result;
  for (const int fd : descriptors) {
    FileDescriptor null;
    if (fd < 0) null.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const int above = static_cast<int>(descriptors.size());
    result.emplace_back(::fcntl(fd < 0 ? null.get() : fd, F_DUPFD_CLOEXEC, above));
    if (!result.back()) return internal_error(std::string("cannot copy a descriptor: ") + std::strerror(errno));
  }
  return result;
}

class Attributes {
 public:
  explicit Attributes(bool own_session) {
    ::posix_spawnattr_init(&value_);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&value_, &none);
    ::posix_spawnattr_setsigdefault(&value_, &all);
    ::posix_spawnattr_setpgroup(&value_, 0);
    const int group = own_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
    ::posix_spawnattr_setflags(&value_, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
  }
  ~Attributes() { ::posix_spawnattr_destroy(&value_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &value_; }

 private:
  posix_spawnattr_t value_{};
};

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&value_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&value_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &value_; }

 private:
  posix_spawn_file_actions_t value_{};
};

}  // namespace

Result<pid_t> spawn(const SpawnSpec& spec) {
  if (spec.argv.empty()) return bad_request("there is no command to run");
  GW_TRY(const auto copies, sources(spec.descriptors));
  FileActions actions;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    ::posix_spawn_file_actions_adddup2(actions.get(), copies[i].get(), static_cast<int>(i));
  }
  // Libraries open descriptors without close-on-exec; a child that kept a socket would hold its port.
  ::posix_spawn_file_actions_addclosefrom_np(actions.get(), static_cast<int>(copies.size()));
  if (!spec.working_directory.empty()) {
    ::posix_spawn_file_actions_addchdir_np(actions.get(), spec.working_directory.c_str());
  }
  const Attributes attributes(spec.own_session);
  const auto argv = pointers(spec.argv);
  const auto environment = spec.environment ? pointers(*spec.environment) : std::vector<char*>{};
  pid_t pid = 0;
  const int failure = ::posix_spawnp(&pid, spec.argv[0].c_str(), actions.get(), attributes.get(), argv.data(),
                                     spec.environment ? environment.data() : environ);
  if (failure == 0) return pid;
  Error error = internal_error("cannot run " + quoted(spec.argv[0]) + ": " + std::strerror(failure));
  if (failure == ENOENT) error.reason = Reason::kNotFound;
  return error;
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return internal_error(std::string("cannot make a pipe: ") + std::strerror(errno));
  Pipe pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return pipe;
}

}  // namespace gangway::sys
