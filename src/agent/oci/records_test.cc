#include "agent/oci/records.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gangway::agent::oci {
namespace {

const PodIdentity kPod{.uid = "u", .ns = "team-a", .name = "job-0", .node = "n"};

TEST(Records, ReadBackAsTheyWere) {
  const SandboxRecord sandbox{.pod = kPod,
                              .hostname = "job-0",
                              .host_network = true,
                              .host_pid = false,
                              .host_ipc = true,
                              .share_processes = true,
                              .netns = "/run/netns/x",
                              .addresses = {"10.0.0.2", "fd00::2"},
                              .holder = 77,
                              .holder_ticks = 5};
  EXPECT_EQ(decode_sandbox(encode(sandbox)).value_or(SandboxRecord{}), sandbox);
  const ContainerRecord container{.id = {.pod_uid = "u", .container = "main", .attempt = 3},
                                  .pod = kPod,
                                  .own_processes = false,
                                  .image = "sha256:aa",
                                  .message_from_log = true};
  EXPECT_EQ(decode_container(encode(container)).value_or(ContainerRecord{}), container);
  const StartedRecord started{
      .pid = 42, .ticks = 123'456, .boot = "b", .at = *parse_rfc3339("2026-01-02T03:04:05.000000006Z")};
  EXPECT_EQ(decode_started(encode(started)).value_or(StartedRecord{}), started);
}

TEST(Records, HalfOfOneIsNone) {
  const std::string text = encode(StartedRecord{});
  EXPECT_FALSE(decode_started(text.substr(0, text.size() / 2)));
  EXPECT_FALSE(decode_started(""));
  EXPECT_FALSE(decode_started(R"({"version":2,"pid":1})"));
}

TEST(Records, FindTheStartOfAProcess) {
  const std::string fields = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 987654 20\n";
  EXPECT_EQ(start_ticks("12 (a) b (c) S" + fields), 987'654U);
  EXPECT_EQ(start_ticks("12 (a) Z" + fields), 0U);
  EXPECT_EQ(start_ticks(""), 0U);
  EXPECT_GT(start_ticks_of(::getpid()), 0U);
  EXPECT_EQ(boot_id().size(), 36U);
}

}  // namespace
}  // namespace gangway::agent::oci
