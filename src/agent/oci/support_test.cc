#include "agent/oci/support.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "agent/oci/test_folder.h"

namespace gangway::agent::oci {
namespace {

const Cgroups kHybrid({{.path = "/c/cpu", .type = "cgroup", .options = "rw,cpu"},
                       {.path = "/c/unified", .type = "cgroup2", .options = "rw"}},
                      "");
const Cgroups kV2({{.path = "/c", .type = "cgroup2", .options = "rw"}}, "cpu memory pids");

TEST(Support, ReadsVersions) {
  EXPECT_EQ(parse_version("runc version 1.1.5+ds1\ncommit: x\n"),
            (std::pair<std::string, std::string>("runc", "1.1.5")));
  EXPECT_EQ(parse_version("crun version 1.8.1\n"), (std::pair<std::string, std::string>("crun", "1.8.1")));
  EXPECT_EQ(parse_version("something else").second, "");
}

TEST(Support, ChoosesWhatWorksAndSaysWhy) {
  const RuntimeChoice runc{"/usr/sbin/runc", "runc", "1.1.5"};
  const RuntimeChoice crun{"/usr/bin/crun", "crun", "1.8.1"};
  struct Case {
    std::vector<RuntimeChoice> installed;
    const Cgroups& cgroups;
    std::string want;
    std::string reason;
  };
  const Case cases[] = {
      {{runc, crun}, kHybrid, "runc", "runc 1.1.5; crun 1.8.1 cannot use hybrid cgroups"},
      {{runc, crun}, kV2, "runc", "runc 1.1.5; crun 1.8.1 is there too"},
      {{crun}, kV2, "crun", "crun 1.8.1"},
      {{crun}, kHybrid, "", "crun 1.8.1 cannot use hybrid cgroups"},
      {{}, kV2, "", "runc or crun is not installed"},
  };
  for (const auto& one : cases) {
    const auto [chosen, reason] = choose_runtime(one.installed, one.cgroups);
    EXPECT_EQ(chosen == nullptr ? "" : chosen->name, one.want);
    EXPECT_EQ(reason, one.reason);
  }
}

TEST(Support, TellsWhatThisMachineCanDo) {
  TestFolder folder;
  const auto support = probe(folder.path());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  if (support) {
    EXPECT_EQ(::geteuid(), 0U);
    EXPECT_FALSE(support->version.empty());
    EXPECT_FALSE(support->conmon.empty());
  } else {
    EXPECT_FALSE(support.error().empty());
  }
}

}  // namespace
}  // namespace gangway::agent::oci
