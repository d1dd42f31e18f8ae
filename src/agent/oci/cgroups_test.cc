#include "agent/oci/cgroups.h"

#include <gtest/gtest.h>

namespace gangway::agent::oci {
namespace {

MountPoint v1(std::string path, std::string options) {
  return {.path = std::move(path), .type = "cgroup", .options = std::move(options)};
}

TEST(Cgroups, SeesTheLayoutOfTheMachine) {
  const Cgroups hybrid({v1("/sys/fs/cgroup/cpu", "rw,cpu,cpuacct"),
                        v1("/sys/fs/cgroup/systemd", "rw,xattr,name=systemd"),
                        {.path = "/sys/fs/cgroup/unified", .type = "cgroup2", .options = "rw"}},
                       "hugetlb\n");
  EXPECT_EQ(hybrid.describe(), "hybrid (v1 controllers)");
  EXPECT_FALSE(hybrid.is_v2());
  EXPECT_TRUE(hybrid.has("cpu"));
  EXPECT_TRUE(hybrid.has("cpuacct"));
  EXPECT_FALSE(hybrid.has("memory"));
  EXPECT_FALSE(hybrid.has("hugetlb"));

  const Cgroups v2({{.path = "/sys/fs/cgroup", .type = "cgroup2", .options = "rw"}}, "cpuset cpu memory pids\n");
  EXPECT_EQ(v2.describe(), "v2");
  EXPECT_TRUE(v2.has("memory"));
  EXPECT_TRUE(v2.has("pids"));
  EXPECT_FALSE(v2.has("io"));

  EXPECT_FALSE(Cgroups({{.path = "/", .type = "ext4", .options = "rw"}}, "").usable());
}

TEST(Cgroups, SharesBecomeWeights) {
  EXPECT_EQ(weight_of_shares(0), 1);
  EXPECT_EQ(weight_of_shares(2), 1);
  EXPECT_EQ(weight_of_shares(1024), 39);  // 1 + 1022 * 9999 / 262142 = 1 + 38.98
  EXPECT_EQ(weight_of_shares(262'144), 10'000);
}

TEST(Cgroups, WritesOnlyTheLimitsThereAre) {
  const ResourceLimits limits{.cpu_shares = 1024, .cpu_quota_micros = 150'000, .memory_bytes = 1 << 20, .pids = 0};
  EXPECT_EQ(limit_writes(limits, true), (std::vector<CgroupWrite>{{"cpu", "cpu.weight", "39"},
                                                                  {"cpu", "cpu.max", "150000 100000"},
                                                                  {"memory", "memory.max", "1048576"}}));
  EXPECT_EQ(limit_writes({.cpu_shares = 2, .pids = 7}, false),
            (std::vector<CgroupWrite>{{"cpu", "cpu.shares", "2"}, {"pids", "pids.max", "7"}}));
}

TEST(Cgroups, ReadsKeyedNumbers) {
  const std::string_view text = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
  EXPECT_EQ(keyed_number(text, "oom_kill"), 3);
  EXPECT_EQ(keyed_number(text, "oom"), 0);
}

}  // namespace
}  // namespace gangway::agent::oci
