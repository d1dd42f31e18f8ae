#include "agent/oci/process.h"

#include <gtest/gtest.h>

namespace gangway::agent::oci {
namespace {

using Strings = std::vector<std::string>;

const UserFiles kFiles{.passwd = "root:x:0:0:root:/root:/bin/bash\nada:x:1001:100::/home/ada:/bin/sh\nbroken\n",
                       .group = "root:x:0:\nusers:x:100:\nvideo:x:44:ada,bob\ngpu:x:45:bob\n"};

TEST(Process, ACommandReplacesTheWholeImageArgsOnlyItsCommand) {
  const ImageDefaults image{.entrypoint = {"/entry", "-e"}, .command = {"serve"}};
  struct Case {
    Strings command;
    Strings args;
    Strings want;
  };
  for (const auto& [command, args, want] :
       {Case{{}, {}, {"/entry", "-e", "serve"}}, Case{{}, {"x"}, {"/entry", "-e", "x"}}, Case{{"run"}, {}, {"run"}},
        Case{{"run"}, {"x"}, {"run", "x"}}}) {
    ContainerSpec spec;
    spec.command = command;
    spec.args = args;
    EXPECT_EQ(arguments_of(spec, image).value_or(Strings{}), want);
  }
  const auto none = arguments_of({}, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "no command specified");
}

TEST(Process, ThePodsEnvironmentWins) {
  ContainerSpec spec;
  spec.environment = {{"B", "pod"}, {"HOSTNAME", "mine"}};
  spec.terminal = true;
  const ImageDefaults image{.environment = {{"A", "image"}, {"B", "image"}, {"PATH", "/image/bin"}}};
  EXPECT_EQ(environment_of(spec, image, "host"),
            (std::vector<std::pair<std::string, std::string>>{
                {"PATH", "/image/bin"}, {"HOSTNAME", "mine"}, {"TERM", "xterm"}, {"A", "image"}, {"B", "pod"}}));
}

TEST(Process, Users) {
  struct Case {
    Security security;
    std::string image_user;
    User want;
  };
  const Case cases[] = {
      {{}, "", {.uid = 0, .gid = 0, .groups = {0}, .home = "/root"}},
      {{}, "ada", {.uid = 1001, .gid = 100, .groups = {100, 44}, .home = "/home/ada"}},
      {{}, "1001", {.uid = 1001, .gid = 100, .groups = {100, 44}, .home = "/home/ada"}},
      {{}, "ada:video", {.uid = 1001, .gid = 44, .groups = {44}, .home = "/home/ada"}},
      {{}, "7:8", {.uid = 7, .gid = 8, .groups = {8}, .home = ""}},
      {{.user = 1001}, "root:root", {.uid = 1001, .gid = 100, .groups = {100, 44}, .home = "/home/ada"}},
      {{.user = 5, .group = 6, .supplemental_groups = {9, 6}}, "", {.uid = 5, .gid = 6, .groups = {6, 9}, .home = ""}},
  };
  for (const auto& one : cases) {
    const auto user = user_of(one.security, one.image_user, kFiles);
    ASSERT_TRUE(user) << one.image_user;
    EXPECT_EQ(*user, one.want) << one.image_user;
  }
}

TEST(Process, UsersThatMustNotOrCannotBe) {
  struct Case {
    Security security;
    std::string image_user;
    std::string want;
  };
  const Case cases[] = {
      {{.must_not_be_root = true}, "", "container has runAsNonRoot and image will run as root"},
      {{.user = 0, .must_not_be_root = true}, "7", "container has runAsNonRoot and image will run as root"},
      {{.must_not_be_root = true},
       "ada",
       "container has runAsNonRoot and image has non-numeric user (ada), cannot verify user is non-root"},
      {{}, "eve", "unable to find user eve: no matching entries in passwd file"},
      {{}, "ada:nobody", "unable to find group nobody: no matching entries in group file"},
  };
  for (const auto& one : cases) {
    const auto user = user_of(one.security, one.image_user, kFiles);
    ASSERT_FALSE(user) << one.want;
    EXPECT_EQ(user.error().message, one.want);
    EXPECT_EQ(user.error().reason, one.security.must_not_be_root ? Reason::kForbidden : Reason::kBadRequest);
  }
  EXPECT_TRUE(user_of({.must_not_be_root = true}, "1001", kFiles));
}

TEST(Process, HasAHomeAndAFolder) {
  ContainerSpec spec;
  spec.command = {"x"};
  auto process = process_of(spec, {.working_directory = "/srv"}, "h", kFiles);
  ASSERT_TRUE(process);
  EXPECT_EQ(process->working_directory, "/srv");
  EXPECT_EQ(process->environment.back(), (std::pair<std::string, std::string>("HOME", "/root")));
  spec.working_directory = "/own";
  spec.environment = {{"HOME", "/elsewhere"}};
  process = process_of(spec, {.working_directory = "/srv"}, "h", kFiles);
  EXPECT_EQ(process->working_directory, "/own");
  EXPECT_EQ(process->environment.back(), (std::pair<std::string, std::string>("HOME", "/elsewhere")));
  spec = {};
  spec.command = {"x"};
  EXPECT_EQ(process_of(spec, {}, "h", {})->working_directory, "/");
}

}  // namespace
}  // namespace gangway::agent::oci
