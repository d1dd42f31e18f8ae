#include "sys/process_end.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gangway::sys {
namespace {

TEST(ProcessEnd, IsSeenWhenItComesAndNotBefore) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    pause();
    _exit(0);
  }
  const FileDescriptor handle = watch_process(child);
  ASSERT_TRUE(handle);
  EXPECT_FALSE(ends_within(handle, 10));
  kill(child, SIGKILL);
  EXPECT_TRUE(ends_within(handle, 20'000));
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(watch_process(child)) << "nobody has the number any more";
}

}  // namespace
}  // namespace gangway::sys
